/* check_body_parts: multipart/byteranges byte for byte, in pieces of any size, over a source that
 * waits. */
#include "files/reply_conditional.h"

#include "base/pool.h"
#include "unit.h"

static const char content[] = "0123456789abcdefghij";

static struct pool blocks;
static char memory[4096];
static struct arena arena;
static unsigned closed, rested;

UNIT_SETUP(start)
{
	pool_init(&blocks, OUTQ_BLOCK, 4);
	arena_init(&arena, memory, sizeof(memory), 1 << 16);
	closed = rested = 0;
}

UNIT_TEARDOWN(stop)
{
	arena_reset(&arena);
	pool_fini(&blocks);
}

/* A source that waits every other time, and has three bytes at most. */
static bool wait_now;

static ssize_t slow_ready(struct body *b, size_t want)
{
	size_t n = b->left < 3 ? (size_t)b->left : 3;

	ck_assert_uint_gt(b->left, 0);
	wait_now = !wait_now;
	if (wait_now)
		return BODY_LATER;
	return (ssize_t)(n < want ? n : want);
}

static int slow_emit(struct body *b, size_t n, struct outq *q)
{
	const char *p = b->p;

	b->p += n;
	b->left -= n;
	return outq_copy(q, p, n);
}

static void slow_seek(struct body *b, uint64_t at, uint64_t n)
{
	b->p = content + at;
	b->left = n;
}

/* Whatever is given back comes again. */
static void slow_rest(struct body *b)
{
	rested++;
	wait_now = false;
}

static void slow_close(struct body *b)
{
	closed++;
}

static const struct body_ops slow_ops = {
	.name = "slow",
	.ready = slow_ready,
	.emit = slow_emit,
	.seek = slow_seek,
	.rest = slow_rest,
	.close = slow_close,
};

/* At least n bytes of it in pieces of step bytes; how many there were. */
static size_t read_until(struct body *b, size_t least, size_t step, char *out)
{
	struct outq q;
	size_t at = 0;

	outq_init(&q, &blocks);
	while (at < least && b->left > 0) {
		ssize_t n = b->ops->ready(b, step);
		struct iovec iov[4];
		int count;

		if (n == BODY_LATER)
			continue;
		ck_assert_int_gt(n, 0);
		ck_assert_int_le(n, (ssize_t)step);
		ck_assert_int_eq(b->ops->emit(b, (size_t)n, &q), 0);
		count = outq_iov(&q, iov, 4, SIZE_MAX);
		for (int i = 0; i < count; i++) {
			memcpy(out + at, iov[i].iov_base, iov[i].iov_len);
			at += iov[i].iov_len;
		}
		outq_consume(&q, outq_len(&q));
	}
	outq_clear(&q);
	return at;
}

static size_t read_all(struct body *b, size_t step, char *out)
{
	return read_until(b, SIZE_MAX, step, out);
}

static const struct ranges ranges = { 3, { { 15, 5 }, { 0, 1 }, { 4, 3 } } };

static struct body of(bool slow)
{
	struct body b;

	body_none(&b);
	if (slow) {
		b.ops = &slow_ops;
		b.left = 20;
	} else {
		body_memory(&b, content, 20, NULL);
	}
	return b;
}

TEST_EACH(bytes, 2)
{
	static const size_t steps[] = { 1, 2, 3, 7, 64, 4096 };
	struct slice type;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct body b = of(_i);
		char wanted[1024], got[1024];
		const char *boundary;
		size_t n;

		ck_assert_int_eq(
			body_parts(&b, &ranges, 20, SLICE("text/plain"), &type, &arena), 0);
		ck_assert(slice_starts(type, SLICE("multipart/byteranges; boundary=")));
		boundary = strchr(type.p, '=') + 1;
		ck_assert_uint_eq(strlen(boundary), 32);
		n = (size_t)snprintf(wanted, sizeof(wanted),
			"\r\n--%s\r\ncontent-type: text/plain\r\ncontent-range: bytes "
			"15-19/20\r\n\r\nfghij"
			"\r\n--%s\r\ncontent-type: text/plain\r\ncontent-range: bytes "
			"0-0/20\r\n\r\n0"
			"\r\n--%s\r\ncontent-type: text/plain\r\ncontent-range: bytes "
			"4-6/20\r\n\r\n456"
			"\r\n--%s--\r\n",
			boundary, boundary, boundary, boundary);
		ck_assert_uint_eq(b.left, n);
		ck_assert_uint_eq(read_all(&b, steps[i], got), n);
		ck_assert_mem_eq(got, wanted, n);
		body_close(&b);
		ck_assert_ptr_null(b.ops);
	}
	ck_assert_uint_eq(closed, _i ? sizeof(steps) / sizeof(steps[0]) : 0);
}

TEST(boundaries_differ)
{
	struct slice one, two;
	struct body a = of(false), b = of(false);

	ck_assert_int_eq(body_parts(&a, &ranges, 20, SLICE("a/b"), &one, &arena), 0);
	ck_assert_int_eq(body_parts(&b, &ranges, 20, SLICE("a/b"), &two, &arena), 0);
	ck_assert(!slice_eq(one, two));
	body_close(&a);
	body_close(&b);
}

/* At every amount of memory: done, or as before. */
TEST(out_of_memory)
{
	bool done = false;

	for (size_t cap = 0; !done && cap < sizeof(memory); cap += 8) {
		struct body b = of(true), before = b;
		struct slice type;

		arena_init(&arena, memory, cap, 0);
		done = body_parts(&b, &ranges, 20, SLICE("a/b"), &type, &arena) == 0;
		if (!done)
			ck_assert_mem_eq(&b, &before, sizeof(b));
		body_close(&b);
		arena_reset(&arena);
	}
	ck_assert(done);
}

/* What the source has at hand is given back in the middle of a part, and of what stands between
 * two; a source that has nothing to give is not asked. */
TEST(rests)
{
	for (int slow = 0; slow < 2; slow++) {
		struct body b = of(slow);
		struct slice type;
		char got[1024];
		size_t n, at = 0;

		ck_assert_int_eq(body_parts(&b, &ranges, 20, SLICE("a/b"), &type, &arena), 0);
		n = (size_t)b.left;
		while (b.left > 0) {
			at += read_until(&b, 1, 1, got + at);
			b.ops->rest(&b);
		}
		ck_assert_uint_eq(at, n);
		ck_assert_uint_eq(rested, slow ? n : 0);
		ck_assert_ptr_nonnull(memmem(got, n, "15-19/20\r\n\r\nfghij\r\n", 19));
		body_close(&b);
	}
}

/* Closed before its end, the source goes too. */
TEST(closed_early)
{
	struct body b = of(true);
	struct slice type;

	ck_assert_int_eq(body_parts(&b, &ranges, 20, SLICE("a/b"), &type, &arena), 0);
	ck_assert_uint_eq(closed, 0);
	body_close(&b);
	ck_assert_uint_eq(closed, 1);
}

static size_t asked_from, asked_to, asked;
static enum lender_answer answer;

static enum lender_answer needs(struct lender *l, struct ref *ref, const void *p, size_t n)
{
	asked++;
	asked_from = (size_t)((const char *)p - content);
	asked_to = asked_from + n;
	return answer;
}

static void keep(struct ref *ref)
{
}

/* What is asked for is all that is still to be sent, wherever it is. */
TEST(asks_for_what_is_left)
{
	struct lender lender = { .needs = needs };
	struct body b = of(false);
	char got[1024];
	struct slice type;
	struct ref ref;
	size_t all;

	ref_init(&ref, keep);
	body_memory(&b, content, 20, &ref);
	ck_assert_int_eq(body_parts(&b, &ranges, 20, SLICE("a/b"), &type, &arena), 0);
	all = b.left;
	answer = LENDER_COPIES;
	for (body_ask(&b, &lender); asked_to == 20 && b.left > 0; body_ask(&b, &lender)) {
		ck_assert_uint_eq(asked_from, 0);
		read_until(&b, 1, 1, got);
	}
	/* The first part is sent, and all that is left is the second and third. */
	ck_assert_uint_eq(asked_from, 0);
	ck_assert_uint_eq(asked_to, 7);
	ck_assert_mem_eq(got, "j", 1);
	ck_assert_uint_gt(all - b.left, 80);
	answer = LENDER_REFUSES;
	asked = 0;
	body_ask(&b, &lender);
	ck_assert_uint_eq(asked, 1);
	ck_assert_uint_eq(ref.count, 1);
	ck_assert_int_eq(b.ops->ready(&b, 10), BODY_FAILED);
	body_ask(&b, &lender);
	ck_assert_uint_eq(asked, 1);
	body_close(&b);
}
