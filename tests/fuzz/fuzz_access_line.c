/*
 * fuzz_access_line: a request of any bytes, one line of input for each of its pieces, written down
 * in each format: one line each, without control characters, whose quotes are those of the format.
 */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "driver.h"
#include "server/access_logs.h"

static struct slice next_piece(struct slice *rest)
{
	struct slice piece;

	slice_cut(rest, '\n', &piece);
	return piece;
}

/* Quotes that no backslash stands before. */
static unsigned count_quotes(const char *p, size_t n)
{
	unsigned quotes = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\\')
			i++;
		else
			quotes += p[i] == '"';
	}
	return quotes;
}

static void look_at(enum access_format format, const char *p, size_t n)
{
	H2D_ASSERT(n > 0 && n <= ACCESS_LINE_MAX && p[n - 1] == '\n');
	for (size_t i = 0; i + 1 < n; i++)
		H2D_ASSERT((uint8_t)p[i] >= ' ' && p[i] != 0x7f);
	if (format == ACCESS_JSON)
		H2D_ASSERT(p[0] == '{' && p[n - 2] == '}' && count_quotes(p, n) % 2 == 0);
	if (format == ACCESS_COMBINED || format == ACCESS_COMBINED_VHOST)
		H2D_ASSERT(count_quotes(p, n) == 6);
}

/* As OpenSSL writes it; NULL: the client showed no certificate. */
static const char *subject_of(struct slice s)
{
	static char text[4096];

	if (s.n == 0)
		return NULL;
	snprintf(text, sizeof(text), "%.*s", (int)s.n, s.p);
	return text;
}

static void fill(
	struct h2d_req *req, struct http_conn *conn, struct field *fields, struct slice rest)
{
	req->method_text = next_piece(&rest);
	req->target = next_piece(&rest);
	req->scheme = next_piece(&rest);
	req->authority = next_piece(&rest);
	req->user = next_piece(&rest);
	req->id = next_piece(&rest);
	conn->client_subject = subject_of(next_piece(&rest));
	fields[0] = (struct field){ SLICE("user-agent"), next_piece(&rest) };
	fields[1] = (struct field){ SLICE("referer"), next_piece(&rest) };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct route_table routes;
	static char text[ACCESS_LINE_MAX];
	struct http_env env = { .conf.routes = &routes, .conf.request_ids = true };
	struct site site = { .name = SLICE("www.example.com") };
	struct http_conn conn = { .port = 8443 };
	struct field fields[2];
	struct h2d_req req = { .conn = &conn, .site = &site, .env = &env, .complete = true };
	struct access_line line = { 0 };

	clock_set(5000000, (struct timespec){ .tv_sec = 784111777 });
	addr_parse_host(AF_INET, SLICE("192.0.2.7"), &conn.peer);
	req.fields = fields;
	req.nfields = 2;
	req.protocol = SLICE("HTTP/2.0");
	req.reply.status = 200;
	fill(&req, &conn, fields, slice_of((const char *)data, size));
	for (enum access_format f = ACCESS_COMBINED; f <= ACCESS_SHORT; f++)
		look_at(f, text, access_line(&line, f, &req, text));
	return 0;
}
