/*
 * check_handler_memory: what a handler gets to touch: aligned for any type; and under
 * AddressSanitizer, nothing behind an end, and nothing when it is over: a piece behind body(), the
 * state behind gone(), the request and all that belongs to it behind its stream.
 */
#include <stdint.h>

#include "proto/h1.h"
#include "proto_unit.h"
#include "unit.h"

#define HEAD    "POST /a/b?c=d&e=f HTTP/1.1\r\nhost: h\r\nx: y\r\ncookie: a=1; b=2\r\n"
#define REQUEST HEAD "content-length: 5\r\n\r\n"

static int starts, ends;
static struct h2d_req *kept;
static void *kept_state, *allocated;
static const char *kept_path, *kept_piece;

/* --- what is touched -------------------------------------------------------------------------- */

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>

#define seen(p) ck_assert_int_ne(__asan_address_is_poisoned(p), 0)

#define good(p, n) ck_assert_ptr_null(__asan_region_is_poisoned((void *)(uintptr_t)(p), n))
#else
#define seen(p)    ((void)(p))
#define good(p, n) ck_assert((p) != NULL && (n) > 0)
#endif

/* --- the handler ------------------------------------------------------------------------------ */

static void string(const char *p, size_t len)
{
	ck_assert_uint_eq(strlen(p), len);
	good(p, len + 1);
	seen(p + len + 1);
}

#define STRING(call, ...) \
	do { \
		p = h2d_req_##call(req __VA_OPT__(, ) __VA_ARGS__, &n); \
		string(p, n); \
		ck_assert_ptr_eq(p, h2d_req_##call(req __VA_OPT__(, ) __VA_ARGS__, &n)); \
	} while (0)

static void ask_all(struct h2d_req *req)
{
	const char *p, *name;
	size_t n, name_len;

	STRING(path);
	STRING(query);
	STRING(authority);
	STRING(param, "p");
	STRING(param_at, 0, &name);
	STRING(header, "x");
	STRING(header_nth, "cookie", 0);
	STRING(header_at, 1, &name, &name_len);
	string(name, name_len);
	STRING(cookie, "a");
	STRING(query_param, "c");
	STRING(query_param_at, 1, &name);
	string(name, 1);
	STRING(peer);
	STRING(id);
	ck_assert_int_eq(h2d_req_set_user(req, "ann", 3), 0);
	STRING(user);
}

static void on_start(struct h2d_req *req, void *state)
{
	starts++;
	ask_all(req);
	kept = req;
	kept_state = state;
	kept_path = h2d_req_path(req, NULL);
	for (size_t n = 1; n < 100; n++) {
		allocated = h2d_req_alloc(req, n);
		ck_assert_uint_eq((uintptr_t)allocated % _Alignof(max_align_t), 0);
		good(allocated, n);
		/* Where the memory of malloc(3) ends nothing needs to be closed. */
		if (starts == 1)
			seen((char *)allocated + n);
	}
	ck_assert_uint_eq((uintptr_t)state % _Alignof(max_align_t), 0);
	good(state, 3);
	if (starts == 1)
		seen((char *)state + 3);
}
static void on_body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	kept_piece = data;
	good(data, len);
	if (starts == 1)
		seen(data + len);
	h2d_consume(req, len);
}
static void on_end(struct h2d_req *req, void *state)
{
	ends++;
	seen(kept_piece);
	h2d_reply_bytes(req, 204, NULL, NULL, 0);
}
static const struct h2d_handler handler = {
	.name = "handler", .state_size = 3, .start = on_start, .body = on_body, .end = on_end
};

static const struct route_row rows[] = {
	{ "rows", 1, "POST", "/a/{p}", "handler", "BODY_STREAM" },
};
static const struct h2d_handler *const handlers[] = { &handler };

/* --- requests --------------------------------------------------------------------------------- */

UNIT_SETUP(setup)
{
	proto_unit_init(rows, 1, handlers, &handler);
	proto_unit_open(h1_open);
}

static void drop(void *ctx, const void *data, size_t n)
{
}

static void say(const char *text)
{
	size_t n = strlen(text);

	ck_assert_ptr_null(server->ops->input(server, text, &n, 1000));
	ck_assert_uint_eq(n, strlen(text));
	proto_unit_pull(server, &out, 1 << 18, drop, NULL);
}

TEST(behind_the_answer)
{
	say(REQUEST "12345");
	ck_assert_int_eq(ends, 1);
	seen(kept);
	seen(&kept->handler);
	seen(kept_state);
	seen(kept_path);
	seen(allocated);
	for (int i = 0; i < 100; i++) {
		const struct h2d_req *before = kept;

		say(REQUEST "12345");
		seen(before); /* another one does not come to lie there */
	}
	ck_assert_int_eq(ends, 101);
}

/* The server's own answer to a body that is malformed: the request is there, for the handler it is
 * not. */
TEST(behind_gone)
{
	say(HEAD "transfer-encoding: chunked\r\n\r\n");
	ck_assert_int_eq(starts, 1);
	req_refuse(kept, 400);
	seen(kept_state);
	proto_unit_pull(server, &out, 1 << 18, drop, NULL);
}

UNIT_FIXTURE(NULL, proto_unit_fini)
