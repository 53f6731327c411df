/*
 * check_body_queue: pieces in order, their limit, what clearing says of them; and a request that
 * holds its body and hands it on, once and again.
 */
#include "request/body_queue.h"

#include <stdlib.h>

#include "req_unit.h"

START_TEST(in_order)
{
	static const char *const pieces[] = { "one", "", "three" };
	struct body_queue q = { 0 };
	struct body_piece *piece;

	for (int round = 0; round < 2; round++) {
		ck_assert_ptr_null(body_queue_take(&q));
		for (int i = 0; i < 3; i++)
			ck_assert_int_eq(body_queue_put(&q, pieces[i], strlen(pieces[i])), 0);
		for (int i = 0; i < 3; i++) {
			piece = body_queue_take(&q);
			ck_assert(slice_eq(slice_of(piece->bytes, piece->n), slice_str(pieces[i])));
			free(piece);
		}
		ck_assert_ptr_null(body_queue_take(&q));
		ck_assert_uint_eq(q.cost, 0);
	}
}
END_TEST

START_TEST(the_limit)
{
	struct body_queue q = { 0 };
	size_t n = 0, size = _i == 0 ? 1 : 1 << 16;
	char *piece = calloc(1, BODY_QUEUE_MAX + 1);

	ck_assert_int_eq(body_queue_put(&q, piece, BODY_QUEUE_MAX + 1), -1);
	while (body_queue_put(&q, piece, size) == 0)
		n += size;
	ck_assert_uint_le(q.cost, BODY_QUEUE_MAX);
	ck_assert_uint_ge(q.cost, BODY_QUEUE_MAX - size - sizeof(struct body_piece));
	ck_assert_uint_eq(body_queue_clear(&q), n);
	ck_assert_uint_eq(body_queue_clear(&q), 0);
	ck_assert_int_eq(body_queue_put(&q, piece, size), 0);
	ck_assert_uint_eq(body_queue_clear(&q), size);
	free(piece);
}
END_TEST

/* --- a request's ------------------------------------------------------------------------------ */

static void begin_upload(void)
{
	req.method_text = SLICE("POST");
	req.target = SLICE("/p/upload");
	req.has_body = true;
	req_start(&req);
	ck_assert_int_eq(starts, 1);
}

static bool uploaded_is(const char *text)
{
	return slice_eq(slice_of(uploaded, uploaded_n), slice_str(text));
}

START_TEST(held_and_handed_on)
{
	begin_upload();
	req_body(&req, "a", 1);
	for (int i = 0; i < 2; i++) {
		req_hold_body(&req);
		req_body(&req, "b", 1);
		req_body(&req, "c", 1);
		ck_assert_uint_eq(uploaded_n, 1 + 2 * (size_t)i);
		ck_assert_uint_eq(consumed, 1 + 2 * (size_t)i);
		if (i == 1)
			req_end(&req);
		ck_assert_int_eq(replies, 0);
		req_release_body(&req);
	}
	ck_assert(uploaded_is("abcbc"));
	ck_assert_uint_eq(consumed, 5);
	ck_assert_int_eq(replies, 1);
	ck_assert_int_eq(req.reply.status, 201);
}
END_TEST

static void hold_again_body(struct h2d_req *r, void *state, const char *data, size_t n)
{
	upload_body(r, state, data, n);
	req_hold_body(r);
}

/* The handler takes one piece at a time; the end comes behind the last one. */
START_TEST(held_again_meanwhile)
{
	static const struct h2d_handler one_by_one = {
		.name = "upload", .start = upload_start, .body = hold_again_body, .end = upload_end
	};

	routes.routes[0].handler = &one_by_one;
	begin_upload();
	req_body(&req, "a", 1);
	req_body(&req, "b", 1);
	req_body(&req, "c", 1);
	req_end(&req);
	ck_assert(uploaded_is("a"));
	req_release_body(&req);
	ck_assert(uploaded_is("ab"));
	req_release_body(&req);
	ck_assert(uploaded_is("abc"));
	ck_assert_int_eq(replies, 0);
	req_release_body(&req);
	ck_assert_int_eq(replies, 1);
	ck_assert_uint_eq(consumed, 3);
}
END_TEST

/* Gone, or answered: the credit of what is held is given back either way. */
START_TEST(held_for_nobody)
{
	begin_upload();
	req_hold_body(&req);
	req_body(&req, "abc", 3);
	if (_i == 1) {
		reply_error(&req, 408);
		req_body(&req, "de", 2);
		ck_assert_uint_eq(consumed, 2);
		req_release_body(&req);
		ck_assert_uint_eq(consumed, 5);
	}
	req_fini(&req);
	ck_assert_uint_eq(consumed, _i == 1 ? 5 : 3);
	ck_assert_uint_eq(uploaded_n, 0);
}
END_TEST

static TCase *tests(void)
{
	TCase *c = tcase_create("body_queue");

	tcase_add_checked_fixture(c, req_setup, req_teardown);
	tcase_add_test(c, in_order);
	tcase_add_loop_test(c, the_limit, 0, 2);
	tcase_add_test(c, held_and_handed_on);
	tcase_add_test(c, held_again_meanwhile);
	tcase_add_loop_test(c, held_for_nobody, 0, 2);
	return c;
}

UNIT_MAIN("body_queue")
