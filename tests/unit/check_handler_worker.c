/* check_handler_worker: handlers are started once in a worker, have timers and watches of no
 * request, and leave nothing behind. */
#include "api/handler_worker.h"
#include "base/clock.h"
#include "loop_unit.h"

static struct http_env env;
static struct api api;
static int inits, exits, fires, changes, context;
static int refused; /* the init that fails, counted from 1; 0: none */
static struct h2d_worker *worker;

static int init(struct h2d_worker *w, void **ctx)
{
	inits++;
	worker = w;
	*ctx = &context;
	return inits == refused ? -1 : 0;
}

static void leave(void *ctx)
{
	ck_assert_ptr_eq(ctx, &context);
	exits++;
}

static void nothing(struct h2d_req *req, void *state)
{
}

static const struct h2d_handler one = {
	.name = "one", .start = nothing, .worker_init = init, .worker_exit = leave
};
static const struct h2d_handler other = {
	.name = "other", .start = nothing, .worker_init = init, .worker_exit = leave
};
static const struct h2d_handler plain = { .name = "plain", .start = nothing };
static const struct route rows[] = {
	{ .handler = &one },
	{ .handler = &plain },
	{ .handler = &other },
	{ .handler = &one },
};
static const struct route_table table = { .routes = rows, .nroutes = 4 };

UNIT_SETUP(setup)
{
	inits = exits = fires = changes = refused = 0;
	env = (struct http_env){ .loop = &loop, .api = &api, .conf.routes = &table };
}

UNIT_TEARDOWN(teardown)
{
	handlers_stop(&env);
	ck_assert_int_eq(loop.watches, 0);
	ck_assert_uint_eq(loop.wheel.armed, 0);
}

TEST(started_once_each)
{
	ck_assert_int_eq(handlers_start(&env), 0);
	ck_assert_int_eq(inits, 2);
	ck_assert_ptr_eq(h2d_worker_context(worker), &context);
	ck_assert_ptr_null(h2d_worker_context(
		h2d_req_worker(&(struct h2d_req){ .env = &env, .handler = &plain })));
	ck_assert_ptr_eq(
		h2d_req_worker(&(struct h2d_req){ .env = &env, .handler = &other }), worker);
	ck_assert_ptr_null(h2d_req_worker(&(struct h2d_req){ .env = &env }));
	handlers_stop(&env);
	ck_assert_int_eq(exits, 2);
}

TEST_EACH(one_that_refuses, 2)
{
	refused = _i + 1;
	ck_assert_int_eq(handlers_start(&env), -1);
	ck_assert_int_eq(inits, refused);
	handlers_stop(&env);
	ck_assert_int_eq(exits, refused - 1);
}

static void on_timer(struct h2d_req *req, void *ctx)
{
	char words[256] = "end";

	ck_assert_ptr_null(req);
	ck_assert_ptr_eq(ctx, &context);
	crash_tell(words, 3, sizeof(words));
	ck_assert_str_eq(words, "end, in handler other");
	fires++;
}

TEST(timer_of_a_worker)
{
	struct h2d_timer *t;

	ck_assert_int_eq(handlers_start(&env), 0);
	t = h2d_worker_timer_new(worker, on_timer);
	wheel_advance(&loop.wheel, clock_ms());
	h2d_timer_set(t, 50);
	wheel_advance(&loop.wheel, loop.wheel.now + 100);
	ck_assert_int_eq(fires, 1);
	/* One that is set when the worker ends goes with it. */
	h2d_timer_set(t, 50);
}

static void on_change(void *arg, unsigned what)
{
	changes |= (int)what;
	if (*(bool *)arg)
		fires++;
}

TEST_EACH(watch_of_a_worker, 2)
{
	struct h2d_watch *w;
	bool counts = true;
	int ends[2];

	ck_assert_int_eq(handlers_start(&env), 0);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_ptr_null(h2d_watch_new(worker, -1, on_change, &counts));
	w = h2d_watch_new(worker, ends[0], on_change, &counts);
	ck_assert_ptr_nonnull(w);
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_int_eq(changes, H2D_READABLE);
	close(ends[1]);
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_int_ne(changes & H2D_HANGUP, 0);
	if (_i == 0) {
		h2d_watch_free(w);
		close(ends[0]);
		ck_assert_int_eq(loop_turn(&loop, 0), 0);
	}
	/* Else the end of the worker frees it. */
	h2d_watch_free(NULL);
}
