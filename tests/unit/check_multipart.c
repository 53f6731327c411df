/*
 * check_multipart: bodies meant to hurt, each cut in every way that matters: whole, byte by byte,
 * in two at every offset, in three at random. What comes out is written down as text and compared.
 */
#include "http/multipart.h"

#include "base/strbuf.h"
#include "unit_pure.h"

#define TYPE(boundary) "multipart/form-data; boundary=" boundary
#define B70            "0123456789012345678901234567890123456789012345678901234567890123456789"
#define BLANKS16       "                "

/* A file "f" of the field "a", without and with what is around it. */
#define HEAD    "Content-Disposition: form-data; name=\"a\"; filename=\"f\"\r\n\r\n"
#define FILE(c) "--B\r\n" HEAD c
#define END     "\r\n--B--\r\n"

/* As text: "a/f:" and the content in brackets, or "a:" for what is no file; then how it ended. */
#define F(c) "a/f:[" c "]"

struct body {
	const char *content_type;
	struct slice body, said;
};

#define CASE(body, said) \
	{ \
		TYPE("B"), SLICE_LIT(body), SLICE_LIT(said) \
	}
#define CASE_OF(ct, body, said) \
	{ \
		ct, SLICE_LIT(body), SLICE_LIT(said) \
	}

static const struct body cases[] = {
	CASE(FILE("hello") END, F("hello") "DONE"),
	CASE(FILE("hello") "\r\n" FILE("world") END, F("hello") F("world") "DONE"),
	CASE("--B\r\nContent-Disposition: form-data; name=t\r\n\r\nv" END, "t:[v]DONE"),

	/* Empty content: with its own CRLF, and with that of the blank line alone. */
	CASE(FILE("") END, F("") "DONE"),
	CASE(FILE("") "--B--", F("") "DONE"),
	CASE(FILE("") "--B\r\n" HEAD "x" END, F("") F("x") "DONE"),
	CASE(FILE("\r\n") END, F("\r\n") "DONE"),
	/* No part at all. */
	CASE("--B--\r\n", "DONE"),
	CASE("--B--", "DONE"),
	CASE("\r\n--B--", "DONE"),

	/* Preamble and epilogue are nothing, whatever is in them. */
	CASE("This is MIME.\r\n" FILE("x") END, F("x") "DONE"),
	CASE("\r\n" FILE("x") END, F("x") "DONE"),
	CASE("\r\n\r\n\r\n" FILE("x") END, F("x") "DONE"),
	CASE("x--B\r\n\r\n--Bx\r\n--A\r\n" FILE("x") END, F("x") "DONE"),
	CASE("--B" FILE("x") END, "DONE"),
	CASE(FILE("x") END "epilogue", F("x") "DONE"),
	CASE(FILE("x") END FILE("y") END, F("x") "DONE"),
	CASE(FILE("x") "\r\n--B--\r\n\r\n--B", F("x") "DONE"),

	/* Blanks behind a boundary; none may be in front of it, or inside. */
	CASE("--B  \t \r\n" HEAD "x\r\n--B \t\r\n" HEAD "y\r\n--B-- \t ", F("x") F("y") "DONE"),
	CASE(FILE("x") "\r\n--B--\t\r\n", F("x") "DONE"),
	CASE(FILE("x") "\r\n --B" END, F("x\r\n --B") "DONE"),
	CASE(FILE("x") "\r\n-- B" END, F("x\r\n-- B") "DONE"),
	CASE(FILE("x") "\r\n--B --" END, F("x\r\n--B --") "DONE"),
	CASE(FILE("x") "\r\n--B - -" END, F("x\r\n--B - -") "DONE"),
	CASE(FILE("x") "\r\n--B \v" END, F("x\r\n--B \v") "DONE"),
	CASE(FILE("x") "\r\n--B" BLANKS16 BLANKS16 BLANKS16 BLANKS16 "\r\n" HEAD "y" END,
		F("x") F("y") "DONE"),

	/* Look-alikes. */
	CASE(FILE("x") "\r\n--b" END, F("x\r\n--b") "DONE"),
	CASE(FILE("x") "\r\n--BB" END, F("x\r\n--BB") "DONE"),
	CASE(FILE("x") "\r\n--BB\r\n" END, F("x\r\n--BB\r\n") "DONE"),
	CASE(FILE("x") "\r\n-B" END, F("x\r\n-B") "DONE"),
	CASE(FILE("x") "\r\n---B" END, F("x\r\n---B") "DONE"),
	CASE(FILE("x") "\r\n--" END, F("x\r\n--") "DONE"),
	CASE(FILE("x") "\r\n" END, F("x\r\n") "DONE"),
	CASE(FILE("x") "\r" END, F("x\r") "DONE"),
	CASE(FILE("x") "\n" END, F("x\n") "DONE"),
	CASE(FILE("x") "\r\r" END, F("x\r\r") "DONE"),
	CASE(FILE("\r") END, F("\r") "DONE"),
	CASE(FILE("\r\n\r") END, F("\r\n\r") "DONE"),
	CASE(FILE("x") "\n\r" END, F("x\n\r") "DONE"),
	CASE(FILE("x") "--B--" END, F("x--B--") "DONE"),
	CASE(FILE("x") "\n--B\n" END, F("x\n--B\n") "DONE"),
	CASE(FILE("x") "\r--B--\r" END, F("x\r--B--\r") "DONE"),
	CASE(FILE("x") "\r\n--B-" END, F("x\r\n--B-") "DONE"),
	CASE(FILE("x") "\r\n--B-\r\n" END, F("x\r\n--B-\r\n") "DONE"),
	CASE(FILE("x") "\r\n--B---" END, F("x\r\n--B---") "DONE"),
	CASE(FILE("x") "\r\n--B--x" END, F("x\r\n--B--x") "DONE"),
	CASE(FILE("x") "\r\n--B-- x" END, F("x\r\n--B-- x") "DONE"),
	CASE(FILE("x") "\r\n--B--\n" END, F("x\r\n--B--\n") "DONE"),
	CASE(FILE("x") "\r\n--B--\r" END, F("x\r\n--B--\r") "DONE"),
	CASE(FILE("x") "\r\n--B\n" END, F("x\r\n--B\n") "DONE"),
	CASE(FILE("x") "\r\n--B\r" END, F("x\r\n--B\r") "DONE"),
	CASE(FILE("x") "\r\n--B\r\r" END, F("x\r\n--B\r\r") "DONE"),
	CASE(FILE("x") "\r\n--B \rx" END, F("x\r\n--B \rx") "DONE"),
	CASE(FILE("x") "\r\n\r\n--" END, F("x\r\n\r\n--") "DONE"),
	CASE(FILE("x") "\r\n--\r\n--\r\n--" END, F("x\r\n--\r\n--\r\n--") "DONE"),
	CASE(FILE("--Bx") END, F("--Bx") "DONE"),
	CASE(FILE("-") END, F("-") "DONE"),
	CASE(FILE("\n--B--") END, F("\n--B--") "DONE"),
	CASE(FILE("\0\r\n\0--B\0") END, F("\0\r\n\0--B\0") "DONE"),
	CASE(FILE("\r\n--B\0\r\n") END, F("\r\n--B\0\r\n") "DONE"),
	CASE(FILE("\xff\xfe\r\n\x80") END, F("\xff\xfe\r\n\x80") "DONE"),
	/* A whole form within the file, of another boundary. */
	CASE_OF(TYPE("Bx"), "--Bx\r\n" HEAD FILE("in") END "\r\n--Bx--",
		F("--B\r\n" HEAD "in" END) "DONE"),

	/* Boundaries of every kind. */
	CASE_OF(TYPE("\"B\""), FILE("x") END, F("x") "DONE"),
	CASE_OF(TYPE("\"\\B\""), FILE("x") END, F("x") "DONE"),
	CASE_OF(TYPE("\"a b:c\""), "--a b:c\r\n" HEAD "x\r\n--a b\r\n--a b:c--",
		F("x\r\n--a b") "DONE"),
	CASE_OF(TYPE("\"a\\\"b\""), "--a\"b\r\n" HEAD "x\r\n--a\"b--", F("x") "DONE"),
	CASE_OF(TYPE("--"), "----\r\n" HEAD "x\r\n--\r\n------", F("x\r\n--") "DONE"),
	CASE_OF(TYPE("----"), "------\r\n" HEAD "x\r\n----\r\n--------", F("x\r\n----") "DONE"),
	CASE_OF(TYPE("-"), "---\r\n" HEAD "x\r\n--\r\n-----", F("x\r\n--") "DONE"),
	CASE_OF(TYPE("aaaa"), "--aaaa\r\n" HEAD "\r\n--aaa\r\n--aaaaa\r\n--aaaa--",
		F("\r\n--aaa\r\n--aaaaa") "DONE"),
	CASE_OF(TYPE(B70), "--" B70 "\r\n" HEAD B70 "\r\n--" B70 B70 "\r\n--" B70 "--",
		F(B70 "\r\n--" B70 B70) "DONE"),
	CASE_OF(TYPE("\"" B70 "\""),
		"--" B70 BLANKS16 BLANKS16 BLANKS16 BLANKS16 "\r\n" HEAD "\r\n--" B70
		"--" BLANKS16 BLANKS16 BLANKS16 BLANKS16 "\r\n",
		F("") "DONE"),
	CASE_OF("Multipart/Form-Data ;charset=utf-8 ; BOUNDARY=B;x=\"\\\"\";", FILE("x") END,
		F("x") "DONE"),
	CASE_OF("multipart/form-data;boundary=B", FILE("x") END, F("x") "DONE"),

	/* Cut off. */
	CASE("", "BAD:MULTIPART_CUT"),
	CASE("\r", "BAD:MULTIPART_CUT"),
	CASE("--B", "BAD:MULTIPART_CUT"),
	CASE("--B-", "BAD:MULTIPART_CUT"),
	CASE("--B--\r", "BAD:MULTIPART_CUT"),
	CASE("--B\r\n", "BAD:MULTIPART_CUT"),
	CASE("--B\r\nContent-Disp", "BAD:MULTIPART_CUT"),
	CASE("--B\r\nContent-Disposition: form-data; name=\"a\"\r\n", "BAD:MULTIPART_CUT"),
	CASE(FILE(""), "a/f:[BAD:MULTIPART_CUT"),
	CASE(FILE("x"), "a/f:[xBAD:MULTIPART_CUT"),
	CASE(FILE("x") "\r\n--B", "a/f:[xBAD:MULTIPART_CUT"),
	CASE(FILE("x") "\r\n--B-", "a/f:[xBAD:MULTIPART_CUT"),
	CASE(FILE("x") "\r\n--B\r\n", F("x") "BAD:MULTIPART_CUT"),
	CASE(FILE("x") "\r\n--B--\r", "a/f:[xBAD:MULTIPART_CUT"),
	CASE("no form at all", "BAD:MULTIPART_CUT"),

	/* Header sections; what is in them is for check_multipart_head. */
	CASE("--B\r\n\r\nx" END, "BAD:MULTIPART_DISPOSITION"),
	CASE("--B\r\n--B--\r\n\r\n", "BAD:MULTIPART_HEAD"),
	CASE(FILE("x") "\r\n--B\r\nX: 1\r\n\r\ny" END, F("x") "BAD:MULTIPART_DISPOSITION"),
	CASE("--B\nContent-Disposition: form-data; name=a\n\nx\n--B--\n", "BAD:MULTIPART_CUT"),
	CASE("--B\r\nContent-Disposition: form-data; name=a\n\nx" END, "BAD:MULTIPART_HEAD"),
	CASE("--B\r\nContent-Disposition: form-data; name=a\r\n\n\r\nx" END, "BAD:MULTIPART_HEAD"),
	CASE("--B\r\nContent-Disposition: form-data; name=a\r\r\n\r\nx" END, "BAD:MULTIPART_HEAD"),

	/* One part more than the four that are allowed. */
	CASE(FILE("1") "\r\n" FILE("2") "\r\n" FILE("3") "\r\n" FILE("4") END,
		F("1") F("2") F("3") F("4") "DONE"),
	CASE(FILE("1") "\r\n" FILE("2") "\r\n" FILE("3") "\r\n" FILE("4") "\r\n" FILE("5") END,
		F("1") F("2") F("3") F("4") "BAD:MULTIPART_PARTS"),
};

enum { CASES = sizeof(cases) / sizeof(cases[0]), PARTS_MAX = 4 };

/* What the events say, written down; it goes on behind an event as behind a pause. */
struct script {
	struct multipart m;
	struct strbuf said;
	bool over, in_part;
};

static void begin(struct script *s, const char *content_type)
{
	*s = (struct script){ 0 };
	memset(&s->m, 0xa5, sizeof(s->m));
	ck_assert_ptr_null(multipart_init(&s->m, slice_str(content_type), PARTS_MAX));
}

static void write_part(struct script *s)
{
	ck_assert(!s->in_part);
	s->in_part = true;
	strbuf_add(&s->said, s->m.part.name);
	if (s->m.part.has_filename) {
		strbuf_add(&s->said, SLICE("/"));
		strbuf_add(&s->said, s->m.part.filename);
	}
	strbuf_add(&s->said, SLICE(":["));
}

/* One event; false behind the last one of the piece. */
static bool event(struct script *s, struct slice *piece, bool last)
{
	const struct slice before = *piece;

	switch (multipart_next(&s->m, piece, last)) {
	case MULTIPART_MORE:
		ck_assert(!last);
		ck_assert_uint_eq(piece->n, 0);
		return false;
	case MULTIPART_BEGIN:
		write_part(s);
		return true;
	case MULTIPART_DATA:
		ck_assert(s->in_part);
		ck_assert_uint_gt(s->m.data.n, 0);
		ck_assert_uint_le(piece->n, before.n);
		strbuf_add(&s->said, s->m.data);
		return true;
	case MULTIPART_END:
		ck_assert(s->in_part);
		s->in_part = false;
		strbuf_add(&s->said, SLICE("]"));
		return true;
	case MULTIPART_DONE:
		ck_assert(!s->in_part);
		ck_assert_uint_eq(piece->n, 0);
		if (!s->over)
			strbuf_add(&s->said, SLICE("DONE"));
		s->over = true;
		return false;
	case MULTIPART_BAD:
		if (!s->over)
			strbuf_printf(&s->said, "BAD:%s", s->m.err->name);
		s->over = true;
		return false;
	}
	ck_abort();
}

/* In memory of its own, gone when the next piece comes. */
static void feed(struct script *s, struct slice piece, bool last)
{
	char *copy = calloc(1, piece.n);
	struct slice rest = slice_of(copy, piece.n);

	if (piece.n > 0)
		memcpy(copy, piece.p, piece.n);
	while (event(s, &rest, last))
		;
	if (copy != NULL)
		memset(copy, 0x5a, piece.n);
	free(copy);
}

static void end(struct script *s, const struct body *c, const char *how, size_t at)
{
	struct slice said = slice_of(s->said.p, s->said.n);

	ck_assert_msg(slice_eq(said, c->said), "%s %zu of \"%.*s\": \"%.*s\", not \"%.*s\"", how,
		at, SLICE_ARG(c->body), SLICE_ARG(said), SLICE_ARG(c->said));
	strbuf_fini(&s->said);
}

/* Cut at i and j, 0 <= i <= j <= n. The end comes with the last piece, or as an empty one. */
static void run_cut(const struct body *c, size_t i, size_t j, bool empty)
{
	const struct slice b = c->body;
	struct script s;

	begin(&s, c->content_type);
	feed(&s, slice_of(b.p, i), false);
	feed(&s, slice_of(b.p + i, j - i), false);
	feed(&s, slice_of(b.p + j, b.n - j), !empty);
	if (empty)
		feed(&s, SLICE(""), true);
	end(&s, c, "cut at", i);
}

static void run_bytes(const struct body *c)
{
	struct script s;

	begin(&s, c->content_type);
	for (size_t i = 0; i < c->body.n; i++)
		feed(&s, slice_of(c->body.p + i, 1), i == c->body.n - 1);
	feed(&s, SLICE(""), true);
	end(&s, c, "bytes", 0);
}

static void run_all(const struct body *c)
{
	run_cut(c, 0, 0, false);
	run_cut(c, 0, 0, true);
	run_bytes(c);
	for (size_t i = 0; i <= c->body.n; i++) {
		size_t j = i + (size_t)rand() % (c->body.n - i + 1);

		run_cut(c, i, i, true);
		run_cut(c, i, j, false);
	}
}

TEST_EACH(test_case, CASES)
{
	run_all(&cases[_i]);
}

/* Text that grows for what a macro cannot say. */
static struct body built(struct strbuf *body, struct strbuf *said, const char *content_type)
{
	return (struct body){ content_type, slice_of(body->p, body->n),
		slice_of(said->p, said->n) };
}

static void add(struct strbuf *body, struct strbuf *said, struct slice content)
{
	strbuf_add(body, SLICE("--B\r\n" HEAD));
	strbuf_add(body, content);
	strbuf_add(body, SLICE(END));
	strbuf_add(said, SLICE("a/f:["));
	strbuf_add(said, content);
	strbuf_add(said, SLICE("]DONE"));
}

/* Each beginning of the final line, with each byte behind it that does not make it go on. */
TEST_EACH(test_every_beginning, 12 * 9)
{
	static const char whole[] = "\r\n--B-- \t \r\n", bytes[] = "x-\r\n B\0\xff\t";
	size_t n = (size_t)_i / (sizeof(bytes) - 1);
	char c = bytes[(size_t)_i % (sizeof(bytes) - 1)], content[32];
	struct strbuf body = { 0 }, said = { 0 };
	struct body b;

	memcpy(content, whole, n);
	content[n] = c;
	memcpy(content + n + 1, "y", 1);
	if (c == whole[n] || (n >= 5 && (c == ' ' || c == '\t' || c == '\r')) ||
		(n == 5 && c == '-'))
		return;
	add(&body, &said, slice_of(content, n + 2));
	b = built(&body, &said, TYPE("B"));
	run_all(&b);
	/* At its begin, in its middle, twice. */
	body.n = said.n = 0;
	memmove(content + n + 2, content, n + 2);
	add(&body, &said, slice_of(content, 2 * (n + 2)));
	b = built(&body, &said, TYPE("B"));
	run_all(&b);
	strbuf_fini(&body);
	strbuf_fini(&said);
}

/* The boundary at every offset of what is handed over, longer than what memmem(3) steps over. */
TEST_EACH(test_every_offset, 150)
{
	struct strbuf body = { 0 }, said = { 0 };
	char content[300];
	struct body b;

	for (size_t n = 0; n < sizeof(content); n++)
		content[n] = "\r\n-B0x"[(n * 7 + (size_t)_i) % 6];
	add(&body, &said, slice_of(content, (size_t)_i));
	b = built(&body, &said, TYPE("B"));
	run_all(&b);
	strbuf_fini(&body);
	strbuf_fini(&said);
}

/* Random contents of the bytes that matter, against the rule as it is written. */
static bool is_boundary_line(struct slice s)
{
	size_t i = 3;

	if (!slice_starts(s, SLICE("--B")))
		return false;
	if (slice_starts(s, SLICE("--B--")))
		i = 5;
	while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t'))
		i++;
	return slice_starts(slice_of(s.p + i, s.n - i), SLICE("\r\n"));
}

static bool has_boundary(struct slice content)
{
	for (size_t i = 0; i < content.n; i++)
		if ((i == 0 || (i > 1 && content.p[i - 2] == '\r' && content.p[i - 1] == '\n')) &&
			is_boundary_line(slice_of(content.p + i, content.n - i)))
			return true;
	return false;
}

static void run_random(void)
{
	static const char *const bits[] = { "\r", "\n", "\r\n", "-", "--", "B", "--B", "\r\n--B",
		"\r\n--B--", " ", "\t", "x", "\r\n--B  ", "\r\n--B-" };
	struct strbuf content = { 0 }, body = { 0 }, said = { 0 };
	struct slice c;
	struct body b;

	for (int i = rand() % 12; i >= 0; i--)
		strbuf_add(&content, slice_str(bits[(size_t)rand() % 14]));
	/* Behind it comes the CRLF of the final boundary. */
	strbuf_add(&content, SLICE("\r\n"));
	c = slice_of(content.p, content.n);
	if (!has_boundary(c)) {
		add(&body, &said, slice_of(c.p, c.n - 2));
		b = built(&body, &said, TYPE("B"));
		run_all(&b);
	}
	strbuf_fini(&content);
	strbuf_fini(&body);
	strbuf_fini(&said);
}

TEST_EACH(test_random, 10)
{
	srand((unsigned)_i);
	for (int i = 0; i < 100; i++)
		run_random();
}

static const struct {
	const char *content_type;
	const char *err; /* NULL: none */
} types[] = {
	{ "multipart/form-data; boundary=B", NULL },
	{ "multipart/form-data;boundary=\"B\" ", NULL },
	{ "multipart/form-data;; ;boundary=B;;", NULL },
	{ "multipart/form-data; boundary=" B70, NULL },
	{ "multipart/form-data; boundary=\"a b\"", NULL },
	{ "multipart/form-data; boundary='()+_,-./:=?", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary=\"'()+_,-./:=?\"", NULL },
	{ "", "MULTIPART_TYPE" },
	{ "text/plain; boundary=B", "MULTIPART_TYPE" },
	{ "multipart/form-dat", "MULTIPART_TYPE" },
	{ "multipart/form-datab; boundary=B", "MULTIPART_TYPE" },
	{ "multipart/form-data2; boundary=B", "MULTIPART_TYPE" },
	{ "multipart/mixed; boundary=B", "MULTIPART_TYPE" },
	{ " multipart/form-data; boundary=B", "MULTIPART_TYPE" },
	{ "multipart/form-data", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data;", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data boundary=B", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary=", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary=\"\"", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary=\"B", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary=\"B\\\"", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary=\"B\"x", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary=\"B \"", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary=\"\xc3\xa4\"", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary=\"a\tb\"", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary= B", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary =B", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary=B, text/plain", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary=B; boundary=B", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary=B; Boundary=C", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary=B; x", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary=x" B70, "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary=\"x" B70 "\"", "MULTIPART_BOUNDARY" },
	{ "multipart/form-data; boundary=" B70 B70 B70, "MULTIPART_BOUNDARY" },
};

TEST_ROWS(test_type, types)
{
	struct multipart m;
	const struct err *err = multipart_init(&m, slice_str(types[_i].content_type), 1);

	ck_assert_msg((err == NULL) == (types[_i].err == NULL), "%s", types[_i].content_type);
	if (err != NULL)
		ck_assert_msg(strcmp(err->name, types[_i].err) == 0, "%s: %s",
			types[_i].content_type, err->name);
}

/* A header section of just the limit, and of one byte more; lines without end are no way around. */
TEST_EACH(test_head_limit, 2)
{
	static const struct slice rest = SLICE_LIT("Content-Disposition: form-data; name=a\r\nX: ");
	struct strbuf body = { 0 }, said = { 0 };
	struct body b;

	strbuf_add(&body, SLICE("--B\r\n"));
	strbuf_add(&body, rest);
	for (size_t i = rest.n; i < MULTIPART_HEAD_MAX - 4 + (size_t)_i; i++)
		strbuf_add(&body, SLICE("x"));
	strbuf_add(&body, SLICE("\r\n\r\nv" END));
	strbuf_add(&said, _i == 0 ? SLICE("a:[v]DONE") : SLICE("BAD:MULTIPART_HEAD_LARGE"));
	b = built(&body, &said, TYPE("B"));
	run_cut(&b, 0, 0, false);
	run_bytes(&b);
	strbuf_fini(&body);
	strbuf_fini(&said);
}

/* Blanks without end behind a boundary cannot be held back. */
TEST(test_blanks_limit)
{
	struct strbuf body = { 0 }, said = { 0 };
	struct body b;

	strbuf_add(&body, SLICE("--B\r\n" HEAD "x\r\n--B"));
	for (int i = 0; i < 1000; i++)
		strbuf_add(&body, SLICE(" "));
	strbuf_add(&body, SLICE("\r\n"));
	strbuf_add(&said, SLICE("a/f:[xBAD:MULTIPART_LINE"));
	b = built(&body, &said, TYPE("B"));
	run_all(&b);
	strbuf_fini(&body);
	strbuf_fini(&said);
}

/* Content is handed on where it lies. */
TEST(test_no_copy)
{
	static const char body[] = FILE("hello") END;
	struct slice piece = slice_of(body, sizeof(body) - 1);
	struct multipart m;

	ck_assert_ptr_null(multipart_init(&m, SLICE(TYPE("B")), 1));
	ck_assert_int_eq(multipart_next(&m, &piece, true), MULTIPART_BEGIN);
	ck_assert_int_eq(multipart_next(&m, &piece, true), MULTIPART_DATA);
	ck_assert_ptr_eq(m.data.p, strstr(body, "hello"));
	ck_assert_uint_eq(m.data.n, 5);
	/* The names stay until the part is over. */
	ck_assert(slice_eq(m.part.filename, SLICE("f")));
	ck_assert_int_eq(multipart_next(&m, &piece, true), MULTIPART_END);
	ck_assert(slice_eq(m.part.filename, SLICE("f")));
	ck_assert_int_eq(multipart_next(&m, &piece, true), MULTIPART_DONE);
	ck_assert_int_eq(multipart_next(&m, &piece, true), MULTIPART_DONE);
}
