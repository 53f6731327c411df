/*
 * check_response: responses of applications, whole and byte by byte: what is legal, and what two
 * readers could understand differently (RFC 9112, 6.3 and 11.1).
 */
#include "response_unit.h"
#include "unit_pure.h"

UNIT_SETUP(setup)
{
	arena_init(&arena, NULL, 0, 4 << 20);
}

UNIT_TEARDOWN(teardown)
{
	arena_reset(&arena);
	free(seen);
	seen = NULL;
}

static const struct response_to GET, HEAD = { .head = true }, UPGRADE = { .upgrade = true };

/* What comes of the bytes must not depend on how they come. */
static void expect_n(const char *bytes, size_t n, struct response_to to, const char *want)
{
	feed(bytes, n, to, n, true);
	ck_assert_str_eq(seen, want);
	feed(bytes, n, to, 1, true);
	ck_assert_str_eq(seen, want);
}

static void expect(const char *text, struct response_to to, const char *want)
{
	expect_n(text, strlen(text), to, want);
}

#define H       "HTTP/1.1 200 OK\r\n"
#define CHUNKED "transfer-encoding: chunked\r\n"

static const struct {
	const char *text, *want;
} answers[] = {
	/* the status line */
	{ H "content-length: 0\r\n\r\n", "[200 0]." },
	{ "HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n", "[200 0]." },
	{ "HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n", "[200 0]." },
	{ "HTTP/1.7 599 a b\t\xe4 c\r\ncontent-length: 0\r\n\r\n", "[599 0]." },
	{ "\r\n" H "\r\n", "!malformed status line" },
	{ "HTTP/1.1 200 OK\n\r\n", "!malformed status line" },
	{ "HTTP/1.1 200 O\rK\r\n\r\n", "!malformed status line" },
	{ "HTTP/1.1 200 O\177K\r\n\r\n", "!malformed status line" },
	{ "HTTP/1.1  200 OK\r\n\r\n", "!malformed status line" },
	{ "HTTP/1.1 2000 OK\r\n\r\n", "!malformed status line" },
	{ "HTTP/1.1 20 OK\r\n\r\n", "!malformed status line" },
	{ "HTTP/1.1 20\r\n\r\n", "!malformed status line" },
	{ "HTTP/1.1 2x0 OK\r\n\r\n", "!malformed status line" },
	{ "HTTP/1.1 +20 OK\r\n\r\n", "!malformed status line" },
	{ "HTTP/1.1 200\tOK\r\n\r\n", "!malformed status line" },
	{ "HTTP/11 200 OK\r\n\r\n", "!malformed status line" },
	{ "HTTP/2 200\r\n\r\n", "!malformed status line" },
	{ "http/1.1 200 OK\r\n\r\n", "!malformed status line" },
	{ "HTTP/2.0 200 OK\r\n\r\n", "!HTTP version not supported" },
	{ "HTTP/0.9 200 OK\r\n\r\n", "!HTTP version not supported" },
	{ "HTTP/1.1 099 OK\r\n\r\n", "!status out of range" },
	{ "HTTP/1.1 600 OK\r\n\r\n", "!status out of range" },

	/* fields */
	{ H "Content-Length: 0\r\nX-A:  b \r\nx-a:\r\n\r\n", "[200 0 x-a=b x-a=]." },
	{ H "content-length: 0\r\nserver: x\r\nhost: not-a host\r\nexpect: y\r\n\r\n",
		"[200 0 server=x host=not-a host expect=y]." },
	{ H "content-length: 0\r\nx-a: 1\r\nx-b: 2\r\nconnection: X-B, x-c\r\nkeep-alive: 1\r\n"
	    "proxy-connection: close\r\nte: trailers\r\ntrailer: x\r\nupgrade: h2c\r\nx-c: 3\r\n"
	    "connection: x-d\r\nx-d: 4\r\nx-e: 5\r\n\r\n",
		"[200 0 x-a=1 x-e=5]." },
	{ H "content-length: 0\r\nconnection: connection, x-a\r\nconnection: x-b\r\nx-a: 1\r\n"
	    "x-b: 2\r\nx-c: 3\r\n\r\n",
		"[200 0 x-c=3]." },
	{ H "x-a: 1\r\n b\r\n\r\n", "!malformed header line" },
	{ H "x-a : 1\r\n\r\n", "!malformed header line" },
	{ H "x-a\r\n\r\n", "!malformed header line" },
	{ H ": x\r\n\r\n", "!malformed header line" },
	{ H "x-a: 1\n\r\n", "!malformed header line" },
	{ H "x-a: 1\r\n\r.", "!malformed header line" },
	{ H "x-a: \1\r\n\r\n", "!malformed header line" },

	/* the length */
	{ H "content-length: 5\r\n\r\nhello", "[200 5]hello." },
	{ H "content-length: 05\r\n\r\nhello", "[200 5]hello." },
	{ H "\r\nhello", "[200]hello|" },
	{ H "\r\n", "[200]|" },
	{ H "content-length: 5, 5\r\n\r\n", "!duplicate or malformed content-length" },
	{ H "content-length: 5\r\ncontent-length: 5\r\n\r\n",
		"!duplicate or malformed content-length" },
	{ H "content-length: -1\r\n\r\n", "!duplicate or malformed content-length" },
	{ H "content-length: +1\r\n\r\n", "!duplicate or malformed content-length" },
	{ H "content-length: 0x1\r\n\r\n", "!duplicate or malformed content-length" },
	{ H "content-length:\r\n\r\n", "!duplicate or malformed content-length" },
	{ H "content-length: 9223372036854775808\r\n\r\n",
		"!duplicate or malformed content-length" },
	{ H "content-length: 5\r\n" CHUNKED "\r\n", "!content-length with transfer-encoding" },
	{ H CHUNKED "content-length: 5\r\n\r\n", "!content-length with transfer-encoding" },
	{ H "transfer-encoding: gzip, chunked\r\n\r\n", "!unknown transfer-encoding" },
	{ H "transfer-encoding: gzip\r\n\r\n", "!unknown transfer-encoding" },
	{ H "transfer-encoding:\r\n\r\n", "!transfer-encoding is not allowed" },
	{ H "transfer-encoding: chunked, chunked\r\n\r\n", "!transfer-encoding is not allowed" },
	{ H CHUNKED CHUNKED "\r\n", "!transfer-encoding is not allowed" },
	{ "HTTP/1.0 200 OK\r\n" CHUNKED "\r\n", "!transfer-encoding where none may be" },
	{ "HTTP/1.1 204 No Content\r\n" CHUNKED "\r\n", "!transfer-encoding where none may be" },
	{ "HTTP/1.1 103 Early Hints\r\n" CHUNKED "\r\n", "!transfer-encoding where none may be" },
	{ "HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n", "[204 0]." },
	{ "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", "[304 0]." },
	{ "HTTP/1.1 304 Not Modified\r\n" CHUNKED "\r\n", "[304 0]." },

	/* chunks */
	{ H "Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n6;a=\"b\"\r\n world\r\n0\r\n\r\n",
		"[200]hello world." },
	{ H CHUNKED "\r\n0\r\nX-T: 1\r\nx-u: 2\r\ncontent-length: 5\r\nupgrade: x\r\n\r\n",
		"[200]{ x-t=1 x-u=2 }." },
	{ H CHUNKED "connection: x-t\r\n\r\n0\r\nX-T: 1\r\n\r\n", "[200]." },
	{ H CHUNKED "\r\nx", "[200]!malformed chunk" },
	{ H CHUNKED "\r\n5\r\nhelloo", "[200]hello!malformed chunk" },
	{ H CHUNKED "\r\n5\nhello", "[200]!malformed chunk" },
	{ H CHUNKED "\r\n1111111111111111\r\n", "[200]!malformed chunk" },
	{ H CHUNKED "\r\n0\r\nx-t : 1\r\n\r\n", "[200]!malformed header line" },
	{ H CHUNKED "\r\n0\r\n\r\r", "[200]!malformed header line" },

	/* interim heads */
	{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: a\r\nlink: b\r\n\r\n" H
	  "content-length: 1\r\nx-a: b\r\n\r\nx",
		"[100][103 link=a link=b][200 1 x-a=b]x." },
	{ "HTTP/1.1 103\r\nconnection: close, x-a\r\ncontent-length: 5\r\n\r\n" H
	  "content-length: 0\r\nx-a: 1\r\n\r\n",
		"[103][200 0 x-a=1]." },
	{ "HTTP/1.1 100\r\n\r\n\r\n", "[100]!malformed status line" },
	{ "HTTP/1.1 101\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
		"!101 that was not asked for" },

	/* the end of the connection */
	{ "HTTP/1.1 2", "!connection ended in the head" },
	{ H "x-a", "!connection ended in the head" },
	{ "HTTP/1.1 100 Continue\r\n\r\n", "[100]!connection ended in the head" },
	{ H "content-length: 5\r\n\r\n", "[200 5]!connection ended in the content" },
	{ H "content-length: 5\r\n\r\nhell", "[200 5]hell!connection ended in the content" },
	{ H CHUNKED "\r\n5\r\nhello\r\n", "[200]hello!connection ended in the content" },
	{ H CHUNKED "\r\n0\r\nx-t: 1\r\n", "[200]!connection ended in the content" },
};

TEST_ROWS(answers_to_get, answers)
{
	expect(answers[_i].text, GET, answers[_i].want);
}

static const struct {
	const char *text, *want;
} heads[] = {
	{ H "content-length: 5\r\n\r\n", "[200 5]." },
	{ H CHUNKED "\r\n", "[200]." },
	{ H "\r\n", "[200]." },
	{ "HTTP/1.1 204 No Content\r\n\r\n", "[204 0]." },
	{ "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", "[304 5]." },
	{ H "content-length: 5\r\n" CHUNKED "\r\n", "!content-length with transfer-encoding" },
};

TEST_ROWS(answers_to_head, heads)
{
	expect(heads[_i].text, HEAD, heads[_i].want);
}

static const struct {
	const char *text, *want;
} switches[] = {
	{ "HTTP/1.1 101\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nx-a: b\r\n\r\n"
	  "\1HTTP/1.1 200 OK\r\n",
		"[101 to websocket x-a=b]\1HTTP/1.1 200 OK\r\n|" },
	{ "HTTP/1.1 100\r\n\r\nHTTP/1.1 101\r\nconnection: upgrade\r\nupgrade: x\r\n"
	  "content-length: 1\r\n\r\n",
		"[100][101 to x]|" },
	{ H "content-length: 1\r\nupgrade: websocket\r\n\r\nx", "[200 1]x." },
	{ "HTTP/1.1 101\r\nupgrade: websocket\r\n\r\n", "!101 without upgrade" },
	{ "HTTP/1.1 101\r\nconnection: upgrade\r\n\r\n", "!101 without upgrade" },
	{ "HTTP/1.1 101\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n", "!101 without upgrade" },
	{ "HTTP/1.1 101\r\nconnection: upgrade\r\nupgrade: websocket\r\n" CHUNKED "\r\n",
		"!transfer-encoding where none may be" },
};

TEST_ROWS(answers_to_upgrade, switches)
{
	expect(switches[_i].text, UPGRADE, switches[_i].want);
}

/* --- the connection goes on, or not ----------------------------------------------------------- */

TEST(keep)
{
	static const struct {
		const char *connection;
		bool in_10, in_11;
	} options[] = {
		{ "", false, true },
		{ "connection: close\r\n", false, false },
		{ "connection: Keep-Alive\r\n", true, true },
		{ "connection: keep-alive\r\nconnection: close\r\n", false, false },
		{ "connection: x, close, keep-alive\r\n", false, false },
		{ "proxy-connection: close\r\nkeep-alive: 5\r\n", false, true },
	};
	static const struct {
		const char *status, *framing;
		bool in_10; /* it may come in HTTP/1.0 */
		bool ends;  /* with the connection */
		const char *want;
	} contents[] = {
		{ "200", "content-length: 1\r\n\r\nx", true, false, "[200 1]x" },
		{ "200", "content-length: 0\r\n\r\n", true, false, "[200 0]" },
		{ "204", "\r\n", true, false, "[204 0]" },
		{ "304", "\r\n", true, false, "[304 0]" },
		{ "200", CHUNKED "\r\n1\r\nx\r\n0\r\n\r\n", false, false, "[200]x" },
		{ "200", "\r\nx", true, true, "[200]x" },
	};

	for (int minor = 0; minor < 2; minor++)
		for (size_t o = 0; o < sizeof(options) / sizeof(options[0]); o++)
			for (size_t c = 0; c < sizeof(contents) / sizeof(contents[0]); c++) {
				bool keep = minor ? options[o].in_11 : options[o].in_10;
				char text[256], want[64];

				if (minor == 0 && !contents[c].in_10)
					continue;
				snprintf(text, sizeof(text), "HTTP/1.%d %s\r\n%s%s", minor,
					contents[c].status, options[o].connection,
					contents[c].framing);
				snprintf(want, sizeof(want), "%s%s", contents[c].want,
					keep && !contents[c].ends ? "." : "|");
				expect(text, GET, want);
			}
}

/* Bytes behind the end belong to another response. */
TEST_EACH(bytes_behind, 2)
{
	static const struct {
		const char *text;
		struct response_to to;
		const char *want;
	} cases[] = {
		{ H "content-length: 2\r\n\r\nab", { 0 }, "[200 2]ab." },
		{ H "content-length: 0\r\n\r\n", { 0 }, "[200 0]." },
		{ H CHUNKED "\r\n1\r\na\r\n0\r\n\r\n", { 0 }, "[200]a." },
		{ H CHUNKED "\r\n0\r\nx: y\r\n\r\n", { 0 }, "[200]{ x=y }." },
		{ "HTTP/1.1 204 x\r\n\r\n", { 0 }, "[204 0]." },
		{ "HTTP/1.1 304 x\r\n\r\n", { 0 }, "[304 0]." },
		{ H "content-length: 2\r\n\r\n", { .head = true }, "[200 2]." },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[256];
		int n = snprintf(text, sizeof(text), "%s" H, cases[i].text);

		feed(text, (size_t)n, cases[i].to, _i == 0 ? (size_t)n : 1, false);
		ck_assert_str_eq(seen, cases[i].want);
		ck_assert_uint_eq(taken, strlen(cases[i].text));
	}
}

TEST(nothing_came)
{
	response_begin(&response, &arena, false, false);
	ck_assert_int_eq(response_eof(&response), RESPONSE_FAULT);
	ck_assert(!response.seen);
}

/* --- limits ----------------------------------------------------------------------------------- */

static char large[3 * RESPONSE_HEAD_MAX];

static size_t repeat(size_t at, const char *text, size_t times)
{
	size_t n = strlen(text);

	for (; times > 0; times--, at += n)
		memcpy(large + at, text, n);
	ck_assert_uint_lt(at, sizeof(large));
	large[at] = '\0';
	return at;
}

TEST_EACH(many_fields, 2)
{
	size_t n = repeat(0, H "content-length: 0\r\n", 1);
	unsigned cookies = 0;

	for (int i = 0; i < 200; i++) {
		char line[64];

		snprintf(line, sizeof(line), i % 20 < 3 ? "Set-Cookie: c%d=v\r\n" : "X-%d: v%d\r\n",
			i, i);
		n = repeat(n, line, 1);
	}
	n = repeat(n, "\r\n", 1);
	feed(large, n, GET, _i == 0 ? n : 1, false);
	ck_assert_int_eq(seen[nseen - 1], '.');
	ck_assert_uint_eq(response.nfields, 200);
	memset(large, 'x', n); /* the values are copies */
	for (int i = 0; i < 200; i++) {
		const struct field *f = &response.fields[i];
		char name[32], value[32];

		if (i % 20 < 3) {
			cookies++;
			snprintf(name, sizeof(name), "set-cookie");
			snprintf(value, sizeof(value), "c%d=v", i);
		} else {
			snprintf(name, sizeof(name), "x-%d", i);
			snprintf(value, sizeof(value), "v%d", i);
		}
		ck_assert(slice_eq(f->name, slice_str(name)));
		ck_assert(slice_eq(f->value, slice_str(value)));
	}
	ck_assert_uint_eq(cookies, 30);
}

/* The limit is one of the status line, and one of the section behind it. */
TEST_EACH(head_at_the_limit, 4)
{
	size_t over = (size_t)_i % 2, n;

	if (_i < 2) {
		n = repeat(0, "HTTP/1.1 204 ", 1);
		n = repeat(n, "r", RESPONSE_HEAD_MAX - 13 - 2 + over);
		n = repeat(n, "\r\n\r\n", 1);
	} else {
		n = repeat(0, "HTTP/1.1 204\r\nx: ", 1);
		n = repeat(n, "v", RESPONSE_HEAD_MAX - 3 - 4 + over);
		n = repeat(n, "\r\n\r\n", 1);
	}
	for (size_t step = 1; step <= n; step += n - 1) {
		arena_reset(&arena);
		feed(large, n, GET, step, false);
		ck_assert_str_eq(over ? seen : seen + nseen - 1,
			over ? "!header section exceeds the limit" : ".");
	}
}

TEST(interims_at_the_limit)
{
	size_t n = repeat(0, "HTTP/1.1 103 x\r\nlink: a\r\n\r\n", RESPONSE_INTERIMS_MAX);

	repeat(n, "HTTP/1.1 204 x\r\n\r\n", 1);
	feed(large, strlen(large), GET, 100, false);
	ck_assert_ptr_nonnull(strstr(seen, "[204 0]."));
	n = repeat(n, "HTTP/1.1 102 x\r\n\r\n", 1);
	feed(large, n, GET, n, false);
	ck_assert_str_eq(strchr(seen, '!'), "!too many interim responses");
}

TEST(trailers_at_the_limit)
{
	size_t head = repeat(0, H CHUNKED "\r\n0\r\n", 1), n;

	n = repeat(head, "x: y\r\n", TRAILERS_MAX);
	repeat(n, "\r\n", 1);
	feed(large, strlen(large), GET, 7, false);
	ck_assert_uint_eq(response.trailers->n, TRAILERS_MAX);
	n = repeat(n, "x: y\r\n", 1);
	feed(large, n, GET, n, false);
	ck_assert_str_eq(seen, "[200]!too many trailers");
}

TEST(names_of_connection_at_the_limit)
{
	size_t n = repeat(0, H "connection: x", 1);

	n = repeat(n, ",x", 1000);
	repeat(n, "\r\n\r\n", 1);
	feed(large, strlen(large), GET, 100, false);
	ck_assert_str_eq(seen, "!connection names too many headers");
}

TEST(memory_is_out)
{
	size_t n = repeat(0, H, 1);

	n = repeat(n, "x: y\r\n", 4000);
	arena_reset(&arena);
	arena_init(&arena, NULL, 0, 30000);
	feed(large, n, GET, n, false);
	ck_assert_str_eq(seen, "!out of memory");
}
