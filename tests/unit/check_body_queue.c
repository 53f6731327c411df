/*
 * check_body_queue: bytes in order, what it costs to hold them, and what clearing says of them.
 */
#include "request/req_body.h"

#include "base/slice.h"
#include "unit.h"

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

TEST(in_order)
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

/* Bytes of a body, from the at-th on. */
static void fill_in(char *p, size_t at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (char)((at + i) * 31 >> 3);
}

/* What is held costs twice what it is at most, however small the pieces are that it came in. */
TEST_EACH(cost, 6)
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
	pools_fini();
}

/* Who takes all now and then gets pieces that end where the body has a multiple of the largest. */
TEST(pieces_of_a_file)
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
	pools_fini();
}

TEST(cleared)
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
	pools_fini();
}
