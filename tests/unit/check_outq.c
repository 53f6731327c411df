/*
 * check_outq: whatever is put in comes out in order, however it is cut; references are given back;
 * an empty queue holds no block; malloc may fail at every call (linked with --wrap).
 */
#include "base/outq.h"

#include <stdbool.h>

#include "unit.h"

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

static int mallocs_left = -1; /* negative: no limit */

void *__wrap_malloc(size_t n)
{
	if (mallocs_left == 0)
		return NULL;
	if (mallocs_left > 0)
		mallocs_left--;
	return __real_malloc(n);
}

enum { BODY = 100000 };

static uint8_t body[BODY];
static struct ref body_ref;
static int released;
static struct pool blocks;

static void on_release(struct ref *ref)
{
	ck_assert_ptr_eq(ref, &body_ref);
	released++;
}

UNIT_SETUP(setup)
{
	for (size_t i = 0; i < BODY; i++)
		body[i] = (uint8_t)(i * 7 + i / 251);
	ref_init(&body_ref, on_release);
	pool_init(&blocks, OUTQ_BLOCK, 2);
}

UNIT_TEARDOWN(teardown)
{
	pool_fini(&blocks);
}

/* Compares the front of q with want[0..n), in iovecs of every kind. */
static void expect_front(const struct outq *q, const uint8_t *want, size_t n, int max)
{
	struct iovec iov[64];
	int count = outq_iov(q, iov, max, n);
	size_t at = 0;

	ck_assert_int_le(count, max);
	for (int i = 0; i < count; i++) {
		ck_assert_uint_gt(iov[i].iov_len, 0);
		ck_assert_uint_le(at + iov[i].iov_len, n);
		ck_assert_int_eq(memcmp(iov[i].iov_base, want + at, iov[i].iov_len), 0);
		at += iov[i].iov_len;
	}
	if (count < max)
		ck_assert_uint_eq(at, n < outq_len(q) ? n : outq_len(q));
}

TEST(copies_lie_together)
{
	struct outq q;

	outq_init(&q, &blocks);
	ck_assert_uint_eq(blocks.live, 0);
	for (size_t i = 0; i < 100; i++)
		ck_assert_int_eq(outq_copy(&q, body + i * 9, 9), 0);
	ck_assert_int_eq(outq_copy(&q, NULL, 0), 0);
	ck_assert_uint_eq(q.count, 1);
	ck_assert_uint_eq(outq_len(&q), 900);
	ck_assert_uint_eq(blocks.live, 1);
	expect_front(&q, body, 900, 64);
	outq_consume(&q, 900);
	ck_assert_uint_eq(blocks.live, 0);
	ck_assert_ptr_null(q.tail);
	outq_clear(&q);
	ck_assert_ptr_null(q.segs);
}

TEST(borrows)
{
	struct outq q;

	outq_init(&q, &blocks);
	/* Small: copied, no reference taken. */
	ck_assert_int_eq(outq_borrow(&q, body, OUTQ_COPY_MAX, &body_ref), 0);
	ck_assert_uint_eq(body_ref.count, 1);
	ck_assert_int_eq(outq_borrow(&q, body + OUTQ_COPY_MAX, OUTQ_COPY_MAX + 1, &body_ref), 0);
	ck_assert_uint_eq(body_ref.count, 2);
	/* A copy after a borrow goes on in the same block, as a segment of its own. */
	ck_assert_int_eq(outq_copy(&q, body + 2 * OUTQ_COPY_MAX + 1, 9), 0);
	ck_assert_uint_eq(q.count, 3);
	ck_assert_uint_eq(blocks.live, 1);
	expect_front(&q, body, outq_len(&q), 64);
	ref_put(&body_ref);
	ck_assert_int_eq(released, 0);
	outq_consume(&q, 2 * OUTQ_COPY_MAX);
	ck_assert_int_eq(released, 0);
	outq_consume(&q, 1);
	ck_assert_int_eq(released, 1);
	ck_assert_uint_eq(outq_len(&q), 9);
	outq_clear(&q);
	ck_assert_uint_eq(blocks.live, 0);
}

/* heads, a large body, small ones: as a connection's output looks. */
static size_t fill(struct outq *q)
{
	static const size_t sizes[] = { 17, 9, 8000, 9, 612, 1, 40000, 9, 2048, OUTQ_BLOCK, 2049,
		30 };
	size_t at = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int rc = i % 2 == 0 ? outq_borrow(q, body + at, sizes[i], &body_ref)
				    : outq_copy(q, body + at, sizes[i]);

		if (rc != 0)
			return 0;
		at += sizes[i];
	}
	return at;
}

TEST(cut_at_every_byte)
{
	static const size_t around[] = { 0, 17, 26, 8026, 8035, 8647, 8648, 48648, 48657, 50705,
		67089 };
	struct outq q;

	for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
		for (size_t cut = around[i] > 3 ? around[i] - 3 : 0; cut <= around[i] + 3; cut++) {
			size_t n;

			outq_init(&q, &blocks);
			n = fill(&q);
			ck_assert_uint_eq(outq_len(&q), n);
			expect_front(&q, body, cut, 64);
			outq_consume(&q, cut);
			expect_front(&q, body + cut, n - cut, 64);
			expect_front(&q, body + cut, n - cut, 2);
			expect_front(&q, body + cut, 5, 64);
			outq_consume(&q, n - cut);
			ck_assert_uint_eq(blocks.live, 0);
			ck_assert_uint_eq(body_ref.count, 1);
			outq_clear(&q);
		}
	}
}

TEST(random_pieces)
{
	struct outq q;
	size_t in = 0, out = 0;
	unsigned seed = 1;

	outq_init(&q, &blocks);
	for (int step = 0; step < 20000; step++) {
		size_t n = (size_t)rand_r(&seed) % (rand_r(&seed) % 8 == 0 ? 20000 : 100);
		size_t at = in % BODY;

		if (n > BODY - at)
			n = BODY - at;
		if (rand_r(&seed) % 3 == 0)
			ck_assert_int_eq(outq_borrow(&q, body + at, n, &body_ref), 0);
		else
			ck_assert_int_eq(outq_copy(&q, body + at, n), 0);
		in += n;
		ck_assert_uint_eq(outq_len(&q), in - out);
		if (rand_r(&seed) % 4 == 0) {
			size_t left = in - out;

			n = rand_r(&seed) % 3 == 0 ? left : (size_t)rand_r(&seed) % (left + 1);
			while (n > 0) {
				size_t piece = BODY - out % BODY < n ? BODY - out % BODY : n;

				expect_front(&q, body + out % BODY, piece, 64);
				outq_consume(&q, piece);
				out += piece;
				n -= piece;
			}
		}
		if (outq_len(&q) == 0) {
			ck_assert_uint_eq(blocks.live, 0);
			ck_assert_uint_le(q.cap, 8);
			ck_assert_uint_eq(body_ref.count, 1);
		}
	}
	outq_clear(&q);
	ck_assert_uint_eq(body_ref.count, 1);
}

TEST(ring_grows_while_turned)
{
	struct outq q;
	size_t in = 0, out = 0;

	outq_init(&q, &blocks);
	for (int i = 0; i < 30; i++) {
		for (int k = 0; k < 3; k++, in += 3000)
			ck_assert_int_eq(outq_borrow(&q, body + in % 90000, 3000, &body_ref), 0);
		expect_front(&q, body + out % 90000, 3000, 64);
		outq_consume(&q, 3000);
		out += 3000;
	}
	ck_assert_uint_eq(q.count, 60);
	ck_assert_uint_eq(q.cap, 64);
	ck_assert_uint_eq(body_ref.count, 61);
	for (; out < in; out += 3000) {
		expect_front(&q, body + out % 90000, 3000, 64);
		outq_consume(&q, 3000);
	}
	ck_assert_uint_eq(q.cap, 0);
	outq_clear(&q);
}

static size_t came_back;

static void on_back(struct ref_file *file, size_t n)
{
	ck_assert_uint_eq(file->ref.count, 1);
	came_back += n;
}

/* A range is a file's alone: it is sent from there, or given back. */
TEST(ranges)
{
	struct ref_file file = { .fd = 7, .back = on_back };
	const uint64_t from = UINT64_C(5) << 32; /* further on than memory goes on some machines */
	struct iovec iov[8];
	struct outq q;
	off_t at;
	int fd;

	ref_init(&file.ref, NULL);
	file.ref.in_file = true;
	came_back = 0;
	outq_init(&q, &blocks);
	ck_assert(!outq_has_range(&q) && !outq_range_is_next(&q) && !outq_return_range(&q));
	ck_assert_int_eq(outq_copy(&q, body, 10), 0);
	ck_assert_int_eq(outq_range(&q, &file, from, 1000), 0);
	ck_assert_uint_eq(outq_len(&q), 1010);
	ck_assert(outq_has_range(&q) && !outq_range_is_next(&q));
	ck_assert_int_eq(outq_iov_memory(&q, iov, 8, SIZE_MAX, SIZE_MAX), 1);
	ck_assert_uint_eq(outq_file(&q, SIZE_MAX, 0, &fd, &at), 0);
	outq_consume(&q, 10);
	ck_assert(outq_range_is_next(&q));
	ck_assert_int_eq(outq_iov_memory(&q, iov, 8, SIZE_MAX, SIZE_MAX), 0);
	/* However short it is. */
	ck_assert_uint_eq(outq_file(&q, SIZE_MAX, SIZE_MAX, &fd, &at), 1000);
	ck_assert(fd == 7 && (uint64_t)at == from);
	outq_consume(&q, 300);
	ck_assert_uint_eq(outq_file(&q, 600, 0, &fd, &at), 600);
	ck_assert_uint_eq((uint64_t)at, from + 300);
	ck_assert(!outq_return_range(&q));
	ck_assert_uint_eq(came_back, 700);
	ck_assert_uint_eq(outq_len(&q), 0);
	ck_assert_ptr_null(q.tail);
	/* Behind what is in front of it; and refused. */
	ck_assert_int_eq(outq_copy(&q, body, 10), 0);
	ck_assert_int_eq(outq_range(&q, &file, 0, 5), 0);
	outq_consume(&q, 10);
	outq_refuse_range(&q);
	ck_assert(outq_return_range(&q));
	ck_assert_uint_eq(came_back, 705);
	ck_assert_int_eq(outq_copy(&q, body, 10), 0);
	ck_assert_int_eq(outq_range(&q, &file, 0, 5), 0);
	ck_assert(!outq_return_range(&q));
	ck_assert_int_eq(outq_copy(&q, body + 10, 10), 0);
	expect_front(&q, body, 20, 8);
	outq_clear(&q);
	ck_assert_uint_eq(file.ref.count, 1);
}

TEST(no_memory)
{
	struct outq q;
	bool done = false;

	for (int limit = 0; !done; limit++) {
		outq_init(&q, &blocks);
		mallocs_left = limit;
		done = fill(&q) > 0 && fill(&q) > 0 && fill(&q) > 0;
		mallocs_left = -1;
		outq_clear(&q);
		ck_assert_uint_eq(blocks.live, 0);
		ck_assert_uint_eq(body_ref.count, 1);
		pool_fini(&blocks);
		ck_assert_int_lt(limit, 20);
		ck_assert(!done || limit > 5);
	}
}

/* Counts what it is asked for. */
static size_t asked;
static unsigned references;
static enum lender_answer answer;

static enum lender_answer needs(struct lender *l, struct ref *ref, const void *p, size_t n)
{
	if (ref != &body_ref)
		return LENDER_OTHER;
	ck_assert((const uint8_t *)p >= body);
	ck_assert((const uint8_t *)p + n <= body + BODY);
	asked += n;
	references++;
	return answer;
}

TEST(asks_for_what_is_left)
{
	struct lender lender = { .needs = needs };
	struct outq q;

	outq_init(&q, &blocks);
	answer = LENDER_COPIES;
	ck_assert(outq_ask(&q, &lender));
	ck_assert_int_eq(outq_copy(&q, body, 9), 0);
	ck_assert_int_eq(outq_borrow(&q, body, 5000, &body_ref), 0);
	ck_assert_int_eq(outq_borrow(&q, body + 5000, 6000, &body_ref), 0);
	outq_consume(&q, 1009);
	ck_assert(outq_ask(&q, &lender));
	ck_assert_uint_eq(asked, 10000);
	ck_assert_uint_eq(references, 2);
	answer = LENDER_REFUSES;
	ck_assert(!outq_ask(&q, &lender));
	ck_assert_uint_eq(references, 4);
	outq_clear(&q);
}
