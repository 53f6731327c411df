/* check_segment: bodies go in and come out, whatever is moved around them; there are never many
 * segments. */
#include <sys/resource.h>

#include "image/memfd.h"
#include "keeper/catalog.h"
#include "unit.h"

enum { BODIES = 3000, LARGEST = 5000 };

static struct segments store;
static struct segment_body *bodies[BODIES];
static unsigned seeds[BODIES];
static char buf[LARGEST];

static void fill(char *to, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (char)((i + 1) * (seed * 2 + 1) >> 3);
}

static int put(unsigned i, size_t n, unsigned seed)
{
	struct etag etag = { .n = ETAG_CONTENT_LEN };

	memcpy(etag.text, "\"{AAAAAAAAAAAA}\"", ETAG_CONTENT_LEN);
	fill(buf, n, seed);
	seeds[i] = seed;
	return segments_put(&store, buf, n, &etag, &bodies[i]);
}

static void expect(unsigned i)
{
	static char wanted[LARGEST], got[LARGEST];

	fill(wanted, bodies[i]->n, seeds[i]);
	ck_assert_int_eq(segments_read(bodies[i], got), 0);
	ck_assert_mem_eq(got, wanted, bodies[i]->n);
	ck_assert_uint_eq(bodies[i]->at % IMAGE_ALIGN, 0);
}

static unsigned in_use(void)
{
	unsigned n = 0;

	LIST_EACH(struct segment, g, node, &store.all)
		n += !list_empty(&g->bodies);
	return n;
}

static void drop_all(void)
{
	for (unsigned i = 0; i < BODIES; i++)
		segments_drop(&store, &bodies[i]);
}

TEST(in_and_out)
{
	int fd;

	segments_init(&store, 1 << 20);
	for (unsigned i = 0; i < 200; i++)
		ck_assert_int_eq(put(i, i * 7, i), 0);
	for (unsigned i = 0; i < 200; i++)
		expect(i);
	ck_assert_int_eq(segments_seal(&store), 0);
	for (unsigned i = 0; i < 200; i++)
		expect(i);
	fd = bodies[199]->segment->fd;
	ck_assert_int_gt(memfd_sealed_size(fd, true), 0);
	ck_assert_int_eq(write(fd, "x", 1), -1);
	/* What was sealed is not written again. */
	ck_assert_int_eq(put(200, 10, 1), 0);
	ck_assert_ptr_ne(bodies[200]->segment, bodies[199]->segment);
	drop_all();
	segments_fini(&store);
}

TEST(goes_with_its_last_user)
{
	struct segment *g;

	segments_init(&store, 1 << 20);
	ck_assert_int_eq(put(0, 100, 1), 0);
	ck_assert_int_eq(segments_seal(&store), 0);
	g = bodies[0]->segment;
	segment_hold(g);
	segment_hold(g);
	segments_drop(&store, &bodies[0]);
	ck_assert_uint_eq(store.n, 1);
	segment_release(&store, g);
	ck_assert_uint_eq(store.bytes, 100);
	segment_release(&store, g);
	ck_assert_uint_eq(store.n, 0);
	ck_assert_uint_eq(store.bytes, 0);
	/* One that is open stays, and goes when it is sealed empty. */
	ck_assert_int_eq(put(0, 100, 1), 0);
	segments_drop(&store, &bodies[0]);
	ck_assert_uint_eq(store.n, 1);
	ck_assert_int_eq(segments_seal(&store), 0);
	ck_assert_uint_eq(store.n, 0);
	segments_fini(&store);
}

TEST(stays_below_its_limit)
{
	unsigned n = 0;

	segments_init(&store, 100000);
	while (put(n, 1000, n) == 0) {
		n++;
		ck_assert_uint_lt(n, BODIES);
	}
	ck_assert_int_eq(put(n, 1000, n), -EAGAIN);
	ck_assert_uint_le(store.bytes, 200000);
	ck_assert_uint_ge(n, 180);
	ck_assert_int_eq(segments_seal(&store), 0);
	for (unsigned i = 0; i < 50; i++)
		segments_drop(&store, &bodies[i]);
	ck_assert_int_eq(put(n, 1000, n), 0);
	drop_all();
	segments_fini(&store);
}

/* Ten thousand images, each with an edit or two, as the keeper makes them. */
TEST(many_edits)
{
	enum { LIVE = 200, SIZE = 300000 };
	unsigned rng = 1, most = 0, stuck = 0;
	struct segment *held[2][IMAGE_SEGMENTS];
	unsigned nheld[2] = { 0, 0 };

	segments_init(&store, SIZE);
	for (unsigned round = 0; round < 10000; round++) {
		unsigned now = round & 1, n;

		for (unsigned edits = 0; edits < 1 + round % 3; edits++) {
			unsigned i;

			rng = rng * 1103515245 + 12345;
			i = (rng >> 16) % LIVE;
			segments_drop(&store, &bodies[i]);
			rng = rng * 1103515245 + 12345;
			stuck += put(i, (rng >> 16) % (2 * SIZE / LIVE - 200), round) != 0;
		}
		ck_assert_int_eq(segments_compact(&store, buf, NULL), 0);
		ck_assert_int_eq(segments_seal(&store), 0);
		/* The image before is held until this one is there. */
		n = 0;
		LIST_EACH(struct segment, g, node, &store.all) {
			if (list_empty(&g->bodies))
				continue;
			segment_hold(g);
			held[now][n++] = g;
			ck_assert_uint_lt(n, IMAGE_SEGMENTS);
		}
		nheld[now] = n;
		most = n > most ? n : most;
		while (nheld[!now] > 0)
			segment_release(&store, held[!now][--nheld[!now]]);
		ck_assert_uint_le(store.bytes, 2 * SIZE);
		if (round % 1000 == 0)
			for (unsigned i = 0; i < LIVE; i++)
				if (bodies[i] != NULL)
					expect(i);
	}
	ck_assert_uint_eq(stuck, 0);
	ck_assert_uint_le(most, 40);
	drop_all();
	for (unsigned k = 0; k < 2; k++)
		while (nheld[k] > 0)
			segment_release(&store, held[k][--nheld[k]]);
	ck_assert_uint_eq(store.bytes, 0);
	segments_fini(&store);
}

/* Large bodies have segments of their own, and their number has an end. */
TEST(too_many)
{
	unsigned n = 0;

	segments_init(&store, 1 << 20);
	store.size = 100;
	while (n < BODIES && put(n, 200, n) == 0)
		n++;
	ck_assert_uint_lt(n, IMAGE_SEGMENTS);
	ck_assert_uint_ge(n, IMAGE_SEGMENTS - 8);
	ck_assert_int_eq(put(n, 200, n), -EAGAIN);
	/* Small ones become one. */
	store.size = 1 << 16;
	ck_assert_int_eq(segments_compact(&store, buf, NULL), 0);
	ck_assert_uint_lt(in_use(), 10);
	for (unsigned i = 0; i < n; i++)
		expect(i);
	ck_assert_int_eq(put(n, 200, n), 0);
	drop_all();
	segments_fini(&store);
}

TEST(takes_over)
{
	struct image_body from = { .at = 64, .n = 36, .etag = "\"BBBBBBBBBBBB" };
	struct segment_body *b;
	struct segment *g;
	char data[100], got[36];
	int fd = memfd_new("test");

	from.etag[13] = '"';
	segments_init(&store, 1000);
	fill(data, sizeof(data), 3);
	ck_assert_int_eq(memfd_write(fd, data, sizeof(data), 0), 0);
	ck_assert_ptr_null(segments_take_over(&store, dup(fd), 36)); /* not sealed */
	fd = memfd_seal(fd, false);
	g = segments_take_over(&store, dup(fd), 36);
	ck_assert_ptr_nonnull(g);
	b = segments_take_body(g, &from);
	ck_assert_int_eq(segments_read(b, got), 0);
	ck_assert_mem_eq(got, data + 64, 36);
	ck_assert_uint_eq(store.bytes, 100);
	/* No room for more than twenty of them. */
	for (int i = 0; i < 19; i++)
		ck_assert_ptr_nonnull(
			segments_take_body(segments_take_over(&store, dup(fd), 36), &from));
	ck_assert_ptr_null(segments_take_over(&store, dup(fd), 36));
	LIST_EACH(struct segment, left, node, &store.all) {
		b = LIST_ENTRY(left->bodies.next, struct segment_body, node);
		segments_drop(&store, &b);
	}
	ck_assert_uint_eq(store.n, 0);
	/* Of a larger store: only what nothing else lies beside. */
	store.size = 99;
	ck_assert_ptr_null(segments_take_over(&store, dup(fd), 36));
	ck_assert_ptr_nonnull(segments_take_over(&store, dup(fd), 100));
	segments_fini(&store);
	close(fd);
}

/* However full it is of what is half dead: with nobody holding images, there is room again. */
TEST(full_of_dead)
{
	unsigned n = 0;

	segments_init(&store, 1 << 20);
	while (put(n, LARGEST, n) == 0)
		n++;
	ck_assert_uint_gt(n, 350);
	ck_assert_int_eq(segments_seal(&store), 0);
	for (unsigned i = 0; i < n; i += 2)
		segments_drop(&store, &bodies[i]);
	for (unsigned tries = 0; put(0, LARGEST, 0) == -EAGAIN; tries++) {
		ck_assert_uint_lt(tries, 5);
		ck_assert(segments_can_compact(&store));
		ck_assert_int_eq(segments_compact(&store, buf, NULL), 0);
		ck_assert_int_eq(segments_seal(&store), 0);
		ck_assert_uint_le(store.bytes, 2 << 20);
	}
	for (unsigned i = 1; i < n; i += 2)
		expect(i);
	drop_all();
	segments_fini(&store);
}

static void paused(void *ctx)
{
	++*(unsigned *)ctx;
}

/* Moving many is a long step: ticks are written in it. */
TEST(pauses_while_it_moves)
{
	enum { MOVED = 5 * PAUSE_STEPS / 2 };
	unsigned npaused = 0;
	struct pause pause = { .fn = paused, .ctx = &npaused };

	segments_init(&store, 16 << 20);
	for (unsigned i = 0; i < 2 * MOVED; i++)
		ck_assert_int_eq(put(i, 100, i), 0);
	ck_assert_int_eq(segments_seal(&store), 0);
	for (unsigned i = 0; i < 2 * MOVED; i += 2)
		segments_drop(&store, &bodies[i]);
	ck_assert_int_eq(segments_compact(&store, buf, &pause), 0);
	ck_assert_uint_eq(npaused, MOVED / PAUSE_STEPS);
	drop_all();
	segments_fini(&store);
}

/* Of images alive, or else what the next two take, which come one after the other. */
TEST(indexes_take_room)
{
	unsigned n = 0;

	segments_init(&store, 100000);
	store.index_next = 40000;
	while (put(n, 1000, n) == 0)
		n++;
	ck_assert_uint_le(store.bytes, 200000 - 80000);
	ck_assert_uint_ge(n, 100);
	ck_assert(segments_fit_index(&store));
	store.indexes = 40000;
	ck_assert_int_eq(put(n, 1000, n), -EAGAIN);
	ck_assert(segments_fit_index(&store));
	store.indexes = 80000;
	ck_assert(!segments_fit_index(&store));
	drop_all();
	ck_assert_int_eq(segments_seal(&store), 0);
	/* What is alive beyond the next one's size leaves less. */
	for (n = 0; put(n, 1000, n) == 0;)
		n++;
	ck_assert_uint_le(store.bytes, 200000 - 120000);
	ck_assert_uint_ge(n, 60);
	drop_all();
	segments_fini(&store);
}

TEST(what_segments_hold)
{
	uint64_t all = UINT64_C(1) << 40;

	ck_assert_uint_eq(segments_max_size(1 << 20, 1 << 10), 1 << 20);
	/* Each segment but one may lack up to the largest body at its end. */
	ck_assert_uint_le(segments_max_size(all, 2 << 20),
		(uint64_t)(IMAGE_SEGMENTS - 4) * (IMAGE_SEGMENT_MAX - (2 << 20)));
	ck_assert_uint_le(segments_max_size(all, IMAGE_SEGMENT_MAX),
		(uint64_t)IMAGE_SEGMENTS * IMAGE_SEGMENT_MAX / 2);
	ck_assert_uint_ge(segments_max_size(all, 2 << 20), UINT64_C(3) << 30);
}

/* There is a descriptor for the seals, and none for the read-only one: the next try has both. */
TEST(sealed_at_the_second_try)
{
	struct rlimit few, before;
	int next;

	segments_init(&store, 1 << 20);
	ck_assert_int_eq(put(0, 100, 1), 0);
	next = dup(0);
	ck_assert_int_ge(next, 0);
	close(next);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ (rlim_t)next + 1, before.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	ck_assert_int_eq(segments_seal(&store), -EMFILE);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert_int_eq(segments_seal(&store), 0);
	expect(0);
	drop_all();
	segments_fini(&store);
}
