/* check_hasher: long files are hashed one after the other, each once, and only as long as they
 * rest. */
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "files/hasher.h"
#include "image/beneath.h"
#include "tree_unit.h"
#include "unit.h"

enum { LONG = 70000001, SHORT = 300000 };

static struct loop loop;
static struct offload *offload;
static struct etag_memo *memo;
static struct hasher *hasher;

static void start(void)
{
	tree_init();
	clock_update();
	ck_assert_int_eq(loop_init(&loop), 0);
	offload = offload_new(&loop, 2);
	memo = etag_memo_new();
	hasher = hasher_new(offload, memo);
	ck_assert(offload != NULL && hasher != NULL);
}

static void stop(void)
{
	hasher_free(&hasher);
	offload_free(&offload);
	etag_memo_free(&memo);
	loop_fini(&loop);
	ck_assert_int_eq(counters->offload_jobs, 0);
	tree_fini();
}

static struct file_id id_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(stat(tree_path(name), &st), 0);
	return file_id_of(&st);
}

static void ask(const char *name)
{
	struct file_id id = id_of(name);
	int fd = open(tree_path(name), O_RDONLY | O_CLOEXEC);

	hasher_ask(hasher, fd, &id, JOB_FILE, tree);
	close(fd);
}

static void settle(void)
{
	while (offload_pending(offload) > 0)
		ck_assert_int_eq(loop_turn(&loop, 1000), 0);
}

static void expect(const char *name, const char *data, size_t n)
{
	struct etag_hash *h = etag_hash_new();
	struct file_id id = id_of(name);
	struct etag want, got = { 0 };

	ck_assert_int_eq(etag_hash_begin(h), 0);
	ck_assert_int_eq(etag_hash_add(h, data, n), 0);
	ck_assert_int_eq(etag_hash_end(h, &want), 0);
	etag_hash_free(&h);
	ck_assert(etag_memo_get(memo, &id, &got));
	ck_assert(slice_eq(etag_slice(&got), etag_slice(&want)));
}

START_TEST(each_once)
{
	char *data = tree_bytes(LONG, 3);

	tree_write("long", data, LONG);
	tree_write("short", data, SHORT);
	for (int i = 0; i < 5; i++) {
		ask("long");
		ask("short");
	}
	settle();
	ck_assert_uint_eq(counters->files_hashed, 2);
	expect("long", data, LONG);
	expect("short", data, SHORT);
	free(data);
}
END_TEST

START_TEST(changes_meanwhile)
{
	char *data = tree_bytes(LONG, 3);
	struct file_id id;
	struct etag e;
	int fd;

	tree_write("long", data, LONG);
	ask("long");
	while (counters->files_hashed == 0 && counters->offload_queued > 0)
		ck_assert_int_eq(loop_turn(&loop, 1000), 0);
	fd = open(tree_path("long"), O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, "xyz", 3, 5), 3);
	close(fd);
	tree_date("long", 784111777);
	settle();
	id = id_of("long");
	ck_assert_uint_eq(counters->files_hashed, 1);
	ck_assert(!etag_memo_get(memo, &id, &e));
	free(data);
}
END_TEST

START_TEST(only_so_many_wait)
{
	char *data = tree_bytes(SHORT, 3), name[16];

	for (int i = 0; i < 2 * HASHER_LINE; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		tree_write(name, data, SHORT);
		ask(name);
	}
	settle();
	ck_assert_uint_eq(counters->files_hashed, HASHER_LINE);
	free(data);
}
END_TEST

/* Another worker was faster. */
START_TEST(known_by_now)
{
	static const struct etag tag = { ETAG_CONTENT_LEN, "\"{ungWv48Bz-pB}\"" };
	struct file_id id;

	tree_text("f", "text");
	id = id_of("f");
	etag_memo_put(memo, &id, &tag, id.ctime_ns, true);
	ask("f");
	settle();
	ck_assert_uint_eq(counters->files_hashed, 0);
}
END_TEST

/* In the middle of it: stop() finds nothing left. */
START_TEST(ends)
{
	char *data = tree_bytes(LONG, 3);

	tree_write("a", data, LONG);
	tree_write("b", data, LONG);
	tree_write("c", data, LONG);
	ask("a");
	ask("b");
	ask("c");
	free(data);
}
END_TEST

static TCase *tests(void)
{
	TCase *tc = tcase_create("hasher");

	tcase_add_checked_fixture(tc, start, stop);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, each_once);
	tcase_add_test(tc, changes_meanwhile);
	tcase_add_test(tc, only_so_many_wait);
	tcase_add_test(tc, known_by_now);
	tcase_add_test(tc, ends);
	return tc;
}

UNIT_MAIN("hasher")
