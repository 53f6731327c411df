/* check_handler_wake: other threads wake a request, while it is there and when it is gone. */
#include "api/handler_worker.h"
#include "request/handler_call.h"

#include "loop_unit.h"
#include "req_unit.h"

static struct api api;
static struct h2d_waker *waker;
static int wakes, again; /* so many calls wake once more from inside */

static void nothing(struct h2d_req *r, void *state)
{
}

static const struct h2d_handler thing = { .name = "thing", .state_size = 4, .start = nothing };

static void on_wake(struct h2d_req *r, void *state)
{
	char words[256] = "end";

	ck_assert_ptr_eq(r, &req);
	ck_assert_ptr_eq(state, req.handler_state);
	crash_tell(words, 3, sizeof(words));
	ck_assert(strstr(words, "in handler thing") != NULL);
	wakes++;
	if (again-- > 0)
		h2d_wake(waker);
}

UNIT_SETUP(setup)
{
	env.loop = &loop;
	api = (struct api){ 0 };
	env.api = &api;
	wakes = again = 0;
	req.handler = &thing;
	waker = h2d_waker_new(&req, on_wake);
	ck_assert_ptr_nonnull(waker);
}

UNIT_TEARDOWN(teardown)
{
	req_teardown();
	handlers_stop(&env);
}

static void turn(void)
{
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
}

static void in_thread(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	ck_assert_int_eq(pthread_create(&t, NULL, fn, arg), 0);
	pthread_join(t, NULL);
}

static void *wakes_it(void *arg)
{
	h2d_wake(arg);
	h2d_wake(arg);
	return NULL;
}

static void *frees_it(void *arg)
{
	h2d_waker_free(arg);
	return NULL;
}

TEST(woken_once)
{
	turn();
	ck_assert_int_eq(wakes, 0);
	in_thread(wakes_it, waker);
	ck_assert_int_eq(wakes, 0);
	turn();
	ck_assert_int_eq(wakes, 1);
	turn();
	ck_assert_int_eq(wakes, 1);
	in_thread(wakes_it, waker);
	/* A wake that is under way comes. */
	in_thread(frees_it, waker);
	turn();
	ck_assert_int_eq(wakes, 2);
}

TEST(woken_from_inside)
{
	again = 1;
	h2d_wake(waker);
	turn();
	turn();
	ck_assert_int_eq(wakes, 2);
	turn();
	ck_assert_int_eq(wakes, 2);
	h2d_waker_free(waker);
}

TEST(several)
{
	struct h2d_waker *other = h2d_waker_new(&req, on_wake);

	h2d_wake(other);
	h2d_wake(waker);
	turn();
	ck_assert_int_eq(wakes, 2);
	h2d_waker_free(other);
	h2d_waker_free(waker);
}

TEST_EACH(the_request_is_gone, 4)
{
	if (_i % 2 == 1)
		h2d_wake(waker);
	handler_call_gone(&req, &thing);
	ck_assert(!belonging_any(&req.belongings));
	turn();
	in_thread(wakes_it, waker);
	turn();
	ck_assert_int_eq(wakes, 0);
	/* Even the worker may be. */
	if (_i >= 2)
		handlers_stop(&env);
	in_thread(wakes_it, waker);
	in_thread(frees_it, waker);
	h2d_waker_free(NULL);
}
