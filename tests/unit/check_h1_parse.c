/*
 * check_h1_parse: heads, fields and chunked bodies of HTTP/1: tables of what is legal, and of what
 * smugglers send (RFC 9112, 11.2), whole and in pieces.
 */

#include "proto/h1_parse.h"
#include "unit_pure.h"

enum { LIMIT = 2000 };

static struct arena arena;
static struct h1_parse parse;
static struct h1_head head;
static const struct err *err;
static char seen[8192]; /* "METHOD TARGET 1.MINOR\n", "name=value\n", "{body}\n" */
static size_t nseen;
static size_t taken;

static void see(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void see(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	nseen += (size_t)vsnprintf(seen + nseen, sizeof(seen) - nseen, fmt, ap);
	va_end(ap);
	ck_assert_uint_lt(nseen, sizeof(seen));
}

UNIT_SETUP(setup)
{
	arena_init(&arena, NULL, 0, 1 << 20);
}

UNIT_TEARDOWN(teardown)
{
	arena_reset(&arena);
}

enum part { BLANK, HEAD, LENGTH, CHUNKED, TRAILERS, DONE };

static struct h1_chunk chunk;
static enum part part;

static void found_field(void)
{
	bool keep;

	if (part != TRAILERS)
		err = h1_head_field(&head, parse.name, parse.value, &keep);
	see("%.*s=%.*s\n", SLICE_ARG(parse.name), SLICE_ARG(parse.value));
}

static void head_ends(void)
{
	err = h1_head_end(&head, parse.minor);
	if (err != NULL)
		return;
	part = head.chunked                                      ? CHUNKED
	       : head.length == BODY_UNKNOWN || head.length == 0 ? DONE
								 : LENGTH;
	chunk = (struct h1_chunk){ 0 };
}

static void take_section(const uint8_t **p, const uint8_t *end)
{
	switch (h1_parse_next(&parse, p, end)) {
	case H1_LINE:
		see("%.*s %.*s 1.%u\n", SLICE_ARG(parse.method), SLICE_ARG(parse.target),
			parse.minor);
		break;
	case H1_FIELD:
		found_field();
		break;
	case H1_END:
		if (part == HEAD)
			head_ends();
		else
			part = DONE;
		break;
	case H1_FAULT:
		ck_assert_ptr_nonnull(parse.err);
		err = parse.err;
		break;
	case H1_MORE:
		ck_assert_ptr_eq(*p, end);
		break;
	}
}

static void take_chunked(const uint8_t **p, const uint8_t *end)
{
	struct slice piece;

	switch (h1_chunk_next(&chunk, p, end, &piece)) {
	case H1_CHUNK_DATA:
		see("%.*s", SLICE_ARG(piece));
		break;
	case H1_CHUNK_LAST:
		see("\n");
		h1_parse_fields(&parse, false);
		part = TRAILERS;
		break;
	case H1_CHUNK_FAULT:
		err = ERR_CHUNK;
		break;
	case H1_CHUNK_MORE:
		ck_assert_ptr_eq(*p, end);
	}
}

static void take(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *from = p;
	size_t n;

	while (p < end && err == NULL && part != DONE) {
		switch (part) {
		case BLANK:
			p += h1_parse_blank(&parse, p, (size_t)(end - p));
			if (p < end) {
				h1_parse_begin(&parse, &arena, LIMIT);
				part = HEAD;
			}
			break;
		case LENGTH:
			n = (size_t)(end - p) < head.length ? (size_t)(end - p)
							    : (size_t)head.length;
			see("%.*s", (int)n, (const char *)p);
			p += n;
			head.length -= n;
			if (head.length == 0)
				part = DONE;
			break;
		case CHUNKED:
			take_chunked(&p, end);
			break;
		default:
			take_section(&p, end);
		}
	}
	taken += (size_t)(p - from);
}

/* In pieces of step bytes, each in memory of its own, so that reading past one is seen. */
static void feed(const char *text, size_t n, size_t step)
{
	parse.empty = 0;
	head = (struct h1_head){ .length = BODY_UNKNOWN };
	part = BLANK;
	err = NULL;
	nseen = taken = 0;
	seen[0] = '\0';
	for (size_t i = 0; i < n && err == NULL && part != DONE; i += step) {
		size_t k = n - i < step ? n - i : step;
		uint8_t *piece = malloc(k);

		memcpy(piece, text + i, k);
		take(piece, piece + k);
		free(piece);
	}
}

static const size_t steps[] = { 100000, 1, 2, 7, 64 };
enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

#define GET    "GET / HTTP/1.1\r\nHost: a\r\n"
#define POST   "POST / HTTP/1.1\r\nHost: a\r\n"
#define CHUNKS POST "Transfer-Encoding: chunked\r\n\r\n"

/* --- what is legal ---------------------------------------------------------------------------- */

static const struct {
	const char *text, *seen;
} legal[] = {
	{ "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / 1.1\nhost=a\n" },
	{ "GET / HTTP/1.0\r\n\r\n", "GET / 1.0\n" },
	{ "GET / HTTP/1.9\r\nHost: a\r\n\r\n", "GET / 1.1\nhost=a\n" },
	{ "\r\n\r\nGET / HTTP/1.0\r\n\r\n", "GET / 1.0\n" },
	{ "OPTIONS * HTTP/1.1\r\nhOsT:[::1]:80\r\n\r\n", "OPTIONS * 1.1\nhost=[::1]:80\n" },
	{ "GET http://b/c?d HTTP/1.1\r\nHost: a\r\n\r\n", "GET http://b/c?d 1.1\nhost=a\n" },
	{ "G!#$%&'*+-.^_`|~9 /\xc3\xa4?\"<>\\^`{|} HTTP/1.0\r\n\r\n",
		"G!#$%&'*+-.^_`|~9 /\xc3\xa4?\"<>\\^`{|} 1.0\n" },
	{ "GET / HTTP/1.0\r\nX-A: \t b\t c \t \r\nEmpty:\r\nEmpty2: \t\r\n\r\n",
		"GET / 1.0\nx-a=b\t c\nempty=\nempty2=\n" },
	{ "GET / HTTP/1.0\r\nX: \xe4\xff\x80\r\n\r\n", "GET / 1.0\nx=\xe4\xff\x80\n" },
	{ "GET / HTTP/1.1\r\nHost: a-b.c_d%20~!$&'()*+,;=:\r\n\r\n",
		"GET / 1.1\nhost=a-b.c_d%20~!$&'()*+,;=:\n" },
	{ "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", "POST / 1.0\ncontent-length=3\nabc" },
	{ "POST / HTTP/1.0\r\nContent-Length: 003\r\n\r\nabc",
		"POST / 1.0\ncontent-length=003\nabc" },
	{ "POST / HTTP/1.0\r\nContent-Length: 0\r\n\r\n", "POST / 1.0\ncontent-length=0\n" },
	{ "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
	  "3\r\nabc\r\n00A \t;x=\"y\"; z\r\n0123456789\r\n0\r\nTrail: er\r\nContent-Length: "
	  "7\r\n\r\n",
		"POST / 1.1\nhost=a\ntransfer-encoding=Chunked\nabc0123456789\n"
		"trail=er\ncontent-length=7\n" },
	{ "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n000;x\r\n\r\n",
		"POST / 1.1\nhost=a\ntransfer-encoding=chunked\n\n" },
	{ CHUNKS "2 ; a = b;\tc ;D=\"\\\"e;\t =f\" ;g\r\nab\r\n0;h=i!#$%&'*+-.^_`|~9\r\n\r\n",
		"POST / 1.1\nhost=a\ntransfer-encoding=chunked\nab\n" },
};

TEST_ROWS(legal_messages, legal)
{
	size_t n = strlen(legal[_i].text);

	for (unsigned i = 0; i < STEPS; i++) {
		feed(legal[_i].text, n, steps[i]);
		ck_assert_msg(err == NULL, "%s: %s", legal[_i].text, err ? err->text : "");
		ck_assert_msg(part == DONE, "%s: unfinished", legal[_i].text);
		ck_assert_str_eq(seen, legal[_i].seen);
		ck_assert_uint_eq(taken, n);
	}
}

/* No byte of the next message is taken, and every shorter beginning is only incomplete. */
TEST_ROWS(ends_of_messages, legal)
{
	char text[512];
	size_t n = strlen(legal[_i].text);

	snprintf(text, sizeof(text), "%sGET /next", legal[_i].text);
	feed(text, strlen(text), 1000);
	ck_assert_uint_eq(taken, n);
	for (size_t k = 0; k < n; k++) {
		feed(text, k, 1000);
		ck_assert_ptr_null(err);
		ck_assert_int_ne(part, DONE);
	}
}

/* --- what is not ------------------------------------------------------------------------------ */

#define TEXT(s) \
	{ \
		s, sizeof(s) - 1 \
	}
static const struct {
	struct slice text;
	int status;
} bad[] = {
	/* request lines */
	{ TEXT("\nGET / HTTP/1.1\r\n"), 400 },
	{ TEXT("\r\n\r\n\r\nGET / HTTP/1.1\r\n"), 400 },
	{ TEXT("\rGET / HTTP/1.1\r\n"), 400 },
	{ TEXT("\r\n\rGET / HTTP/1.1\r\n"), 400 },
	{ TEXT(" GET / HTTP/1.1\r\n"), 400 },
	{ TEXT("GET  / HTTP/1.1\r\n"), 400 },
	{ TEXT("GET\t/ HTTP/1.1\r\n"), 400 },
	{ TEXT("GET /  HTTP/1.1\r\n"), 400 },
	{ TEXT("GET /\tHTTP/1.1\r\n"), 400 },
	{ TEXT("GET / x HTTP/1.1\r\n"), 400 },
	{ TEXT("GET /\r\n"), 400 },
	{ TEXT("GET /\0 HTTP/1.1\r\n"), 400 },
	{ TEXT("GET /\x7f HTTP/1.1\r\n"), 400 },
	{ TEXT("GET /\x1b HTTP/1.1\r\n"), 400 },
	{ TEXT("GET / HTTP/1.1\n"), 400 },
	{ TEXT("GET / HTTP/1.1 \r\n"), 400 },
	{ TEXT("GET / HTTP/1.1\r\r\n"), 400 },
	{ TEXT("GET / http/1.1\r\n"), 400 },
	{ TEXT("GET / HTTP/1.\r\n"), 400 },
	{ TEXT("GET / HTTP/1.10\r\n"), 400 },
	{ TEXT("GET / HTTP/01.1\r\n"), 400 },
	{ TEXT("GET / HTTP/1,1\r\n"), 400 },
	{ TEXT("GET / HTTP/+1.1\r\n"), 400 },
	{ TEXT("GET / HTTPS/1.1\r\n"), 400 },
	{ TEXT("GET / HTTP/2.0\r\n"), 505 },
	{ TEXT("GET / HTTP/3.0\r\n"), 505 },
	{ TEXT("GET / HTTP/0.9\r\n"), 505 },
	{ TEXT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505 },
	{ TEXT("G(T / HTTP/1.1\r\n"), 400 },
	{ TEXT("G\0T / HTTP/1.1\r\n"), 400 },
	{ TEXT("\x16\x03\x01\x02"), 400 },
	{ TEXT("\xff\xff"), 400 },
	/* field lines */
	{ TEXT(GET "X : b\r\n\r\n"), 400 },
	{ TEXT(GET "X\t: b\r\n\r\n"), 400 },
	{ TEXT(GET " X: b\r\n\r\n"), 400 },
	{ TEXT(GET "X: b\r\n c\r\n\r\n"), 400 },
	{ TEXT(GET "X: b\r\n\tc\r\n\r\n"), 400 },
	{ TEXT(GET "X: b\r\n \r\n\r\n"), 400 },
	{ TEXT("GET / HTTP/1.1\r\n Host: a\r\n\r\n"), 400 },
	{ TEXT(GET ": b\r\n\r\n"), 400 },
	{ TEXT(GET "X\r\n\r\n"), 400 },
	{ TEXT(GET "X: a\nY: b\r\n\r\n"), 400 },
	{ TEXT(GET "X: a\rY: b\r\n\r\n"), 400 },
	{ TEXT(GET "X: a\r\r\n\r\n"), 400 },
	{ TEXT(GET "X: a\r\n\rGET /"), 400 },
	{ TEXT(GET "X: a\r\n\n"), 400 },
	{ TEXT(GET "\n"), 400 },
	{ TEXT(GET "X: \0\r\n\r\n"), 400 },
	{ TEXT(GET "X: \x01\r\n\r\n"), 400 },
	{ TEXT(GET "X: \x7f\r\n\r\n"), 400 },
	{ TEXT(GET "X: \x0b"
		   "chunked\r\n\r\n"),
		400 },
	{ TEXT(GET "X\0: a\r\n\r\n"), 400 },
	{ TEXT(GET "X\x80: a\r\n\r\n"), 400 },
	{ TEXT(GET "X[: a\r\n\r\n"), 400 },
	/* hosts */
	{ TEXT("GET / HTTP/1.1\r\n\r\n"), 400 },
	{ TEXT("GET / HTTP/1.1\r\nHost:\r\n\r\n"), 400 },
	{ TEXT(GET "Host: a\r\n\r\n"), 400 },
	{ TEXT(GET "host: b\r\n\r\n"), 400 },
	{ TEXT("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"), 400 },
	{ TEXT("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), 400 },
	{ TEXT("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"), 400 },
	{ TEXT("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), 400 },
	{ TEXT("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"), 400 },
	{ TEXT("GET / HTTP/1.1\r\nHost: a:b\r\n\r\n"), 400 },
	{ TEXT("GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n"), 400 },
	{ TEXT("GET / HTTP/1.1\r\nHost: :80\r\n\r\n"), 400 },
	{ TEXT("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"), 400 },
	{ TEXT("GET / HTTP/1.1\r\nHost: []\r\n\r\n"), 400 },
	{ TEXT("GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n"), 400 },
	{ TEXT("GET / HTTP/1.1\r\nHost: a%2\r\n\r\n"), 400 },
	{ TEXT("GET / HTTP/1.1\r\nHost: \xc3\xa4\r\n\r\n"), 400 },
	/* lengths */
	{ TEXT(POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"), 400 },
	{ TEXT(POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n"), 400 },
	{ TEXT(POST "Content-Length: 5, 5\r\n\r\n"), 400 },
	{ TEXT(POST "Content-Length: +5\r\n\r\n"), 400 },
	{ TEXT(POST "Content-Length: -1\r\n\r\n"), 400 },
	{ TEXT(POST "Content-Length: 0x5\r\n\r\n"), 400 },
	{ TEXT(POST "Content-Length: 5 5\r\n\r\n"), 400 },
	{ TEXT(POST "Content-Length: 5.0\r\n\r\n"), 400 },
	{ TEXT(POST "Content-Length:\r\n\r\n"), 400 },
	{ TEXT(POST "Content-Length: ,\r\n\r\n"), 400 },
	{ TEXT(POST "Content-Length: 9223372036854775808\r\n\r\n"), 400 },
	{ TEXT(POST "Content-Length: 18446744073709551621\r\n\r\n"), 400 },
	{ TEXT(POST "Content-Length: 99999999999999999999999999\r\n\r\n"), 400 },
	/* codings */
	{ TEXT(POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"), 400 },
	{ TEXT(POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"), 400 },
	{ TEXT("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400 },
	{ TEXT(POST "Transfer-Encoding: chunked, chunked\r\n\r\n"), 400 },
	{ TEXT(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"), 400 },
	{ TEXT(POST "Transfer-Encoding: chunked, gzip\r\n\r\n"), 400 },
	{ TEXT(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"), 400 },
	{ TEXT(POST "Transfer-Encoding:\r\n\r\n"), 400 },
	{ TEXT(POST "Transfer-Encoding: ,\r\n\r\n"), 400 },
	{ TEXT(POST "Transfer-Encoding: ,chunked\r\n\r\n"), 400 },
	{ TEXT(POST "Transfer-Encoding: gzip, chunked\r\n\r\n"), 501 },
	{ TEXT(POST "Transfer-Encoding: identity\r\n\r\n"), 501 },
	{ TEXT(POST "Transfer-Encoding: xchunked\r\n\r\n"), 501 },
	{ TEXT(POST "Transfer-Encoding: \"chunked\"\r\n\r\n"), 501 },
	{ TEXT(POST "Transfer-Encoding: chunked;x=y\r\n\r\n"), 501 },
	{ TEXT(POST "Transfer_Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n"), 501 },
	/* chunks */
	{ TEXT(CHUNKS "\r\n"), 400 },
	{ TEXT(CHUNKS " 5\r\n"), 400 },
	{ TEXT(CHUNKS "0x5\r\n"), 400 },
	{ TEXT(CHUNKS "+5\r\n"), 400 },
	{ TEXT(CHUNKS "-5\r\n"), 400 },
	{ TEXT(CHUNKS "5 \r\n"), 400 },
	{ TEXT(CHUNKS "5 5\r\n"), 400 },
	{ TEXT(CHUNKS "5_0\r\n"), 400 },
	{ TEXT(CHUNKS "g\r\n"), 400 },
	{ TEXT(CHUNKS ";x\r\n"), 400 },
	{ TEXT(CHUNKS "5\n"), 400 },
	{ TEXT(CHUNKS "5\r5"), 400 },
	{ TEXT(CHUNKS "5;a\nb"), 400 },
	{ TEXT(CHUNKS "5;a\rb"), 400 },
	{ TEXT(CHUNKS "5;a\0"), 400 },
	{ TEXT(CHUNKS "5;\r\n"), 400 },
	{ TEXT(CHUNKS "5; \r\n"), 400 },
	{ TEXT(CHUNKS "5;;a\r\n"), 400 },
	{ TEXT(CHUNKS "5;=a\r\n"), 400 },
	{ TEXT(CHUNKS "5;a=\r\n"), 400 },
	{ TEXT(CHUNKS "5;a==b\r\n"), 400 },
	{ TEXT(CHUNKS "5;a=b=c\r\n"), 400 },
	{ TEXT(CHUNKS "5;a b\r\n"), 400 },
	{ TEXT(CHUNKS "5;a=b c\r\n"), 400 },
	{ TEXT(CHUNKS "5;a \r\n"), 400 },
	{ TEXT(CHUNKS "5;a=\"b\r\n"), 400 },
	{ TEXT(CHUNKS "5;a=\"b\\\r\n"), 400 },
	{ TEXT(CHUNKS "5;a=\"b\"c\r\n"), 400 },
	{ TEXT(CHUNKS "5;a=\"b\"=c\r\n"), 400 },
	{ TEXT(CHUNKS "5;a/b\r\n"), 400 },
	{ TEXT(CHUNKS "5\r\r;x"), 400 },
	{ TEXT(CHUNKS "0_2e\r\n"), 400 },
	{ TEXT(CHUNKS "0000000000000001\r\n"), 400 },
	{ TEXT(CHUNKS "ffffffffffffffffff\r\n"), 400 },
	{ TEXT(CHUNKS "3\r\nabcd"), 400 },
	{ TEXT(CHUNKS "3\r\nabc\n"), 400 },
	{ TEXT(CHUNKS "3\r\nabc\rx"), 400 },
	{ TEXT(CHUNKS "0\r\n\n"), 400 },
	{ TEXT(CHUNKS "0\r\n x: y\r\n\r\n"), 400 },
	{ TEXT(CHUNKS "0\r\nx : y\r\n\r\n"), 400 },
	{ TEXT(CHUNKS "0\r\nx: y\nz: 1\r\n\r\n"), 400 },
	{ TEXT(CHUNKS "0\r\nGET / HTTP/1.1\r\n\r\n"), 400 },
	/* expectations */
	{ TEXT(POST "Expect: 200-ok\r\n\r\n"), 417 },
	{ TEXT(POST "Expect: 100-continue, x\r\n\r\n"), 417 },
};

TEST_ROWS(smuggling, bad)
{
	for (unsigned i = 0; i < STEPS; i++) {
		feed(bad[_i].text.p, bad[_i].text.n, steps[i]);
		ck_assert_msg(err != NULL, "accepted: %s", bad[_i].text.p);
		ck_assert_msg(err->status == bad[_i].status, "%d: %s", err->status, bad[_i].text.p);
		ck_assert_int_ne(part, DONE);
	}
}

/* --- limits ----------------------------------------------------------------------------------- */

static size_t repeat(char *to, const char *front, char c, size_t n, const char *behind)
{
	size_t k = strlen(front);

	memcpy(to, front, k);
	memset(to + k, c, n);
	return k + n + (size_t)sprintf(to + k + n, "%s", behind);
}

TEST_EACH(limits, 8)
{
	static const struct {
		const char *front, *behind;
		size_t fits;
		const struct err *const *err;
	} cases[] = {
		{ "GET /", " HTTP/1.0\r\n\r\n", LIMIT - 16, &ERR_TARGET_TOO_LONG },
		{ "", "X / HTTP/1.0\r\n\r\n", LIMIT - 14, &ERR_TARGET_TOO_LONG },
		{ "GET / HTTP/1.0\r\nx:", "\r\n\r\n", LIMIT - 6, &ERR_FIELDS_TOO_LARGE },
		{ "GET / HTTP/1.0\r\nx", ":y\r\n\r\n", LIMIT - 7, &ERR_FIELDS_TOO_LARGE },
		{ "GET / HTTP/1.0\r\nx:", "y\r\n\r\n", LIMIT - 7, &ERR_FIELDS_TOO_LARGE },
		{ CHUNKS "0\r\nx:", "y\r\n\r\n", LIMIT - 7, &ERR_FIELDS_TOO_LARGE },
		{ CHUNKS "0;", "\r\n\r\n", H1_CHUNK_EXTENSION, &ERR_CHUNK },
		{ CHUNKS "0 ", ";x\r\n\r\n", H1_CHUNK_EXTENSION - 2, &ERR_CHUNK },
	};
	static const char fill[] = "xxyx yx\t";
	char text[4096];

	for (unsigned i = 0; i < STEPS; i++) {
		size_t n =
			repeat(text, cases[_i].front, fill[_i], cases[_i].fits, cases[_i].behind);

		feed(text, n, steps[i]);
		ck_assert_msg(err == NULL && part == DONE, "%d: %s", _i, err ? err->text : "");
		n = repeat(text, cases[_i].front, fill[_i], cases[_i].fits + 1, cases[_i].behind);
		feed(text, n, steps[i]);
		ck_assert_ptr_eq(err, *cases[_i].err);
	}
}

/* Every byte at every place of a word, whether bytes are looked at one by one or together. */
static void with_byte(const char *front, const char *behind, int place, uint8_t byte, bool fits)
{
	char text[100], want[100], *at;
	size_t n;

	for (unsigned i = 0; i < STEPS; i++) {
		n = (size_t)sprintf(text, "%s%s%s", front, "abcdefghijklmnopqrstuvwx", behind);
		at = text + strlen(front);
		at[place] = (char)byte;
		sprintf(want, "%.24s", at);
		feed(text, n, steps[i]);
		ck_assert_msg((err == NULL && part == DONE) == fits, "%s: %#x at %d, by %zu", front,
			byte, place, steps[i]);
		if (fits && byte != ' ' && byte != '\t') /* these are trimmed */
			ck_assert_ptr_nonnull(strstr(seen, want));
		arena_reset(&arena);
	}
}

TEST_EACH(each_byte, 24)
{
	for (int byte = 0; byte <= UINT8_MAX; byte++) {
		bool visible = byte > ' ' && byte != 0x7f;

		with_byte("GET /", " HTTP/1.0\r\n\r\n", _i, (uint8_t)byte, visible);
		with_byte("GET / HTTP/1.0\r\nx: ", "\r\n\r\n", _i, (uint8_t)byte,
			visible || byte == ' ' || byte == '\t');
	}
}

/* All that was found stays where it is until the request is gone, however often memory was taken.
 */
TEST_EACH(slices_last, STEPS)
{
	char text[LIMIT + 100];
	size_t n = (size_t)sprintf(text, "GET /some/target HTTP/1.0\r\n");
	struct slice names[50], values[50];
	unsigned k = 0;
	const uint8_t *p = (const uint8_t *)text, *end;

	for (int i = 0; i < 50; i++)
		n += (size_t)sprintf(text + n, "Name-%d: a rather long value %d\r\n", i, i);
	n += (size_t)sprintf(text + n, "\r\n");
	parse.empty = 0;
	h1_parse_begin(&parse, &arena, LIMIT);
	end = p + n;
	while (p < end) {
		const uint8_t *stop = (size_t)(end - p) < steps[_i] ? end : p + steps[_i];

		if (h1_parse_next(&parse, &p, stop) == H1_FIELD) {
			names[k] = parse.name;
			values[k++] = parse.value;
		}
	}
	ck_assert_uint_eq(k, 50);
	ck_assert(slice_eq(parse.method, SLICE("GET")) &&
		  slice_eq(parse.target, SLICE("/some/target")));
	for (unsigned i = 0; i < 50; i++) {
		char want[64];

		sprintf(want, "name-%u", i);
		ck_assert(slice_eq(names[i], slice_str(want)));
		sprintf(want, "a rather long value %u", i);
		ck_assert(slice_eq(values[i], slice_str(want)));
	}
}

TEST(memory_is_out)
{
	struct arena small;
	const uint8_t *p = (const uint8_t *)"GET / HTTP/1.0\r\n\r\n";

	arena_init(&small, NULL, 0, 10);
	parse.empty = 0;
	h1_parse_begin(&parse, &small, LIMIT);
	ck_assert_int_eq(h1_parse_next(&parse, &p, p + 18), H1_FAULT);
	ck_assert_ptr_eq(parse.err, ERR_NO_MEMORY);
	arena_reset(&small);
}

/* --- what fields say -------------------------------------------------------------------------- */

TEST(connection_options)
{
	static const struct {
		const char *fields;
		bool close, keep_alive, wants_continue;
	} cases[] = {
		{ "", false, false, false },
		{ "Connection: close\r\n", true, false, false },
		{ "Connection: Keep-Alive\r\n", false, true, false },
		{ "Connection: upgrade, CLOSE ,x\r\n", true, false, false },
		{ "Connection: x\r\nConnection: keep-alive\r\n", false, true, false },
		{ "Connection: closed\r\nKeep-Alive: close\r\n", false, false, false },
		{ "Expect: 100-Continue\r\n", false, false, true },
	};
	char text[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), GET "%s\r\n", cases[i].fields);
		feed(text, strlen(text), 1000);
		ck_assert_ptr_null(err);
		ck_assert_int_eq(head.close, cases[i].close);
		ck_assert_int_eq(head.keep_alive, cases[i].keep_alive);
		ck_assert_int_eq(head.wants_continue, cases[i].wants_continue);
	}
	/* RFC 9110, 10.1.1: not in HTTP/1.0. */
	snprintf(text, sizeof(text), "GET / HTTP/1.0\r\nExpect: 100-continue\r\nExpect: x\r\n\r\n");
	feed(text, strlen(text), 1000);
	ck_assert_ptr_null(err);
	ck_assert(!head.wants_continue);
}

static const struct {
	const char *name, *value;
	bool keep;
} fields_of_the_connection_rows[] = {
	{ "host", "1", false },
	{ "connection", "close, Keep-Alive", false },
	{ "connection", "close, x-one", true },
	{ "keep-alive", "1", false },
	{ "upgrade", "1", false },
	{ "proxy-connection", "1", false },
	{ "transfer-encoding", "1", false },
	{ "expect", "1", true },
	{ "content-length", "1", true },
	{ "accept", "1", true },
	{ "te", "1", true },
	{ "hose", "1", true },
	{ "x-proxy-connectio", "1", true },
};

TEST_ROWS(fields_of_the_connection, fields_of_the_connection_rows)
{
	struct h1_head h = { .length = BODY_UNKNOWN };
	bool keep;

	h1_head_field(&h, slice_str(fields_of_the_connection_rows[_i].name),
		slice_str(fields_of_the_connection_rows[_i].value), &keep);
	ck_assert_msg(keep == fields_of_the_connection_rows[_i].keep, "%s",
		fields_of_the_connection_rows[_i].name);
}

TEST(absolute_form)
{
	static const struct {
		const char *target;
		int rv;
		const char *scheme, *authority, *rest;
	} cases[] = {
		{ "/a", 0, NULL, NULL, NULL },
		{ "*", 0, NULL, NULL, NULL },
		{ "a:443", 0, NULL, NULL, NULL },
		{ "/x?http://a/b", 0, NULL, NULL, NULL },
		{ "http://a/b?c", 1, "http", "a", "/b?c" },
		{ "HTTPS://A.b:80/", 1, "https", "A.b:80", "/" },
		{ "http://a", 1, "http", "a", "" },
		{ "http://a?b", 1, "http", "a", "?b" },
		{ "http://[::1]:80/x", 1, "http", "[::1]:80", "/x" },
		{ "http:///x", -1, NULL, NULL, NULL },
		{ "http://u@a/x", -1, NULL, NULL, NULL },
		{ "http://a#b", -1, NULL, NULL, NULL },
		{ "ftp://a/x", -1, NULL, NULL, NULL },
		{ "://a/x", -1, NULL, NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct slice scheme, authority, rest;

		ck_assert_msg(h1_head_absolute(slice_str(cases[i].target), &scheme, &authority,
				      &rest) == cases[i].rv,
			"%s", cases[i].target);
		if (cases[i].rv <= 0)
			continue;
		ck_assert(slice_eq(scheme, slice_str(cases[i].scheme)));
		ck_assert(slice_eq(authority, slice_str(cases[i].authority)));
		ck_assert(slice_eq(rest, slice_str(cases[i].rest)));
	}
}
