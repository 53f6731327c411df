/*
 * req_unit: one request over a stream that only takes notes, for the tests of what surrounds it:
 * its environment, its connection, and a site that a test fills in.
 */
#pragma once

#include "base/counters.h"
#include "request/handler_call.h"
#include "request/req_body.h"
#include "request/req_field.h"
#include "tools/route_build.h"
#include "unit.h"

static struct http_env env;
static struct http_conn conn;
static struct route_build routes;
static struct h2d_req req;
static struct location locations[2];
static struct site site_v[2];
static struct site_name site_names[1];
static struct sites sites;
static int replies, starts, wanted;
static size_t consumed;

static void on_reply(struct h2d_req *r)
{
	ck_assert_ptr_eq(r, &req);
	replies++;
}
static void on_resume(struct h2d_req *r)
{
}
static void on_consume(struct h2d_req *r, size_t n)
{
	ck_assert_ptr_eq(r, &req);
	consumed += n;
	wanted += n == 0;
}
/* The last one, as text. */
static char informed[200];
static int informs;
static void on_interim(struct h2d_req *r, int status, const struct field *fields, unsigned n)
{
	size_t at = (size_t)snprintf(informed, sizeof(informed), "%d", status);

	ck_assert_ptr_eq(r, &req);
	for (unsigned i = 0; i < n && at < sizeof(informed); i++)
		at += (size_t)snprintf(informed + at, sizeof(informed) - at, " %.*s: %.*s",
			SLICE_ARG(fields[i].name), SLICE_ARG(fields[i].value));
	informs++;
}
static int cuts;
static void on_cut(struct h2d_req *r)
{
	ck_assert_ptr_eq(r, &req);
	cuts++;
}
static const struct stream_ops ops = {
	.reply = on_reply,
	.resume = on_resume,
	.consume = on_consume,
	.interim = on_interim,
	.cut = on_cut,
};

static void fallback_start(struct h2d_req *r, void *state)
{
	starts++;
	if (!slice_eq(r->path, SLICE("/later")))
		h2d_reply_bytes(r, 200, "text/plain", "ok", 2);
}
static const struct h2d_handler fallback = { .name = "fallback", .start = fallback_start };

/* Takes a body into a buffer and answers at its end; "early" in it has it answer at once. */
static char uploaded[1000];
static size_t uploaded_n;

static void upload_start(struct h2d_req *r, void *state)
{
	starts++;
}
static void upload_body(struct h2d_req *r, void *state, const char *data, size_t n)
{
	ck_assert_uint_le(uploaded_n + n, sizeof(uploaded));
	memcpy(uploaded + uploaded_n, data, n);
	uploaded_n += n;
	h2d_consume(r, n);
	if (n >= 5 && memcmp(data, "early", 5) == 0)
		h2d_reply_error(r, 409);
}
static void upload_end(struct h2d_req *r, void *state)
{
	h2d_reply_bytes(r, 201, NULL, "", 0);
}
static const struct h2d_handler upload = {
	.name = "upload", .start = upload_start, .body = upload_body, .end = upload_end
};

static const struct route_row rows[] = {
	{ "routes.def", 1, "POST", "/p/upload", "upload", "BODY_STREAM" },
};

/*
 * site_v[0] is the default; site_v[1] answers "other.example". places[0] is site_v[0]'s "/p", with
 * the one route "POST /p/upload" in it.
 */
UNIT_SETUP(req_setup)
{
	ck_assert_int_eq(route_build(&routes, rows, 1, stderr), 0);
	routes.routes[0].handler = &upload;
	memset(locations, 0, sizeof(locations));
	memset(site_v, 0, sizeof(site_v));
	locations[0].prefix = SLICE("/p");
	for (int i = 0; i < 2; i++)
		site_v[i].all.prefix = SLICE("/");
	site_v[0].is_default = site_v[0].guarded = true;
	site_v[0].locations = locations;
	site_v[0].nlocations = 1;
	site_names[0] = (struct site_name){ SLICE("other.example"), 1 };
	sites = (struct sites){ .v = site_v, .n = 2, .names = site_names, .nnames = 1 };
	conn = (struct http_conn){ 0 };
	ck_assert(addr_parse_host(AF_INET, SLICE("192.0.2.1"), &conn.peer));
	env = (struct http_env){ .sites = &sites,
		.conf.routes = &routes.table,
		.conf.fallback = &fallback,
		.date = SLICE("Sun, 06 Nov 1994 08:49:37 GMT"),
		.conf.server = SLICE("h2d"),
		.conf.header_fields = 128,
		.conf.header_size = 4000 };
	replies = starts = wanted = informs = cuts = 0;
	consumed = uploaded_n = 0;
	memset(&req, 0xa5, sizeof(req)); /* memory that was something else before */
	req_init(&req, &env, &conn, &ops);
	req.method_text = SLICE("GET");
	req.authority = SLICE("example.com");
	req.target = SLICE("/p/a");
}

static void req_teardown(void)
{
	if (req.state != REQ_GONE)
		req_fini(&req);
	ck_assert_int_eq(counters->requests_live, 0);
	route_build_free(&routes);
}

/* Starts the request, which is answered at once. */
static inline void req_answers(int status)
{
	req_start(&req);
	ck_assert_int_eq(req.reply.status, status);
}

/* The value of the one reply field of that name; n 0 if there is none, a failure if there are
 * several. */
static inline struct slice reply_field(const char *name)
{
	const struct field *fields = req.reply.fields;
	unsigned n = req.reply.nfields;
	const struct field *f = field_find(fields, n, slice_str(name));

	if (f == NULL)
		return (struct slice){ 0 };
	ck_assert_msg(field_find(f + 1, n - (unsigned)(f + 1 - fields), f->name) == NULL,
		"several fields \"%s\"", name);
	return f->value;
}

static inline unsigned reply_count(const char *name)
{
	unsigned n = 0;

	for (unsigned i = 0; i < req.reply.nfields; i++)
		n += slice_eq(req.reply.fields[i].name, slice_str(name));
	return n;
}

#define ck_assert_field(name, value) \
	ck_assert_msg(slice_eq(reply_field(name), slice_str(value)), "%s: \"%.*s\"", name, \
		SLICE_ARG(reply_field(name)))
