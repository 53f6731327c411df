/* check_etag: content hashes, the form for large files, and the memo. */
#include "image/etag.h"
#include "unit.h"

enum { SECOND = 1000000000 };

static struct etag hash_of(const char *data, size_t n, size_t piece)
{
	struct etag_hash *h = etag_hash_new();
	struct etag e;

	ck_assert_ptr_nonnull(h);
	/* Twice: a hash is reusable. */
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(etag_hash_begin(h), 0);
		for (size_t at = 0; at < n; at += piece)
			ck_assert_int_eq(
				etag_hash_add(h, data + at, n - at < piece ? n - at : piece), 0);
		ck_assert_int_eq(etag_hash_end(h, &e), 0);
	}
	etag_hash_free(&h);
	return e;
}

START_TEST(content)
{
	/* SHA-256("abc") begins with ba7816bf 8f01cfea 41. */
	struct etag e = hash_of("abc", 3, 3), one = hash_of("abc", 3, 1);

	ck_assert_uint_eq(e.n, ETAG_CONTENT_LEN);
	ck_assert_mem_eq(e.text, "\"ungWv48Bz-pB\"", ETAG_CONTENT_LEN);
	ck_assert(slice_eq(etag_slice(&e), etag_slice(&one)));
	e = hash_of("", 0, 1);
	ck_assert_mem_eq(e.text, "\"47DEQpj8HBSa\"", ETAG_CONTENT_LEN);
}
END_TEST

START_TEST(large)
{
	struct file_id id = { .size = 0x123456789a, .mtime_ns = -1 };
	struct etag e;

	etag_of_size(&id, &e);
	ck_assert(slice_eq(etag_slice(&e), SLICE("\"123456789a-ffffffffffffffff\"")));
	id = (struct file_id){ .size = UINT64_MAX, .mtime_ns = INT64_MAX };
	etag_of_size(&id, &e);
	ck_assert(slice_eq(etag_slice(&e), SLICE("\"ffffffffffffffff-7fffffffffffffff\"")));
}
END_TEST

START_TEST(memo)
{
	struct etag_memo *m = etag_memo_new();
	struct etag e = hash_of("abc", 3, 3), got = { 0 };
	struct file_id id = { 1, 2, 3, 4 * (int64_t)SECOND, 5 * (int64_t)SECOND };
	int64_t later = 8 * (int64_t)SECOND;
	struct file_id other;

	ck_assert(!etag_memo_get(m, &id, &got));
	/* Too young to be trusted. */
	etag_memo_put(m, &id, &e, 6 * (int64_t)SECOND);
	ck_assert(!etag_memo_get(m, &id, &got));
	etag_memo_put(m, &id, &e, later);
	ck_assert(etag_memo_get(m, &id, &got));
	ck_assert(slice_eq(etag_slice(&e), etag_slice(&got)));
	for (int i = 0; i < 5; i++) {
		other = id;
		*(i == 0 ? &other.dev : i == 1 ? &other.ino : &other.size) += i < 3;
		other.mtime_ns += i == 3;
		other.ctime_ns += i == 4;
		ck_assert_msg(!etag_memo_get(m, &other, &got), "member %d does not count", i);
	}
	etag_memo_free(&m);
	ck_assert_ptr_null(m);
}
END_TEST

START_TEST(memo_is_bounded)
{
	struct etag_memo *m = etag_memo_new();
	struct etag e = hash_of("abc", 3, 3), got;
	struct file_id id = { .dev = 1 }, kept = { .dev = 7, .ino = 7 };
	unsigned known = 0;

	etag_memo_put(m, &kept, &e, 3 * (int64_t)SECOND);
	for (id.ino = 0; id.ino < 50000; id.ino++) {
		etag_memo_put(m, &id, &e, 3 * (int64_t)SECOND);
		/* What is asked for again and again stays. */
		ck_assert(etag_memo_get(m, &kept, &got));
	}
	for (id.ino = 0; id.ino < 50000; id.ino++)
		known += etag_memo_get(m, &id, &got);
	ck_assert_uint_le(known, ETAG_MEMO_SETS * ETAG_MEMO_WAYS);
	ck_assert_uint_gt(known, ETAG_MEMO_SETS * ETAG_MEMO_WAYS / 2);
	etag_memo_free(&m);
}
END_TEST

/* Within a tick of the last change a further one may not be seen. */
START_TEST(time_stamps_tell)
{
	static const struct {
		int64_t ctime_ns, now_ns;
		bool tells;
	} cases[] = {
		{ 1700000000004000001, 1700000000004000001, false }, /* the same tick */
		{ 1700000000004000001, 1700000000008000001, true },
		{ 1700000000004000001, 1700000000000000001,
			false }, /* finer than the coarse clock */
		{ 1700000000004000001, 1600000000000000000, true },  /* another clock */
		{ 1700000000000000000, 1700000001500000000, false }, /* whole seconds */
		{ 1700000000000000000, 1700000002000000001, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct file_id id = { .ctime_ns = cases[i].ctime_ns };

		ck_assert_msg(file_id_tells(&id, cases[i].now_ns) == cases[i].tells, "case %zu", i);
	}
}
END_TEST

static TCase *tests(void)
{
	TCase *tc = tcase_create("etag");

	tcase_add_test(tc, content);
	tcase_add_test(tc, large);
	tcase_add_test(tc, memo);
	tcase_add_test(tc, memo_is_bounded);
	tcase_add_test(tc, time_stamps_tell);
	return tc;
}

UNIT_MAIN("etag")
