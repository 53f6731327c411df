/*
 * check_h1_cuts: odd first lines, whole, cut in two at every byte, and byte by byte: the answer
 * does not depend on how they come.
 */
#include <string.h>

#include "proto/h1.h"
#include "proto_unit.h"
#include "unit.h"

enum { LIMIT = 60 }; /* bytes of a request line */

static char got[4096];
static size_t ngot;

static void setup(void)
{
	static const struct route_row rows[] = { { "rows", 1, "GET", "/hello", "hello",
		"BODY_NONE" } };
	static const struct h2d_handler *const handlers[] = { &hello };

	proto_unit_init(rows, 1, handlers, &echo);
	env.conf.header_size = LIMIT;
}

static void take(void *ctx, const void *data, size_t n)
{
	(void)ctx;
	ck_assert_uint_lt(ngot + n, sizeof(got));
	memcpy(got + ngot, data, n);
	ngot += n;
}

/* One piece, and what was not taken of it again behind the answer before. */
static void say(const char *text, size_t n)
{
	while (n > 0 && !proto_over(server)) {
		size_t taken = n;
		char *piece = malloc(n);

		memcpy(piece, text, n);
		ck_assert_ptr_null(server->ops->input(server, piece, &taken, 1000));
		free(piece);
		proto_unit_pull(server, &out, 1 << 18, take, NULL);
		text += taken;
		n -= taken;
	}
}

/* The answer to a first line that comes in pieces: a first one, and then step by step. */
static const char *answer(const char *text, size_t first, size_t step)
{
	size_t n = strlen(text);

	ngot = 0;
	proto_unit_open(h1_open);
	for (size_t at = 0, k; at < n && !proto_over(server); at += k) {
		size_t want = at == 0 ? first : step;

		k = n - at < want ? n - at : want;
		say(text + at, k);
	}
	got[ngot] = '\0';
	ck_assert_msg(proto_over(server), "%s", text);
	server->ops->close(&server);
	outq_clear(&out);
	return got;
}

static const struct {
	const char *text, *status; /* NULL: the connection ends without an answer */
} lines[] = {
	/* another protocol, or a preface gone wrong */
	{ "HELO a there\r\n", NULL },
	{ "PRI * HTTX/2.0\r\n\r\nSM\r\n\r\n", NULL },
	{ "INVALID CONNECTION PREFACE\r\n\r\n", NULL },
	{ "CONNECT a:4 a:443 HTTP/1.1\r\nHost: a\r\n\n\x01", NULL },
	/* HTTP is named, or there is no third word */
	{ "HELO a \r\n\r\n", "400" },
	{ "HELO a \nGET / HTTP/1.1\r\n\r\n", "400" },
	{ "HELO a  HTTP/1.1\r\n\r\n", "400" },
	{ "HELO a HTTP HTTP/1.0\r\n", "400" },
	{ "Extra lineGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400" },
	{ "HELO a HTTP/X HTT\r\n", "400" },
	{ "HELO a HTTP/1.1 \r\n\r\n", "400" },
	{ "HELO a HTTP/1.x\r\n\r\n", "400" },
	{ "HELO a HTTP/1.1\n", "400" },
	/* a word of HTTP, or less than two words */
	{ "GET / b HTTP/1.1\r\n\r\n", "400" },
	{ "GET / \r\n\r\n", "400" },
	{ "GET  / HTTP/1.1\r\n\r\n", "400" },
	{ "HELO  HTTP/1.1\r\n\r\n", "400" },
	{ "HELO /a there HTTP/1.1\r\n", "400" },
	{ "HELO a\r\n", "400" },
	{ "\rG", "400" },
	{ "HELO\r\n", "400" },
	{ "\rHELO a b\r\n", "400" },
	{ " HELO a b\r\n", "400" },
	{ "\x16\x03\x01", "400" },
	{ "HELO a HTTP/0.9\r\n", "505" },
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\rX", "505" },
	{ "HELO /23456789/123456789/123456789/123456789/123456789/123456789 HTTP/1.1\r\n", "414" },
	{ "HELO a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "501" },
};
enum { LINES = sizeof(lines) / sizeof(lines[0]) };

TEST_EACH(cuts, LINES)
{
	const char *text = lines[_i].text, *status = lines[_i].status;
	static char whole[sizeof(got)];

	strcpy(whole, answer(text, SIZE_MAX, 1));
	if (status == NULL)
		ck_assert_str_eq(whole, "");
	else
		ck_assert_msg(
			strncmp(whole, "HTTP/1.1 ", 9) == 0 && strncmp(whole + 9, status, 3) == 0,
			"%s: %s", text, whole);
	for (size_t first = 1; first < strlen(text); first++) {
		ck_assert_str_eq(answer(text, first, SIZE_MAX), whole);
		ck_assert_str_eq(answer(text, first, 1), whole);
	}
}

/* A later line of the connection is answered. */
TEST(second_request)
{
	static const char text[] = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\nHELO a b\r\n";

	ck_assert_ptr_nonnull(strstr(answer(text, SIZE_MAX, 1), "HTTP/1.1 400 "));
	ck_assert_ptr_nonnull(strstr(answer(text, 1, 1), "HTTP/1.1 400 "));
}

UNIT_FIXTURE(setup, proto_unit_fini)

UNIT_MAIN("h1_cuts")
