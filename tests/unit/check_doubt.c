/*
 * check_doubt: a worker's doubt_client and keepers as processes of their own: what is asked is
 * marked when the answer comes, and no keeper, whatever happens to it, delays an answer for longer
 * than its image is used.
 */

#include "base/clock.h"
#include "base/counters.h"
#include "files/doubt_client.h"
#include "image/doc_root.h"
#include "image/image.h"
#include "ipc/ctl.h"
#include "keeper/keeper.h"
#include "loop_unit.h"
#include "tree_unit.h"

enum { KEEPERS = 2, MANY = 3000, PATHS = 32 };

static struct doubt_client client;

/* A keeper, and what the master has of it. */
static struct unit_keeper {
	pid_t pid;
	int ctl, doubts[2];
	int image[CTL_FDS_MAX], nimage;
} keepers[KEEPERS];

static void start(struct unit_keeper *k, bool replaces)
{
	int fds[2];

	ck_assert_int_eq(scm_pair(fds), 0);
	k->ctl = fds[0];
	fflush(NULL);
	k->pid = fork();
	ck_assert_int_ge(k->pid, 0);
	if (k->pid == 0) {
		struct doc_root root = { .root = tree, .charset = "" };

		/* Each would keep the other's end open. */
		for (int i = 0; i < KEEPERS; i++) {
			close(keepers[i].doubts[1]);
			if (&keepers[i] != k)
				close(keepers[i].doubts[0]);
		}
		for (int i = 0; i < DOUBT_KEEPERS; i++)
			close(client.keepers[i].watch.fd);
		close(fds[0]);
		_exit(keeper_run(&(struct gifts){
			.files =
				&(const struct doc_roots){
					.roots = &root, .nroots = 1, .max_file_size = 1 << 20 },
			.cache_size = 1 << 20,
			.ctl = fds[1],
			.doubts = { k->doubts, 1 },
			.replaces = replaces,
			.generation = 1,
			.first_image = 1,
		}));
	}
	close(fds[1]);
}

static void let_go(struct unit_keeper *k)
{
	while (k->nimage > 0)
		close(k->image[--k->nimage]);
}

static void wait_image(struct unit_keeper *k)
{
	struct pollfd p = { .fd = k->ctl, .events = POLLIN };
	struct ctl_msg msg;

	let_go(k);
	do {
		ck_assert_int_eq(poll(&p, 1, 30000), 1);
		ck_assert_int_eq(ctl_recv(k->ctl, &msg, k->image, &k->nimage), 1);
	} while (msg.type != CTL_IMAGE);
}

/* One with the only file: on a busy machine the first is empty, as the thread that waits for
 * writers of the new file may be late. */
static void wait_file(struct unit_keeper *k)
{
	struct image_head head;

	do {
		wait_image(k);
		ck_assert_int_eq(pread(k->image[0], &head, sizeof(head), 0), sizeof(head));
	} while (head.nentries == 0);
}

static void stop(struct unit_keeper *k)
{
	if (k->pid == 0)
		return;
	kill(k->pid, SIGKILL);
	ck_assert_int_eq(waitpid(k->pid, NULL, 0), k->pid);
	close(k->ctl);
	let_go(k);
	k->pid = 0;
}

UNIT_SETUP(unit_start)
{
	ck_assert_int_eq(doubt_client_init(&client, &loop), 0);
	for (int i = 0; i < KEEPERS; i++)
		ck_assert_int_eq(scm_pair(keepers[i].doubts), 0);
}

UNIT_TEARDOWN(unit_end)
{
	for (int i = 0; i < KEEPERS; i++)
		stop(&keepers[i]);
	doubt_client_fini(&client);
}

static void know(struct unit_keeper *k)
{
	doubt_client_add(&client, dup(k->doubts[1]));
}

/* --- what is asked ---------------------------------------------------------------------------- */

static unsigned ndone;

static void count_done(struct doubt *d)
{
	ndone++;
}

static struct doubt doubt_of(const char *path)
{
	struct stat st;

	ck_assert_int_eq(stat(tree, &st), 0);
	return (struct doubt){
		.dev = st.st_dev, .ino = st.st_ino, .path = slice_str(path), .done = count_done
	};
}

/* Asks and waits for the answer: milliseconds. */
static uint64_t ask(const char *path)
{
	struct doubt d = doubt_of(path);
	uint64_t start_us = clock_read_us();
	unsigned before = ndone;

	ck_assert(doubt_client_ask(&client, &d));
	while (ndone == before)
		ck_assert_int_eq(loop_turn(&loop, 10000), 0);
	ck_assert_uint_eq(ndone, before + 1);
	return (clock_read_us() - start_us) / 1000;
}

/* As often as it takes: a keeper that a busy machine lets wait for a second is not waited for. */
static void ask_until_answered(const char *path)
{
	int64_t answered = counters->doubts_answered;

	do
		ask(path);
	while (counters->doubts_answered == answered);
}

static bool is_stale(const struct unit_keeper *k)
{
	uint8_t stale = 0;

	ck_assert_int_eq(pread(k->image[1], &stale, 1, offsetof(struct image_marks, stale)), 1);
	return stale != 0;
}

TEST(marked_when_answered)
{
	struct unit_keeper *k = &keepers[0];
	char *map;
	int fd;

	tree_text("a", "one");
	fd = open(tree_path("a"), O_RDWR | O_CLOEXEC);
	map = mmap(NULL, 3, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	know(k);
	start(k, false);
	wait_file(k);
	ck_assert(!is_stale(k));
	/* Of a write through a mapping the kernel tells nobody. */
	memcpy(map, "two", 3);
	ask_until_answered("/a");
	ck_assert(is_stale(k));
	/* Names that are not there, or are nobody's, are answered as well. */
	ask_until_answered("/b");
	ask_until_answered("/none/b");
	ask_until_answered("/.hidden");
	ck_assert_int_eq(counters->doubts_answered, 4);
	ck_assert_int_eq(counters->doubts_timed_out, counters->doubts_asked - 4);
	munmap(map, 3);
	close(fd);
}

TEST(stopped)
{
	struct unit_keeper *k = &keepers[0];
	uint64_t ms;

	tree_text("a", "one");
	know(k);
	start(k, false);
	wait_file(k);
	ck_assert_int_eq(kill(k->pid, SIGSTOP), 0);
	ms = ask("/a");
	ck_assert_uint_ge(ms, IMAGE_TICK_MAX_MS);
	ck_assert_uint_lt(ms, 20 * IMAGE_TICK_MAX_MS);
	ck_assert_int_eq(counters->doubts_timed_out, 1);
	/* It still does what it was asked; the late answer is nobody's. */
	ck_assert_int_eq(kill(k->pid, SIGCONT), 0);
	ask_until_answered("/b");
	ck_assert(is_stale(k));
	ck_assert_int_eq(counters->doubts_answered, 1);
}

/* More than its queue holds, while it is stopped. */
static void ask_many(const struct unit_keeper *k)
{
	static struct doubt doubts[MANY];
	static char paths[MANY][PATHS];
	struct doubt cancelled = doubt_of("/cancelled");
	unsigned before = ndone;

	ck_assert_int_eq(kill(k->pid, SIGSTOP), 0);
	ck_assert(doubt_client_ask(&client, &cancelled));
	for (int i = 0; i < MANY; i++) {
		snprintf(paths[i], PATHS, "/%d", i);
		doubts[i] = doubt_of(paths[i]);
		ck_assert(doubt_client_ask(&client, &doubts[i]));
	}
	doubt_client_cancel(&cancelled);
	ck_assert_int_ne(doubts[MANY - 1].unsent, 0);
	ck_assert_int_eq(kill(k->pid, SIGCONT), 0);
	while (ndone < before + MANY)
		ck_assert_int_eq(loop_turn(&loop, 10000), 0);
}

TEST(many)
{
	struct unit_keeper *k = &keepers[0];
	int64_t answered;
	int rounds = 0;

	know(k);
	start(k, false);
	wait_image(k);
	/* On a busy machine most may have to be given up, and then the next round is better. */
	do {
		answered = counters->doubts_answered;
		ask_many(k);
		rounds++;
		ck_assert_int_eq(
			counters->doubts_answered + counters->doubts_timed_out, rounds * MANY);
	} while (counters->doubts_answered - answered <= MANY / 4);
}

/* The next keeper finds what the last one left, and answers when its images are used no more. */
TEST(killed)
{
	struct unit_keeper *k = &keepers[0];
	struct doubt d = doubt_of("/a");
	uint64_t began;

	tree_text("a", "one");
	know(k);
	start(k, false);
	wait_image(k);
	ck_assert_int_eq(kill(k->pid, SIGSTOP), 0);
	began = clock_read_us() / 1000;
	ck_assert(doubt_client_ask(&client, &d));
	stop(k);
	start(k, true);
	wait_image(k);
	while (ndone == 0)
		ck_assert_int_eq(loop_turn(&loop, 10000), 0);
	ck_assert_uint_ge(clock_read_us() / 1000 - began, IMAGE_TICK_MAX_MS);
	ask_until_answered("/a");
}

/* After a reload: its images may be used for a while, then nobody waits for it. */
TEST(gone_for_good)
{
	struct unit_keeper *k = &keepers[0];
	struct doubt d = doubt_of("/a");
	uint64_t began;

	know(k);
	start(k, false);
	wait_image(k);
	ask_until_answered("/a");
	began = clock_read_us() / 1000;
	stop(k);
	close(k->doubts[0]);
	ck_assert_int_eq(loop_turn(&loop, 10000), 0);
	ck_assert(doubt_client_ask(&client, &d));
	doubt_client_cancel(&d);
	while (clock_read_us() / 1000 <= client.keepers[0].gone_ms + IMAGE_TICK_MAX_MS)
		poll(NULL, 0, 10);
	ck_assert_uint_ge(clock_read_us() / 1000 - began, IMAGE_TICK_MAX_MS);
	ck_assert(!doubt_client_ask(&client, &d));
	/* Its place is another's. */
	know(&keepers[1]);
	start(&keepers[1], false);
	wait_image(&keepers[1]);
	ask_until_answered("/a");
}

/* As the master does at a reload. */
static void dismiss(struct unit_keeper *k)
{
	close(k->ctl);
	close(k->doubts[0]);
}

static void wait_exit(struct unit_keeper *k)
{
	int status;

	ck_assert_int_eq(waitpid(k->pid, &status, 0), k->pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	k->pid = 0;
}

static uint64_t age_of_tick(const struct unit_keeper *k)
{
	uint64_t tick;

	ck_assert_int_eq(
		pread(k->image[1], &tick, sizeof(tick), offsetof(struct image_marks, tick_ms)),
		sizeof(tick));
	return clock_now_ms() - tick;
}

/* One that is dismissed takes its images back: nobody waits for it, who has asked or asks. */
TEST(dismissed)
{
	struct unit_keeper *k = &keepers[0];
	struct doubt d = doubt_of("/a");
	unsigned before;

	tree_text("a", "one");
	know(k);
	start(k, false);
	wait_file(k);
	ask_until_answered("/a");
	before = ndone;
	ck_assert_int_eq(kill(k->pid, SIGSTOP), 0);
	ck_assert(doubt_client_ask(&client, &d));
	dismiss(k);
	ck_assert_int_eq(kill(k->pid, SIGCONT), 0);
	wait_exit(k);
	ck_assert_uint_gt(age_of_tick(k), 1000UL * IMAGE_TICK_MAX_MS);
	ck_assert_int_eq(loop_turn(&loop, 10000), 0);
	ck_assert_uint_eq(ndone, before + 1);
	ck_assert(!doubt_client_ask(&client, &d));
	let_go(k);
}

/* The images of the one before it are used yet. */
TEST(dismissed_too_early)
{
	struct unit_keeper *k = &keepers[0];
	uint64_t killed_ms;

	know(k);
	start(k, false);
	wait_image(k);
	killed_ms = clock_now_ms();
	stop(k);
	start(k, true);
	dismiss(k);
	wait_exit(k);
	ck_assert_int_eq(loop_turn(&loop, 10000), 0);
	ck_assert(client.keepers[0].gone_ms != 0 || clock_now_ms() - killed_ms > IMAGE_TICK_MAX_MS);
}

TEST(two_generations)
{
	tree_text("a", "one");
	for (int i = 0; i < 2; i++) {
		know(&keepers[i]);
		start(&keepers[i], false);
		wait_file(&keepers[i]);
	}
	ask_until_answered("/a");
	ck_assert(is_stale(&keepers[0]) && is_stale(&keepers[1]));
	/* One answer is not enough. */
	ck_assert_int_eq(kill(keepers[0].pid, SIGSTOP), 0);
	ck_assert_uint_ge(ask("/a"), IMAGE_TICK_MAX_MS);
}

TEST(nobody)
{
	struct doubt d = doubt_of("/a");

	ck_assert(!doubt_client_ask(&client, &d));
	ck_assert_int_eq(counters->doubts_asked, 0);
}

/* A worker gone mad gets no answer, and others do. */
TEST(malformed)
{
	static const char *const wrong[] = { "", "/", "a", "/a/", "/a/../a/" };
	struct unit_keeper *k = &keepers[0];
	struct doubt_msg msg = { 0 };
	char raw[64] = { 0 };

	know(k);
	start(k, false);
	wait_image(k);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_int_eq(
			doubt_send(k->doubts[1], &msg, slice_str(wrong[i]), client.answer), 0);
	ck_assert_int_eq(doubt_send(k->doubts[1], &msg, slice_of(raw, 9), client.answer), 0);
	ck_assert_int_eq(send(k->doubts[1], raw, 3, 0), 3);
	ck_assert_int_eq(send(k->doubts[1], raw, sizeof(raw), 0), sizeof(raw));
	ask_until_answered("/a");
	ck_assert_int_eq(counters->doubts_answered, 1);
}
