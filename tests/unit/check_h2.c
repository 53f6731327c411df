/*
 * check_h2: the h2 protocol against a nghttp2 client in the same process: no socket, no clock.
 * Bytes go over whole and one at a time.
 */
#include <nghttp2/nghttp2.h>

#include "proto/h2.h"
#include "proto_unit.h"
#include "states_unit.h"
#include "unit.h"

enum { MAX_STREAMS = 512 };

static const struct err *last_err;

static nghttp2_session *client;
static struct file_reply {
	int status;
	size_t len;
	char body[4096];
	bool closed;
	uint32_t code;
} answers[MAX_STREAMS];
static int32_t goaway_ids[8];
static uint32_t goaway_codes[8];
static unsigned goaways, goaways_at_ping;
static size_t upload_left;
static unsigned long told; /* the last upload-offset */

/* --- handlers --------------------------------------------------------------------------------- */

/* Its head is too long: in what a handler adds to 200 or to 308, or in what is not the request's.
 * Or it is as long as three frames. */
enum { THREE_FRAMES = 40000 };
static size_t long_value; /* what came of it */
static void long_start(struct h2d_req *req, void *state)
{
	static char value[66000];
	const char *query = h2d_req_query(req, NULL);

	memset(value, 'x', sizeof(value) - 1);
	value[query[0] == 'f' ? THREE_FRAMES : sizeof(value) - 1] = '\0';
	if (query[0] == 'c')
		reply_add(req, SLICE("x-test"), slice_of(value, sizeof(value) - 1));
	else
		ck_assert_int_eq(h2d_reply_header(req, "x-test", value), 0);
	h2d_reply_bytes(req, query[0] == 'r' ? 308 : 200, "text/plain", "hello", 5);
}
static const struct h2d_handler long_head = { .name = "long_head", .start = long_start };

static const struct h2d_handler admin = {
	.name = "admin", .scope = H2D_ON_ADMIN, .start = hello_start
};

static const struct route_row rows[] = {
	{ "rows", 1, "GET", "/hello", "hello", "BODY_NONE" },
	{ "rows", 2, "GET", "/stream", "stream", "BODY_NONE" },
	{ "rows", 3, "POST", "/upload", "upload", "BODY_STREAM" },
	{ "rows", 4, "GET", "/later", "later", "BODY_NONE" },
	{ "rows", 5, "GET", "/admin", "admin", "BODY_NONE" },
	{ "rows", 6, "GET", "/long", "long_head", "BODY_NONE" },
};
static const struct h2d_handler *const handlers[] = { &hello, &stream, &upload, &later, &admin,
	&long_head };

static void nothing_there(struct h2d_req *req, void *state)
{
	h2d_reply_error(req, 404);
}
static const struct h2d_handler fallback = { .name = "fallback", .start = nothing_there };

/* --- plumbing --------------------------------------------------------------------------------- */

static int on_header(nghttp2_session *s, const nghttp2_frame *f, const uint8_t *name, size_t nlen,
	const uint8_t *value, size_t vlen, uint8_t flags, void *user)
{
	if (nlen == 6 && memcmp(name, "x-test", 6) == 0)
		long_value = vlen;
	if (nlen == 7 && memcmp(name, ":status", 7) == 0)
		answers[f->hd.stream_id].status = atoi((const char *)value);
	if (nlen == 13 && memcmp(name, "upload-offset", 13) == 0)
		told = strtoul((const char *)value, NULL, 10);
	return 0;
}

static int on_chunk(
	nghttp2_session *s, uint8_t flags, int32_t id, const uint8_t *data, size_t len, void *user)
{
	struct file_reply *a = &answers[id];

	ck_assert_uint_le(a->len + len, sizeof(a->body));
	memcpy(a->body + a->len, data, len);
	a->len += len;
	return 0;
}

static int on_close(nghttp2_session *s, int32_t id, uint32_t code, void *user)
{
	answers[id].closed = true;
	answers[id].code = code;
	return 0;
}

static int on_frame(nghttp2_session *s, const nghttp2_frame *f, void *user)
{
	if (f->hd.type == NGHTTP2_GOAWAY) {
		goaway_ids[goaways] = f->goaway.last_stream_id;
		goaway_codes[goaways++] = f->goaway.error_code;
	}
	if (f->hd.type == NGHTTP2_PING && !(f->hd.flags & NGHTTP2_FLAG_ACK))
		goaways_at_ping = goaways;
	return 0;
}

UNIT_SETUP(setup)
{
	nghttp2_session_callbacks *cb;

	proto_unit_init(rows, 6, handlers, &fallback);
	proto_unit_open(h2_open);
	nghttp2_session_callbacks_new(&cb);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_chunk);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	ck_assert_int_eq(nghttp2_session_client_new(&client, cb, NULL), 0);
	nghttp2_session_callbacks_del(cb);
	nghttp2_submit_settings(client, 0, NULL, 0);
}

UNIT_TEARDOWN(teardown)
{
	nghttp2_session_del(client);
	proto_unit_fini();
}

/* Bytes to the server, step at a time. */
static void to_server(const uint8_t *p, size_t n, size_t step)
{
	for (size_t i = 0, k; i < n && last_err == NULL; i += k) {
		k = n - i < step ? n - i : step;
		last_err = server->ops->input(server, p + i, &k, 1000);
		if (k < n - i && k < step)
			ck_assert_int_ge(server->ops->output(server, &out, SIZE_MAX), 0);
	}
}

static void to_client(void *ctx, const void *data, size_t n)
{
	nghttp2_session_mem_recv(client, data, n);
}

/* Moves bytes both ways until neither side has any. limit: of one output(). */
static void exchange(size_t step, size_t limit)
{
	bool moved = true;

	while (moved) {
		const uint8_t *p;
		ssize_t n;

		moved = false;
		while ((n = nghttp2_session_mem_send(client, &p)) > 0) {
			to_server(p, (size_t)n, step);
			moved = true;
		}
		moved |= proto_unit_pull(server, &out, limit, to_client, NULL);
	}
}

static nghttp2_nv nv(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
		strlen(value), NGHTTP2_NV_FLAG_NONE };
}

static ssize_t read_upload(nghttp2_session *s, int32_t id, uint8_t *buf, size_t length,
	uint32_t *flags, nghttp2_data_source *source, void *user)
{
	size_t n = length < upload_left ? length : upload_left;

	if (source->ptr != NULL) /* never ends */
		return NGHTTP2_ERR_DEFERRED;
	memset(buf, 'u', n);
	upload_left -= n;
	if (upload_left == 0)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

static int32_t ask(const char *method, const char *path, const nghttp2_data_provider *body)
{
	nghttp2_nv head[] = { nv(":method", method), nv(":scheme", "http"), nv(":path", path),
		nv(":authority", "localhost") };

	return nghttp2_submit_request(client, NULL, head, 4, body, NULL);
}

/* --- cases ------------------------------------------------------------------------------------ */

static const size_t steps[] = { SIZE_MAX / 2, 1, 7 };
static const size_t limits[] = { 1 << 18, 1, 100 };

static void settle(void)
{
	exchange(steps[0], limits[0]);
}

static int32_t asked(const char *method, const char *path, const nghttp2_data_provider *body)
{
	int32_t id = ask(method, path, body);

	settle();
	return id;
}

static int32_t send_head(const nghttp2_nv *head, size_t n)
{
	int32_t id = nghttp2_submit_request(client, NULL, head, n, NULL, NULL);

	settle();
	return id;
}

static void is_served(void)
{
	ck_assert_int_eq(answers[asked("GET", "/hello", NULL)].status, 200);
}

/* The handler that was held answers on id. */
static void reply_late(int32_t id)
{
	h2d_reply_bytes(held, 200, NULL, "x", 1);
	settle();
	ck_assert_int_eq(answers[id].status, 200);
}

TEST_EACH(one_request, 3)
{
	int32_t id = ask("GET", "/hello?x=1", NULL);

	exchange(steps[_i], limits[_i]);
	ck_assert_int_eq(answers[id].status, 200);
	ck_assert_uint_eq(answers[id].len, 5);
	ck_assert(memcmp(answers[id].body, "hello", 5) == 0);
	ck_assert(answers[id].closed && answers[id].code == 0);
	ck_assert_int_eq(gone, 1);
	ck_assert_int_eq(server->ops->waits(server), PROTO_IDLE);
}

static const struct {
	const char *method, *path;
	int status;
} statuses_rows[] = {
	{ "HEAD", "/hello", 200 },
	{ "POST", "/hello", 405 },
	{ "BREW", "/hello", 501 },
	{ "CONNECTED", "/", 501 },
	{ "GET", "/a/../../b", 400 },
	{ "GET", "/%00", 400 },
	{ "GET", "/a%2fb", 404 },
	{ "GET", "/none", 404 },
	{ "GET", "/admin", 404 },
};

TEST_ROWS(statuses, statuses_rows)
{
	int32_t id = asked(statuses_rows[_i].method, statuses_rows[_i].path, NULL);

	ck_assert_msg(answers[id].status == statuses_rows[_i].status, "%s %s: %d",
		statuses_rows[_i].method, statuses_rows[_i].path, answers[id].status);
	ck_assert(answers[id].closed && answers[id].code == 0);
	ck_assert_msg((answers[id].len == 0) == (_i == 0), "%s", statuses_rows[_i].path);
}

TEST(admin_listener)
{
	int32_t id;

	http_conn.admin = true;
	id = asked("GET", "/admin", NULL);
	ck_assert_int_eq(answers[id].status, 200);
	id = asked("GET", "/hello", NULL);
	ck_assert_int_eq(answers[id].status, 404);
}

TEST_EACH(stream_that_waits, 3)
{
	int32_t id = ask("GET", "/stream", NULL);

	exchange(steps[_i], limits[_i]);
	ck_assert_int_eq(answers[id].status, 200);
	ck_assert_uint_eq(answers[id].len, 17);
	ck_assert(!answers[id].closed);
	ck_assert_int_eq(server->ops->waits(server), PROTO_BUSY);
	wakes = 0;
	h2d_resume(held);
	ck_assert_uint_eq(wakes, 1);
	exchange(steps[_i], limits[_i]);
	ck_assert_uint_eq(answers[id].len, 34);
	ck_assert(answers[id].closed && answers[id].code == 0);
}

/* Of a long upload there are many; they cost its request nothing. */
TEST(interim_responses)
{
	int32_t id = ask("GET", "/later", NULL);
	char *cur, *end;

	settle();
	cur = held->arena.cur, end = held->arena.end;
	for (unsigned long i = 1; i <= 1000; i++) {
		char text[24];
		struct field f = { SLICE("upload-offset"), { 0 } };

		f.value = slice_of(text, (size_t)snprintf(text, sizeof(text), "%lu", i));
		held->stream->interim(held, 104, &f, 1);
		memset(text, 'x', sizeof(text));
		settle();
		ck_assert_int_eq(answers[id].status, 104);
		ck_assert_uint_eq(told, i);
	}
	ck_assert_ptr_eq(held->arena.cur, cur);
	ck_assert_ptr_eq(held->arena.end, end);
	h2d_reply_bytes(held, 200, NULL, "done", 4);
	settle();
	ck_assert_int_eq(answers[id].status, 200);
}

TEST_EACH(upload_opens_windows, 3)
{
	nghttp2_data_provider body = { .read_callback = read_upload };
	int32_t id;

	upload_left = 300000;
	id = ask("POST", "/upload", &body);
	exchange(_i == 1 ? 1000 : steps[_i], limits[_i]);
	ck_assert_int_eq(answers[id].status, 201);
	ck_assert(answers[id].len == 6 && memcmp(answers[id].body, "300000", 6) == 0);
}

/* An ancestor's mistake: any request body killed the connection. */
TEST(unwanted_body)
{
	nghttp2_data_provider body = { .read_callback = read_upload }, endless = body;
	int32_t id;

	upload_left = 300000;
	id = asked("POST", "/hello", &body);
	ck_assert_int_eq(answers[id].status, 405);
	/* One that never ends costs its stream, not the connection. */
	endless.source.ptr = &endless;
	id = asked("GET", "/hello", &endless);
	ck_assert_int_eq(answers[id].status, 200);
	ck_assert_uint_eq(answers[id].len, 5);
	ck_assert(!answers[id].closed);
	/* A long one is told, after some patience, that nobody wants it. */
	upload_left = 10 << 20;
	id = asked("GET", "/hello", &body);
	ck_assert_int_eq(answers[id].status, 200);
	ck_assert(answers[id].closed && answers[id].code == NGHTTP2_NO_ERROR);
	ck_assert_uint_gt(upload_left, 9 << 20);
	is_served();
	ck_assert_ptr_null(last_err);
}

/* A body that a handler takes, and that stops coming: 408, and the other streams go on. */
TEST(upload_stops)
{
	nghttp2_data_provider endless = { .read_callback = read_upload };
	int32_t id, other;
	uint64_t now = 1000;

	http_conn.timeouts.body = 20000;
	endless.source.ptr = &endless;
	other = ask("GET", "/later", NULL);
	id = asked("POST", "/upload", &endless);
	for (; answers[id].status == 0 && now < 60000; now += 1000) {
		ck_assert_ptr_null(server->ops->look(server, now, NULL));
		settle();
	}
	ck_assert_int_eq(answers[id].status, 408);
	ck_assert_uint_ge(now, 21000);
	ck_assert_uint_le(now, 24000);
	ck_assert_int_eq(gone, 1);
	/* Nor is the rest waited for. */
	for (; !answers[id].closed && now < 60000; now += 1000) {
		ck_assert_ptr_null(server->ops->look(server, now, NULL));
		settle();
	}
	ck_assert(answers[id].closed && answers[id].code == NGHTTP2_NO_ERROR);
	reply_late(other);
}

TEST_EACH(reply_head_too_long, 3)
{
	static const struct {
		const char *path;
		int status;
		uint32_t code;
	} cases[] = {
		{ "/long?a", 500, NGHTTP2_NO_ERROR },
		{ "/long?redirect", 414, NGHTTP2_NO_ERROR },
		{ "/long?configured", 500, NGHTTP2_INTERNAL_ERROR },
	};
	int32_t id = ask("GET", cases[_i].path, NULL);

	settle();
	ck_assert_int_eq(answers[id].status, cases[_i].status);
	ck_assert(answers[id].closed);
	ck_assert_uint_eq(answers[id].code, cases[_i].code);
	/* What the client has in its table is not in doubt. */
	is_served();
}

/* A client's table may have any size, and change it: its decoder finds each mistake. */
TEST(table_of_any_size)
{
	static const uint32_t sizes[] = { 0, 100, 4096, 50, 65536, 0, 4096 };

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		nghttp2_settings_entry entry = { NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, sizes[i] };

		ck_assert_int_eq(nghttp2_submit_settings(client, NGHTTP2_FLAG_NONE, &entry, 1), 0);
		for (int j = 0; j < 3; j++) {
			int32_t id = asked("GET", "/hello", NULL);

			ck_assert_int_eq(answers[id].status, 200);
			ck_assert_uint_eq(answers[id].code, NGHTTP2_NO_ERROR);
		}
	}
}

TEST(reply_head_of_three_frames)
{
	for (int i = 0; i < 2; i++) {
		int32_t id = asked("GET", "/long?frames", NULL);

		ck_assert_int_eq(answers[id].status, 200);
		ck_assert(answers[id].closed);
		ck_assert_uint_eq(answers[id].code, NGHTTP2_NO_ERROR);
		ck_assert_uint_eq(long_value, THREE_FRAMES);
		long_value = 0;
	}
}

TEST(client_resets)
{
	int32_t id = asked("GET", "/later", NULL);

	ck_assert_ptr_nonnull(held);
	nghttp2_submit_rst_stream(client, 0, id, NGHTTP2_CANCEL);
	settle();
	ck_assert_ptr_null(held);
	ck_assert_int_eq(gone, 1);
	/* And with a stream open, the connection just ends. */
	asked("GET", "/later", NULL);
	server->ops->close(&server);
	ck_assert_ptr_null(server);
	ck_assert_int_eq(gone, 2);
}

TEST(drain_is_graceful)
{
	int32_t before, after;

	before = asked("GET", "/later", NULL);
	server->ops->drain(server, false);
	after = ask("GET", "/hello", NULL); /* on its way when the notice arrives */
	settle();
	ck_assert_uint_eq(goaways, 2);
	/* nghttp2 lets a PING overtake; its answer would then not mean that the notice was seen. */
	ck_assert_uint_eq(goaways_at_ping, 1);
	ck_assert_int_eq(goaway_ids[0], INT32_MAX);
	ck_assert_int_eq(goaway_ids[1], after);
	ck_assert_int_eq(answers[after].status, 200);
	ck_assert(!proto_over(server));
	reply_late(before);
	ck_assert(proto_over(server));
}

/* Its first request is on its way: HAProxy fails it when a GOAWAY comes in front. */
TEST(drain_waits_for_the_first_request)
{
	server->ops->drain(server, true);
	settle();
	ck_assert_uint_eq(goaways, 0);
	is_served();
	ck_assert_uint_eq(goaways, 1);
	ck_assert_int_eq(goaway_ids[0], INT32_MAX);
	ck_assert(!proto_over(server));
	/* nghttp2 has nothing open, and says no more: nor does it answer the PING. */
	server->ops->drain(server, false);
	settle();
	ck_assert(proto_over(server));
}

/* The second call, behind drain_ms, waits for it no longer. */
TEST(drain_of_who_asks_for_nothing)
{
	server->ops->drain(server, true);
	settle();
	ck_assert_uint_eq(goaways, 0);
	server->ops->drain(server, false);
	settle();
	ck_assert_uint_eq(goaways, 1);
	ck_assert(!proto_over(server));
	server->ops->drain(server, false);
	settle();
	ck_assert(proto_over(server));
}

TEST(header_section_too_large)
{
	static char big[3000];
	nghttp2_nv head[] = { nv(":method", "GET"), nv(":scheme", "http"), nv(":path", "/hello"),
		nv(":authority", "localhost"), nv("a", big), nv("b", big) };
	int32_t id;

	memset(big, 'x', sizeof(big) - 1);
	head[4] = nv("a", big);
	head[5] = nv("b", big);
	id = send_head(head, 6);
	ck_assert_int_eq(answers[id].status, 431);
	id = send_head(head, 5);
	ck_assert_int_eq(answers[id].status, 200);
}

/* Found by fuzz_h2: what holds the fields was freed with the arena before it was let go. */
TEST(many_fields)
{
	nghttp2_nv head[44] = { nv(":method", "GET"), nv(":scheme", "http"), nv(":path", "/hello"),
		nv(":authority", "localhost") };
	char names[40][16];
	int32_t id;

	for (int i = 0; i < 40; i++) {
		snprintf(names[i], sizeof(names[i]), "x-%d", i);
		head[4 + i] = nv(names[i], names[i]);
	}
	id = send_head(head, 44);
	ck_assert_int_eq(answers[id].status, 200);
}

/* Fields of a request, or of a trailer section: repeated ones, which take a byte each. */
static void many(nghttp2_nv *head, unsigned n, const char *value)
{
	static const char *const names[] = { ":method", ":scheme", ":path", ":authority" };
	static const char *const values[] = { "GET", "http", "/later", "localhost" };

	for (unsigned i = 0; i < 4; i++)
		head[i] = nv(names[i], values[i]);
	for (unsigned i = 0; i < n; i++)
		head[4 + i] = nv(i % 2 == 0 ? "x-a" : "x-b", value);
}

/* The bytes of equal fields are there once, however often they are named. */
TEST_EACH(most_fields, 3)
{
	nghttp2_nv head[4 + 129];
	char value[200] = { 0 };
	int32_t id;

	env.conf.header_size = 65536;
	memset(value, 'v', sizeof(value) - 1);
	many(head, 128, value);
	id = nghttp2_submit_request(client, NULL, head, 4 + 128, NULL, NULL);
	exchange(steps[_i], limits[0]);
	ck_assert_ptr_nonnull(held);
	ck_assert_uint_eq(held->nfields, 128);
	for (unsigned i = 0; i < 128; i++)
		ck_assert(
			slice_eq(held->fields[i].name, i % 2 == 0 ? SLICE("x-a") : SLICE("x-b")) &&
			slice_eq(held->fields[i].value, slice_str(value)));
	ck_assert_uint_le(held->arena.used, 8500);
	reply_late(id);
	ck_assert_ptr_null(last_err);
}

/* One more is answered, and that is all. */
TEST_EACH(one_field_too_many, 3)
{
	nghttp2_nv head[4 + 129];
	int32_t id;

	env.conf.header_size = 65536;
	many(head, 129, "v");
	for (unsigned n = 129; n >= 128; n--) {
		id = nghttp2_submit_request(client, NULL, head, 4 + n, NULL, NULL);
		exchange(steps[_i], limits[0]);
		ck_assert_int_eq(answers[id].status, n == 129 ? 431 : 0);
		ck_assert_ptr_null(last_err);
	}
	reply_late(id);
}

/* Cookies are one field, in pieces or not; the bytes of those that are said again are there once.
 */
TEST_EACH(cookies, 3)
{
	nghttp2_nv head[4 + 300];
	char values[300][16];
	int32_t id;

	env.conf.header_size = 65536;
	many(head, 127, "v");
	for (unsigned i = 127; i < 300; i++) {
		snprintf(values[i], sizeof(values[i]), "n%u=%s", i, "v");
		head[4 + i] = nv("cookie", values[i]);
	}
	id = nghttp2_submit_request(client, NULL, head, 4 + 300, NULL, NULL);
	exchange(steps[_i], limits[0]);
	ck_assert_ptr_nonnull(held);
	ck_assert_uint_eq(held->nfields, 300);
	ck_assert_int_eq(strncmp(h2d_req_header(held, "cookie", NULL), "n127=v; n128=v; ", 16), 0);
	ck_assert_uint_eq(held->nfields, 128);
	reply_late(id);
	held = NULL;
	for (unsigned i = 127; i < 300; i++)
		head[4 + i] = nv("cookie", "same=cookie");
	id = nghttp2_submit_request(client, NULL, head, 4 + 300, NULL, NULL);
	exchange(steps[_i], limits[0]);
	ck_assert_ptr_nonnull(held);
	ck_assert_uint_eq(held->nfields, 128);
	ck_assert_uint_le(held->arena.used, 9500);
	reply_late(id);
}

/* A section far over its size is answered, and is the end; so is one of trailers. */
TEST_EACH(header_block_too_far, 2)
{
	static char big[3000];
	uint64_t floods = counters_get(counters, COUNTER_floods);
	nghttp2_nv head[4 + 129];
	int32_t id;

	memset(big, 'x', sizeof(big) - 1);
	many(head, 129, big);
	if (_i == 1) { /* 6 times 3 KB are more than 4 times 4 KB */
		id = send_head(head, 4 + 5);
		ck_assert_int_eq(answers[id].status, 431);
		ck_assert_ptr_null(last_err);
	}
	id = send_head(head, 4 + 6);
	ck_assert_ptr_eq(last_err, ERR_HEADER_BLOCK);
	ck_assert_int_eq(answers[id].status, 431);
	ck_assert_uint_eq(goaway_codes[0], NGHTTP2_ENHANCE_YOUR_CALM);
	ck_assert_uint_eq(counters_get(counters, COUNTER_floods), floods + 1);
}

/* Sections a little over the limit are answered, but not for ever: to decode them is work. */
TEST(many_header_blocks_over_the_limit)
{
	static char big[3000];
	nghttp2_nv head[4 + 129];
	int n;

	memset(big, 'x', sizeof(big) - 1);
	many(head, 5, big);
	for (n = 0; n < 200 && last_err == NULL; n++) {
		int32_t id = send_head(head, 4 + 5);

		ck_assert_int_eq(answers[id].status, 431);
	}
	ck_assert_ptr_eq(last_err, ERR_HEADER_BLOCK);
	ck_assert_int_ge(n, 50);
	ck_assert_uint_eq(goaway_codes[0], NGHTTP2_ENHANCE_YOUR_CALM);
}

/* As many as are kept; more, which the request is refused for; and far more, which are the end. */
TEST_EACH(trailer_section_too_far, 3)
{
	static const size_t counts[] = { TRAILERS_MAX, TRAILERS_MAX + 1, 6 };
	nghttp2_data_provider endless = { .read_callback = read_upload };
	static char big[3000];
	nghttp2_nv head[4 + 129];
	int32_t id;

	memset(big, 'x', sizeof(big) - 1);
	endless.source.ptr = &endless;
	id = asked("POST", "/upload", &endless);
	many(head, 129, _i < 2 ? "v" : big);
	ck_assert_int_eq(nghttp2_submit_headers(client, NGHTTP2_FLAG_END_STREAM, id, NULL, head + 4,
				 counts[_i], NULL),
		0);
	settle();
	if (_i < 2) {
		ck_assert_ptr_null(last_err);
		ck_assert_int_eq(answers[id].status, _i == 0 ? 201 : 431);
	} else {
		ck_assert_ptr_eq(last_err, ERR_HEADER_BLOCK);
		ck_assert_uint_eq(goaway_codes[0], NGHTTP2_ENHANCE_YOUR_CALM);
	}
}

TEST(skipped_identifier)
{
	/* HEADERS, END_STREAM|END_HEADERS: GET http "/" of the static table (RFC 7541, A). */
	static const uint8_t on5[] = { 0, 0, 3, 1, 5, 0, 0, 0, 5, 0x82, 0x86, 0x84 };
	static const uint8_t on3[] = { 0, 0, 3, 1, 5, 0, 0, 0, 3, 0x82, 0x86, 0x84 };

	settle();
	to_server(on5, sizeof(on5), SIZE_MAX / 2);
	ck_assert_ptr_null(last_err);
	to_server(on3, sizeof(on3), SIZE_MAX / 2);
	ck_assert_ptr_eq(last_err, ERR_STREAM_PROTOCOL);
	settle();
	ck_assert_uint_eq(goaway_codes[0], NGHTTP2_PROTOCOL_ERROR);
	ck_assert(proto_over(server));
}

/* RFC 9113, 5.1: nghttp2 does not see these, see h2_guard.h and on_closed_stream(). */
TEST_EACH(closed_streams, 2)
{
	static const uint8_t data1[] = { 0, 0, 1, 0, 0, 0, 0, 0, 1, 'x' };
	nghttp2_data_provider body = { .read_callback = read_upload };
	int32_t id;

	upload_left = 10 << 20;
	id = ask(_i == 0 ? "GET" : "POST", "/hello", _i == 0 ? NULL : &body);
	ck_assert_int_eq(id, 1);
	settle();
	ck_assert(answers[1].closed);
	to_server(data1, sizeof(data1), 3);
	if (_i == 0)
		ck_assert_ptr_eq(last_err, ERR_STREAM_CLOSED);
	else /* it was reset from here: the peer may not have known yet */
		ck_assert_ptr_null(last_err);
}

/* The frame that closes the stream is itself no frame on a closed stream. */
TEST_EACH(upload_ends_after_its_answer, 3)
{
	static const uint8_t head[] = { 0, 0, 6, 1, 4, 0, 0, 0, 1, 0x83, 0x86, 0x84, 0x41, 1, 'h' };
	static const uint8_t rest[] = { 0, 0, 1, 0, 0, 0, 0, 0, 1, 'x', 0, 0, 0, 0, 1, 0, 0, 0, 1 };

	settle();
	to_server(head, sizeof(head), SIZE_MAX / 2);
	ck_assert_int_ge(server->ops->output(server, &out, SIZE_MAX), 0);
	outq_consume(&out, outq_len(&out));
	ck_assert_int_eq(server->ops->waits(server), PROTO_SEND);
	to_server(rest, sizeof(rest), steps[_i]);
	ck_assert_ptr_null(last_err);
	ck_assert_int_eq(server->ops->waits(server), PROTO_IDLE);
}

TEST_EACH(self_dependency, 3)
{
	static const uint8_t priority[] = { 0, 0, 5, 2, 0, 0, 0, 0, 3, 0, 0, 0, 3, 15 };

	settle();
	to_server(priority, sizeof(priority), steps[_i]);
	ck_assert_ptr_eq(last_err, ERR_STREAM_PROTOCOL);
}

TEST_EACH(floods, 2)
{
	static const uint8_t ping[17] = { 0, 0, 8, 6 }, empty[9] = { 0, 0, 0, 4 };

	settle();
	for (int i = 0; i < 2000 && last_err == NULL; i++) {
		/* Takes the acknowledgements, so that nghttp2's own bound is not met. */
		ck_assert_int_ge(server->ops->output(server, &out, SIZE_MAX), 0);
		outq_consume(&out, outq_len(&out));
		if (_i == 0)
			to_server(ping, sizeof(ping), SIZE_MAX / 2);
		else
			to_server(empty, sizeof(empty), SIZE_MAX / 2);
	}
	ck_assert_ptr_eq(last_err, ERR_FLOOD);
	settle();
	ck_assert_uint_eq(goaway_codes[0], NGHTTP2_ENHANCE_YOUR_CALM);
}

/* What nghttp2 ends itself is counted and said once, as our own ends are. */
TEST_EACH(ends_by_nghttp2, 5)
{
	static const struct {
		uint8_t bytes[17];
		size_t n;
		uint32_t code;
	} cases[] = {
		/* DATA behind END_STREAM, while the answer is awaited */
		{ { 0, 0, 1, 0, 0, 0, 0, 0, 1, 'x' }, 10, NGHTTP2_STREAM_CLOSED },
		/* WINDOW_UPDATE of 0, on the connection */
		{ { 0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, 13, NGHTTP2_PROTOCOL_ERROR },
		/* a PING of 4 bytes */
		{ { 0, 0, 4, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4 }, 13, NGHTTP2_FRAME_SIZE_ERROR },
		/* a window of more than 2^31 - 1 */
		{ { 0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff }, 13,
			NGHTTP2_FLOW_CONTROL_ERROR },
		/* HEADERS with an index that is in no table */
		{ { 0, 0, 1, 1, 5, 0, 0, 0, 3, 0xfe }, 10, NGHTTP2_COMPRESSION_ERROR },
	};
	uint64_t errors = counters_get(counters, COUNTER_protocol_errors);

	asked("GET", "/later", NULL);
	to_server(cases[_i].bytes, cases[_i].n, SIZE_MAX / 2);
	settle();
	ck_assert_uint_eq(goaway_codes[0], cases[_i].code);
	ck_assert(proto_over(server));
	to_server((const uint8_t *)"\0\0\1\0\0\0\0\0\1x", 10, SIZE_MAX / 2);
	settle();
	ck_assert_ptr_null(last_err);
	ck_assert_uint_eq(counters_get(counters, COUNTER_protocol_errors), errors + 1);
}

TEST(no_preface)
{
	to_server((const uint8_t *)"GET / HTTP/1.1\r\n\r\n", 18, SIZE_MAX / 2);
	ck_assert_ptr_eq(last_err, ERR_PREFACE);
}

/*
 * Pages of the session that are in memory: of its table of streams, and of its frame. Newer
 * releases of nghttp2 than 1.52 may have a first table that is too small for a page of its own.
 */
static void expect_pages(int table, int frame)
{
	const struct h2 *h2 = (const struct h2 *)server;
	unsigned char there[2];

	ck_assert_ptr_nonnull(h2->pages.mem);
	if (nghttp2_version(0x013500) != NULL && !h2->pages.table)
		table = 0;
	ck_assert_int_eq(mincore(h2->pages.mem, sizeof(there) * H2_PAGE, there), 0);
	ck_assert_int_eq(there[0] & 1, table);
	ck_assert_int_eq(there[1] & 1, frame);
}

static void look_thrice(void)
{
	for (uint64_t now = 1000; now <= 3000; now += 1000)
		ck_assert_ptr_null(server->ops->look(server, now, NULL));
}

TEST(idle_session_rests)
{
	for (int i = 0; i < 3; i++) {
		int32_t id = asked("GET", "/hello", NULL);

		ck_assert_int_eq(answers[id].status, 200);
		ck_assert_str_eq(answers[id].body, "hello");
		expect_pages(1, 1);
		look_thrice();
		expect_pages(0, 0);
	}
}

TEST(session_with_a_stream_rests)
{
	int32_t id = asked("GET", "/later", NULL);

	look_thrice();
	expect_pages(1, 0);
	ck_assert_ptr_nonnull(held);
	h2d_reply_bytes(held, 200, NULL, "late", 4);
	settle();
	ck_assert_int_eq(answers[id].status, 200);
	ck_assert_str_eq(answers[id].body, "late");
	look_thrice();
	expect_pages(0, 0);
}

/* The head of the DATA frame is made, and waits for room in the socket. */
TEST(blocked_session_does_not_rest)
{
	int32_t id = ask("GET", "/hello", NULL);
	const uint8_t *p;
	ssize_t n;

	while ((n = nghttp2_session_mem_send(client, &p)) > 0)
		to_server(p, (size_t)n, (size_t)n);
	while (outq_len(&out) < 60)
		ck_assert_int_eq(server->ops->output(server, &out, outq_len(&out) + 1), 1);
	look_thrice();
	expect_pages(1, 1);
	settle();
	ck_assert_str_eq(answers[id].body, "hello");
}

/* How many streams wait for that, of as many as there are. */
static unsigned waiting(enum proto_why why, unsigned of)
{
	struct proto_told t = { 0 };

	server->ops->tell(server, &t);
	for (unsigned i = 0; i < PROTO_WHYS; i++)
		of -= t.why[i];
	ck_assert_uint_eq(of, 0);
	return t.why[why];
}

TEST(tells_why)
{
	nghttp2_settings_entry shut = { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0 };
	nghttp2_data_provider endless = { .read_callback = read_upload };

	endless.source.ptr = &endless;
	ask("GET", "/later", NULL);
	ask("GET", "/stream", NULL);
	ask("POST", "/upload", &endless);
	asked("GET", "/hello", &endless);
	ck_assert_uint_eq(waiting(PROTO_WHY_HANDLER, 4), 1);
	ck_assert_uint_eq(waiting(PROTO_WHY_SOURCE, 4), 1);
	ck_assert_uint_eq(waiting(PROTO_WHY_BODY, 4), 1);
	ck_assert_uint_eq(waiting(PROTO_WHY_REST, 4), 1);
	nghttp2_submit_settings(client, 0, &shut, 1);
	asked("GET", "/hello", NULL);
	ck_assert_uint_eq(waiting(PROTO_WHY_WINDOW, 5), 1);
	/* HEADERS without their end */
	to_server((const uint8_t *)"\0\0\3\1\1\0\0\0\xb\x82\x86\x84", 12, SIZE_MAX / 2);
	ck_assert_uint_eq(waiting(PROTO_WHY_HEAD, 6), 1);
}

static unsigned go(unsigned from, unsigned to)
{
	struct h2 h2 = { .drain = (enum h2_drain)from };

	h2_drain_go(&h2, (enum h2_drain)to);
	return h2.drain;
}

TEST(drain_steps)
{
	states_unit_walk(&h2_drain_states,
		"SERVE>FIRST SERVE>NOTICE FIRST>NOTICE NOTICE>ASKED NOTICE>LAST ASKED>LAST", go);
}
