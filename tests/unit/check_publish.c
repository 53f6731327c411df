/* check_publish: what is looked at before a reader is told that an image is right. */
#include <sys/syscall.h>
#include <time.h>

#include "base/clock.h"
#include "keeper/keeper.h"
#include "unit.h"

static struct doc_root root = { .root = "/a", .charset = "" };
static struct doc_roots conf = {
	.roots = &root, .nroots = 1, .max_size = 1 << 20, .max_file_size = 1
};
static struct loop loop;
static struct segments store;
static struct catalog catalog;
static struct publish publish;
static char buf[1];
static unsigned nchecked, nsent, checked_when_sent;
static uint64_t checked_ms;
static int held[16]; /* life pipes of what was sent, as workers hold them */
static bool holding;
static unsigned stolen_s; /* by others, each time somebody looks at the clock */

/* In place of libc's: of a machine that others keep busy. */
int clock_gettime(clockid_t id, struct timespec *t)
{
	static time_t stolen;
	long rc = syscall(SYS_clock_gettime, id, t);

	if (id == CLOCK_MONOTONIC)
		t->tv_sec += stolen += stolen_s;
	return (int)rc;
}

static void check(void *ctx)
{
	struct timespec moment = { .tv_nsec = 20000000 };

	nchecked++;
	checked_ms = clock_read_us() / 1000;
	nanosleep(&moment, NULL);
}

static int send_image(void *ctx, const struct built_image *img)
{
	held[nsent] = holding ? dup(img->fds[2]) : -1;
	nsent++;
	checked_when_sent = nchecked;
	return 0;
}

static void room(void *ctx)
{
}

static void gone(void *ctx, struct catalog_file *f)
{
}

static void gone_dir(void *ctx, struct catalog_dir *d)
{
}

static void start(void)
{
	nchecked = nsent = 0;
	clock_update();
	ck_assert_int_eq(loop_init(&loop), 0);
	segments_init(&store, conf.max_size);
	ck_assert_int_eq(catalog_init(&catalog, &conf, &store), 0);
	catalog.gone = gone;
	catalog.gone_dir = gone_dir;
	ck_assert_ptr_nonnull(catalog_add_dir(&catalog, 0, NULL, SLICE("/")));
	publish_init(&publish, &catalog, &loop, buf, 7);
	publish.check = check;
	publish.send = send_image;
	publish.room = room;
	catalog_news(&catalog, 0);
	publish_step(&publish, false);
	ck_assert_uint_eq(nsent, 1);
}

static void stop(void)
{
	publish_fini(&publish);
	catalog_fini(&catalog);
	segments_fini(&store);
	loop_fini(&loop);
}

TEST(changes_are_read_before_a_tick)
{
	uint64_t tick, before;

	start();
	ck_assert_uint_eq(checked_when_sent, 1);
	/* A tick says that all changes up to it are marked, not more. */
	before = clock_read_us() / 1000;
	publish_tick(&publish);
	ck_assert_uint_eq(nchecked, 2);
	tick = __atomic_load_n(&publish.newest->image.marks->tick_ms, __ATOMIC_ACQUIRE);
	ck_assert_uint_le(tick, checked_ms);
	ck_assert_uint_ge(tick, before);
	stop();
}

/* Whoever it was sent to was short of descriptors. Nothing is new, but nobody has it. */
TEST(what_was_lost_is_made_again)
{
	int ms;

	start();
	ck_assert_int_ge(loop_turn(&loop, 1000), 0);
	ck_assert_uint_eq(publish_alive(&publish), 0);
	/* Not at once: the shortage would not be over. */
	ms = publish_step(&publish, false);
	ck_assert_int_gt(ms, 100);
	ck_assert_uint_eq(nsent, 1);
	clock_set((clock_ms() + (uint64_t)ms) * 1000, clock_wall());
	publish_step(&publish, false);
	ck_assert_uint_eq(nsent, 2);
	stop();
}

/* An image waits for what the one before cost this process, not for what others did meanwhile. */
TEST(a_busy_machine_delays_no_image)
{
	int ms;

	stolen_s = 1;
	start();
	stolen_s = 0;
	clock_update();
	catalog_news(&catalog, 1);
	ms = publish_step(&publish, false);
	ck_assert_int_le(ms, 500);
	stop();
}

static void later(uint64_t ms)
{
	clock_set((clock_ms() + ms) * 1000, clock_wall());
}

static void pause_here(void *ctx)
{
	later(1000);
	publish_midway(&publish);
}

static void add_files(unsigned n)
{
	const struct file_id id = { .size = 1 };
	const struct etag etag = { .n = IMAGE_ETAG };
	struct catalog_dir *top = catalog_find_dir(&catalog, 0, SLICE("/"));

	for (unsigned i = 0; i < n; i++) {
		struct catalog_file *f;
		char path[16];

		snprintf(path, sizeof(path), "/%u", i);
		f = catalog_add(&catalog, top, slice_str(path));
		ck_assert_ptr_nonnull(f);
		ck_assert_int_eq(catalog_fill(&catalog, f, &id, true, &etag, "x"), 0);
	}
}

/* While an image is made, readers of the one before are told that the keeper lives. */
TEST(ticks_while_it_makes_one)
{
	const struct image_marks *marks;
	uint64_t tick;

	start();
	marks = publish.newest->image.marks;
	catalog.pause.fn = pause_here;
	add_files(4 * PAUSE_STEPS);
	tick = __atomic_load_n(&marks->tick_ms, __ATOMIC_ACQUIRE);
	nchecked = 0;
	catalog_news(&catalog, 0);
	later(1000);
	publish_step(&publish, false);
	ck_assert_uint_eq(nsent, 2);
	ck_assert_uint_eq(publish.newest->image.nentries, 4 * PAUSE_STEPS);
	ck_assert_uint_eq(nchecked, 4 + 1);
	ck_assert_uint_ge(marks->tick_ms, tick + 4000);
	/* The new one begins as fresh. */
	ck_assert_uint_eq(publish.newest->image.marks->tick_ms, marks->tick_ms);
	stop();
}

static void make_another(void)
{
	static uint64_t later_ms;

	catalog_news(&catalog, 0);
	later_ms += 2000; /* whatever the loop has set the clock to */
	clock_update();
	later(later_ms);
	publish_step(&publish, false);
}

static void let_go(unsigned which)
{
	close(held[which]);
	ck_assert_int_ge(loop_turn(&loop, 1000), 0);
}

/* Of everything that is alive. */
static uint64_t memory(void)
{
	uint64_t n = store.bytes;

	for (int i = 0; i < CATALOG_IMAGES; i++) {
		const struct published *p = &publish.images[i];

		if (!p->alive)
			continue;
		n += sizeof(struct image_head) + p->image.nentries * sizeof(struct image_entry) +
		     p->image.marks_size;
	}
	return n;
}

/* Many small files, whose index is what takes memory: old ones are held, and nobody lets go. */
TEST(indexes_count)
{
	enum { FILES = 1025 }; /* which have the most slots each */

	conf.max_size = FILES * (64 + catalog_index_room(5));
	holding = true;
	start();
	add_files(FILES);
	make_another();
	make_another();
	ck_assert_uint_eq(nsent, 3);
	ck_assert_uint_eq(publish.newest->image.nentries, FILES);
	make_another();
	ck_assert_uint_le(memory(), 2 * conf.max_size);
	ck_assert_uint_eq(nsent, 3);
	/* The one without files makes no room, the next does. */
	let_go(0);
	make_another();
	ck_assert_uint_eq(nsent, 3);
	let_go(1);
	make_another();
	ck_assert_uint_eq(nsent, 4);
	ck_assert_uint_le(memory(), 2 * conf.max_size);
	let_go(2);
	let_go(3);
	stop();
	ck_assert_uint_eq(store.indexes, 0);
}

/* Else nobody would ever let go of the first. */
TEST(two_are_always_made)
{
	holding = true;
	start();
	store.bytes_max = 0;
	make_another();
	ck_assert_uint_eq(nsent, 2);
	make_another();
	ck_assert_uint_eq(nsent, 2);
	let_go(0);
	make_another();
	ck_assert_uint_eq(nsent, 3);
	let_go(1);
	let_go(2);
	stop();
}
