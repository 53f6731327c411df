/* check_multipart_head: header sections of parts as clients write them, and as attackers do. */
#include "http/multipart.h"

#include "unit_pure.h"

#define CD   "Content-Disposition: form-data; "
#define CD_A CD "name=a; "

static const struct {
	struct slice head;
	const char *err; /* NULL: the rest counts */
	struct slice name, filename;
	bool is_file;
	struct slice type;
} cases[] = {
#define IS(h, n, f, t) \
	{ \
		SLICE_LIT(h), NULL, SLICE_LIT(n), SLICE_LIT(f), true, SLICE_LIT(t) \
	}
#define VALUE(h, n) \
	{ \
		SLICE_LIT(h), NULL, SLICE_LIT(n), { 0 }, false, \
		{ \
			0 \
		} \
	}
#define NAMED(params, f) IS(CD_A params "\r\n", "a", f, "")
#define BAD(h, e) \
	{ \
		SLICE_LIT(h), e, { 0 }, { 0 }, false, \
		{ \
			0 \
		} \
	}
#define BAD_PARAMS(params, e) BAD(CD_A params "\r\n", e)

	/* Browsers, curl, Python's requests and httpx, Go, .NET */
	IS("Content-Disposition: form-data; name=\"file\"; filename=\"a b.txt\"\r\n"
	   "Content-Type: text/plain\r\n",
		"file", "a b.txt", "text/plain"),
	IS("content-disposition:form-data;name=file;filename=a.txt\r\n", "file", "a.txt", ""),
	IS("CONTENT-DISPOSITION: FORM-DATA; NAME=\"f\"; FILENAME=\"F\"\r\n", "f", "F", ""),
	IS("Content-Type: image/png; x=\"y\"\r\n" CD_A "filename=\"f\"\r\nX-Other: 1\r\n", "a", "f",
		"image/png; x=\"y\""),
	IS("Content-Length: 3\r\n" CD_A "filename=f\r\nContent-Type:\t \r\n", "a", "f", ""),
	IS(CD "filename=f; name=a\r\n", "a", "f", ""),
	VALUE(CD "name=\"description\"\r\n", "description"),
	VALUE(CD "name=\"\"\r\n", ""),
	VALUE(CD "name=\"a\\\"b%22c\"\r\n", "a\"b\"c"),
	VALUE(CD "name=a; size=3; x=\"filename=y\"\r\n", "a"),

	/* Names, raw and escaped */
	NAMED("filename=\"\"", ""),
	NAMED("filename=\"na\xc3\xafve.txt\"", "na\xc3\xafve.txt"),
	NAMED("filename=\"\xf0\x9f\x92\xa9\"", "\xf0\x9f\x92\xa9"),
	NAMED("filename=\"\xe4.txt\"", "\xe4.txt"),
	NAMED("filename=\"a\\\"b\"", "a\"b"),
	NAMED("filename=\"a\\\\b\"", "a\\b"),
	NAMED("filename=\"a\\\\\\\"b\"", "a\\\"b"),
	NAMED("filename=\"a%22b\"", "a\"b"),
	NAMED("filename=\"a%0D%0Ab\"", "a\r\nb"),
	NAMED("filename=\"a%0d%0ab\"", "a\r\nb"),
	NAMED("filename=\"%2e%2e%2fa%00%25%\"", "%2e%2e%2fa%00%25%"),
	NAMED("filename=\"100%\"", "100%"),
	NAMED("filename=\"%2\"", "%2"),
	NAMED("filename=\"%252\"", "%252"),
	NAMED("filename=\"%2522\"", "%2522"),
	NAMED("filename=\"C:\\dir\\x.txt\"", "C:\\dir\\x.txt"),
	NAMED("filename=\"\\\\host\\share\\x\"", "\\host\\share\\x"),
	NAMED("filename=\"../../etc/passwd\"", "../../etc/passwd"),
	NAMED("filename=\"a;b=c\"", "a;b=c"),
	NAMED("filename=\"; name=b\"", "; name=b"),
	NAMED("filename=\" a \"", " a "),
	NAMED("filename=\"a\tb\"", "a\tb"),
	NAMED("filename=a%22b", "a%22b"),
	NAMED("filename='a'", "'a'"),
	NAMED("filename=f;", "f"),
	NAMED(" ;; filename=f ; ;", "f"),
	NAMED("Filename=f;x=1;y=\"\\\"\";z=\"\"", "f"),

	/* filename* */
	NAMED("filename*=UTF-8''na%C3%AFve.txt", "na\xc3\xafve.txt"),
	NAMED("filename*=utf-8'en-GB'a", "a"),
	NAMED("filename*=UTF-8''", ""),
	NAMED("filename=b; filename*=UTF-8''a", "a"),
	NAMED("filename*=UTF-8''a; filename=b", "a"),
	NAMED("filename*=UTF-8''%E2%82%AC; filename=\"%22\"", "\xe2\x82\xac"),
	NAMED("filename*=UTF-8''..%2Fa", "../a"),
	NAMED("filename*=UTF-8''a%00b", "a\0b"),
	NAMED("filename*=UTF-8''%ff%c0%80", "\xff\xc0\x80"),
	NAMED("filename*=UTF-8''a%27b%2Ac", "a'b*c"),
	NAMED("FILENAME*=UTF-8''a", "a"),
	BAD_PARAMS("filename*=UTF-8''a; filename*=UTF-8''b", "MULTIPART_HEAD"),
	BAD_PARAMS("filename*=ISO-8859-1''a", "MULTIPART_HEAD"),
	BAD_PARAMS("filename*=UTF-16''a", "MULTIPART_HEAD"),
	BAD_PARAMS("filename*=\"UTF-8''a\"", "MULTIPART_HEAD"),
	BAD_PARAMS("filename*=a", "MULTIPART_HEAD"),
	BAD_PARAMS("filename*=UTF-8", "MULTIPART_HEAD"),
	BAD_PARAMS("filename*=UTF-8'", "MULTIPART_HEAD"),
	BAD_PARAMS("filename*=UTF-8'a", "MULTIPART_HEAD"),
	BAD_PARAMS("filename*=''a", "MULTIPART_HEAD"),
	BAD_PARAMS("filename*=", "MULTIPART_HEAD"),
	BAD_PARAMS("filename*=UTF-8''a%", "MULTIPART_HEAD"),
	BAD_PARAMS("filename*=UTF-8''a%2", "MULTIPART_HEAD"),
	BAD_PARAMS("filename*=UTF-8''a%2g", "MULTIPART_HEAD"),
	BAD_PARAMS("filename*=UTF-8''a'b", "MULTIPART_HEAD"),
	BAD_PARAMS("filename*=UTF-8''a*b", "MULTIPART_HEAD"),
	BAD_PARAMS("filename*=UTF-8''a b", "MULTIPART_HEAD"),
	BAD_PARAMS("filename*=UTF-8''a/b", "MULTIPART_HEAD"),
	BAD_PARAMS("filename*=UTF-8''\xc3\xa4", "MULTIPART_HEAD"),

	/* Parameters that two readers would understand differently */
	BAD_PARAMS("filename=a; filename=b", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=a; FileName=a", "MULTIPART_HEAD"),
	BAD_PARAMS("name=b", "MULTIPART_HEAD"),
	BAD_PARAMS("filename", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=;", "MULTIPART_HEAD"),
	BAD_PARAMS("filename =a", "MULTIPART_HEAD"),
	BAD_PARAMS("filename= a", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=a b", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=a/b", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=\"a", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=\"a\\\"", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=\"C:\\\"", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=\"a\"b", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=\"a\"b\"", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=\"a\" filename=\"b\"", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=\"a\" x=\"b\"", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=\"a\", filename=\"b\"", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=a\"b\"", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=\xc3\xa4", "MULTIPART_HEAD"),
	BAD_PARAMS("=a", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=\"a\0b\"", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=\"a\x01\"", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=\"a\x7f\"", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=\"a\rb\"", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=\"a\nb\"", "MULTIPART_HEAD"),
	BAD_PARAMS("filename=\"a\r\nb\"", "MULTIPART_HEAD"),

	/* Dispositions */
	BAD("", "MULTIPART_DISPOSITION"),
	BAD("Content-Type: text/plain\r\n", "MULTIPART_DISPOSITION"),
	BAD("Content-Disposition:\r\n", "MULTIPART_DISPOSITION"),
	BAD("Content-Disposition: form-data\r\n", "MULTIPART_DISPOSITION"),
	BAD("Content-Disposition: form-data; filename=a\r\n", "MULTIPART_DISPOSITION"),
	BAD("Content-Disposition: attachment; name=a; filename=a\r\n", "MULTIPART_DISPOSITION"),
	BAD("Content-Disposition: form-data2; name=a\r\n", "MULTIPART_DISPOSITION"),
	BAD("Content-Disposition: \"form-data\"; name=a\r\n", "MULTIPART_DISPOSITION"),
	BAD(CD_A "\r\n" CD "name=b\r\n", "MULTIPART_DISPOSITION"),
	BAD("Content-Disposition : form-data; name=a\r\n", "MULTIPART_HEAD"),

	/* Lines */
	IS(CD "name=a;\r\n filename=f\r\n", "a", "f", ""),
	IS(CD "name=a;\r\n\t\r\n  filename=\"f\r\n g\"\r\n", "a", "f g", ""),
	BAD(" " CD_A "\r\n", "MULTIPART_HEAD"),
	BAD("\r\n" CD_A "\r\n", "MULTIPART_HEAD"),
	BAD("x\r\n" CD_A "\r\n", "MULTIPART_HEAD"),
	BAD(": x\r\n" CD_A "\r\n", "MULTIPART_HEAD"),
	BAD("X y: z\r\n" CD_A "\r\n", "MULTIPART_HEAD"),
	BAD("X: a\0b\r\n" CD_A "\r\n", "MULTIPART_HEAD"),
	BAD("X: a\nContent-Type: b\r\n" CD_A "\r\n", "MULTIPART_HEAD"),
	BAD("X: a\rContent-Type: b\r\n" CD_A "\r\n", "MULTIPART_HEAD"),
	BAD("--B\r\n" CD_A "\r\n", "MULTIPART_HEAD"),
	BAD("--B: x\n\r\n" CD_A "\r\n", "MULTIPART_HEAD"),
	BAD(CD_A, "MULTIPART_HEAD"),
	BAD(CD_A "\n", "MULTIPART_HEAD"),
	BAD("Content-Type: a/b\r\nContent-Type: a/b\r\n" CD_A "\r\n", "MULTIPART_HEAD"),

	/* Codings */
	IS(CD_A "filename=f\r\nContent-Transfer-Encoding: binary\r\n", "a", "f", ""),
	IS(CD_A "filename=f\r\ncontent-transfer-encoding: 8BIT\r\n", "a", "f", ""),
	IS(CD_A "filename=f\r\ncontent-transfer-encoding: 7bit\r\n", "a", "f", ""),
	BAD(CD_A "filename=f\r\nContent-Transfer-Encoding: base64\r\n", "MULTIPART_CODING"),
	BAD("Content-Transfer-Encoding: quoted-printable\r\n" CD_A "\r\n", "MULTIPART_CODING"),
};

TEST_ROWS(test_case, cases)
{
	const struct slice in = cases[_i].head;
	struct multipart_part part;
	char *head = malloc(in.n);
	const struct err *err;

	if (in.n > 0)
		memcpy(head, in.p, in.n);
	err = multipart_head_parse(head, in.n, &part);
	ck_assert_msg((err == NULL) == (cases[_i].err == NULL), "%.*s: %s", SLICE_ARG(in),
		err != NULL ? err->name : "taken");
	if (err != NULL) {
		ck_assert_str_eq(err->name, cases[_i].err);
	} else {
		ck_assert(slice_eq(part.name, cases[_i].name));
		ck_assert_msg(slice_eq(part.filename, cases[_i].filename), "\"%.*s\"",
			SLICE_ARG(part.filename));
		ck_assert(part.has_filename == cases[_i].is_file);
		ck_assert(slice_eq(part.content_type, cases[_i].type));
	}
	free(head);
}
