/*
 * check_body_queue: bytes in order, what it costs to hold them, what clearing says of them; and a
 * request that holds its body and hands it on, once and again.
 */
#include "request/body_queue.h"

#include <stdlib.h>

#include "req_unit.h"

/* Everything that is in q, and what it costs to hold it. */
static struct slice all(struct body_queue *q, char *buf)
{
	struct body_piece *piece;
	size_t n = 0;

	while ((piece = body_queue_take(q)) != NULL) {
		memcpy(buf + n, piece->bytes, piece->n);
		n += piece->n;
		body_pieces_free(piece);
	}
	ck_assert_uint_eq(q->cost, 0);
	ck_assert_uint_eq(q->n, 0);
	return slice_of(buf, n);
}

START_TEST(in_order)
{
	static const char *const pieces[] = { "one", "", "three" };
	struct body_queue q = { 0 };
	char buf[16];

	for (int round = 0; round < 2; round++) {
		ck_assert_ptr_null(body_queue_take(&q));
		for (int i = 0; i < 3; i++)
			ck_assert_uint_eq(body_queue_put(&q, pieces[i], strlen(pieces[i])),
				strlen(pieces[i]));
		ck_assert(slice_eq(all(&q, buf), SLICE("onethree")));
	}
}
END_TEST

/* Bytes of a body, from the at-th on. */
static void fill_in(char *p, size_t at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (char)((at + i) * 31 >> 3);
}

/* What is held costs twice what it is at most, however small the pieces are that it came in. */
START_TEST(cost)
{
	static const size_t sizes[] = { 1, 7, 250, 16384, 65536, 300000 };
	size_t size = sizes[_i], total = 1 << 20, n;
	char *in = malloc(total), *out = malloc(total);
	struct body_queue q = { 0 };

	fill_in(in, 0, total);
	for (size_t at = 0; at < total; at += n) {
		n = total - at < size ? total - at : size;
		/* No ck_assert(): a million of them take longer than all else. */
		if (body_queue_put(&q, in + at, n) != n || q.n != at + n || q.cost > 2 * q.n + 400)
			ck_abort_msg("%zu bytes cost %zu", q.n, q.cost);
	}
	ck_assert_uint_le(q.cost, total + total / 16);
	n = all(&q, out).n;
	ck_assert(n == total && memcmp(in, out, n) == 0);
	free(in);
	free(out);
	body_queue_fini();
}
END_TEST

/* Who takes all now and then gets pieces that end where the body has a multiple of the largest. */
START_TEST(pieces_of_a_file)
{
	char bytes[16375] = { 0 };
	struct body_queue q = { 0 };
	size_t at = 0, n, pieces = 0;

	for (int i = 0; i < 1000; i++) {
		ck_assert_uint_eq(body_queue_put(&q, bytes, sizeof(bytes)), sizeof(bytes));
		if (i % 11 == 0) {
			struct body_piece *list = body_queue_take_all(&q, &n);

			for (const struct body_piece *p = list; p != NULL; p = p->next) {
				ck_assert_uint_le(at % BODY_PIECE + p->n, BODY_PIECE);
				at += p->n;
				pieces++;
			}
			body_pieces_free(list);
		}
	}
	ck_assert_uint_eq(at + body_queue_clear(&q), q.total);
	/* One that is not full for each time all were taken, and those of the first time. */
	ck_assert_uint_le(pieces, at / BODY_PIECE + 1000 / 11 + 8);
	body_queue_fini();
}
END_TEST

START_TEST(cleared)
{
	struct body_queue q = { 0 };

	ck_assert_uint_eq(body_queue_clear(&q), 0);
	for (int i = 0; i < 100000; i++)
		body_queue_put(&q, "x", 1);
	ck_assert_uint_eq(body_queue_clear(&q), 100000);
	ck_assert_uint_eq(body_queue_clear(&q), 0);
	ck_assert_uint_eq(q.cost, 0);
	ck_assert_uint_eq(body_queue_put(&q, "x", 1), 1);
	ck_assert_uint_eq(body_queue_clear(&q), 1);
	body_queue_fini();
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

/* The handler takes what there is, then no more; the end comes behind the last of it. */
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
	tcase_add_loop_test(c, cost, 0, 6);
	tcase_add_test(c, pieces_of_a_file);
	tcase_add_test(c, cleared);
	tcase_add_test(c, held_and_handed_on);
	tcase_add_test(c, held_again_meanwhile);
	tcase_add_loop_test(c, held_for_nobody, 0, 2);
	return c;
}

UNIT_MAIN("body_queue")
