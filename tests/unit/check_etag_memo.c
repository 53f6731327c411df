/* check_etag_memo: what is remembered, for how long, and by whom. */
#include <sys/wait.h>
#include <unistd.h>

#include "image/etag_memo.h"
#include "unit.h"

#define SECOND INT64_C(1000000000)

static const struct etag tag = { ETAG_CONTENT_LEN, "\"{ungWv48Bz-pB}\"" };
static const struct etag other_tag = { ETAG_CONTENT_LEN, "\"{47DEQpj8HBSa}\"" };
static const struct etag none = { 0 };
static struct etag_memo *m;

static void start(void)
{
	m = etag_memo_new();
	ck_assert_ptr_nonnull(m);
}

static void stop(void)
{
	etag_memo_free(&m);
	ck_assert_ptr_null(m);
}

static bool knows(const struct file_id *id, const struct etag *want)
{
	struct etag got;

	return etag_memo_get(m, id, &got) && slice_eq(etag_slice(&got), etag_slice(want));
}

START_TEST(known)
{
	struct file_id id = { 1, 2, 3, 4 * SECOND, 5 * SECOND };

	ck_assert(!knows(&id, &tag));
	/* Too young to be trusted. */
	etag_memo_put(m, &id, &tag, 6 * SECOND, false);
	ck_assert(!knows(&id, &tag));
	etag_memo_put(m, &id, &tag, 8 * SECOND, true);
	ck_assert(knows(&id, &tag));
	for (int i = 0; i < 5; i++) {
		struct file_id other = id;

		*(i == 0 ? &other.dev : i == 1 ? &other.ino : &other.size) += i < 3;
		other.mtime_ns += i == 3;
		other.ctime_ns += i == 4;
		ck_assert_msg(!knows(&other, &tag), "member %d does not count", i);
	}
	/* A file is one entry, whatever it was before. */
	id.size++;
	etag_memo_put(m, &id, &other_tag, 20 * SECOND, true);
	ck_assert(knows(&id, &other_tag));
	id.size--;
	ck_assert(!knows(&id, &tag));
}
END_TEST

START_TEST(bounded)
{
	struct file_id id = { .dev = 1 }, kept = { .dev = 7, .ino = 7 };
	unsigned n = 0;

	etag_memo_put(m, &kept, &tag, 3 * SECOND, true);
	for (id.ino = 0; id.ino < 50000; id.ino++) {
		etag_memo_put(m, &id, &tag, 3 * SECOND, true);
		/* What is asked for again and again stays. */
		ck_assert(knows(&kept, &tag));
	}
	for (id.ino = 0; id.ino < 50000; id.ino++)
		n += knows(&id, &tag);
	ck_assert_uint_le(n, ETAG_MEMO_SETS * ETAG_MEMO_WAYS);
	ck_assert_uint_gt(n, ETAG_MEMO_SETS * ETAG_MEMO_WAYS / 2);
}
END_TEST

/* What goes on changing is hashed a few times in a row, then once in two seconds. */
START_TEST(restless)
{
	struct file_id id = { 1, 2, 3, SECOND, SECOND };
	int64_t now = 100 * SECOND;
	unsigned hashed = 0;

	for (int tenth = 0; tenth < 100; tenth++, now += SECOND / 10) {
		id.size++;
		if (etag_memo_restless(m, &id, now))
			continue;
		etag_memo_put(m, &id, &tag, now, true);
		hashed++;
	}
	ck_assert_uint_ge(hashed, 5);
	ck_assert_uint_le(hashed, ETAG_MEMO_RESTLESS + 10 / 2);
	/* What will not hold still is not tried at once again. */
	id.ino++;
	ck_assert(!etag_memo_restless(m, &id, now));
	etag_memo_put(m, &id, &none, now, true);
	ck_assert(etag_memo_restless(m, &id, now + SECOND));
	ck_assert(!etag_memo_restless(m, &id, now + 2 * SECOND));
	/* Another file has its inode. */
	etag_memo_forget(m, &id);
	ck_assert(!etag_memo_restless(m, &id, now));
	etag_memo_put(m, &id, &none, now, true);
	/* The clock was set back. */
	ck_assert(!etag_memo_restless(m, &id, now - SECOND));
}
END_TEST

START_TEST(shared)
{
	struct file_id id = { 1, 2, 3, 4, 5 };
	struct etag_memo *one = etag_memo_shared();
	int status;
	pid_t pid;

	ck_assert_ptr_eq(etag_memo_shared(), one);
	pid = fork();
	if (pid == 0) {
		etag_memo_put(one, &id, &tag, 10 * SECOND, true);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	m = one;
	ck_assert(knows(&id, &tag));
}
END_TEST

/* Whoever wrote it: no field of a response is made of anything else. */
START_TEST(no_tag)
{
	static const char *const bad[] = { "\"{ungWv48Bz-p\r}\"", "\"{ungWv\n8Bz-pB}\"",
		"x{ungWv48Bz-pB}\"", "\"{ungWv48Bz-pB}x", "\"{ungWv\"8Bz-pB}\"",
		"\"\rungWv48Bz-pB}\"", "\"{ungWv48Bz-pB\r\"" };
	struct file_id id = { 1, 2, 3, 4, 5 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct etag e = { .n = ETAG_CONTENT_LEN }, got;

		memcpy(e.text, bad[i], ETAG_CONTENT_LEN);
		etag_memo_put(m, &id, &e, 10 * SECOND, true);
		ck_assert_msg(!etag_memo_get(m, &id, &got), "%s", bad[i]);
	}
}
END_TEST

static TCase *tests(void)
{
	TCase *tc = tcase_create("etag_memo");

	tcase_add_checked_fixture(tc, start, stop);
	tcase_add_test(tc, known);
	tcase_add_test(tc, bounded);
	tcase_add_test(tc, restless);
	tcase_add_test(tc, shared);
	tcase_add_test(tc, no_tag);
	return tc;
}

UNIT_MAIN("etag_memo")
