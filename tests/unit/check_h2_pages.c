/* check_h2_pages: whose blocks they are, and which pages of a session are there when. */
#include "proto/h2_pages.h"

#include "unit.h"

enum { FRAME = 16394, PAGES = 6, MANY = 1500 };

static struct h2_pages pages;
static char *table, *frame;

static void make(struct h2_pages *p)
{
	h2_pages_open(p);
	ck_assert_ptr_nonnull(p->mem);
	ck_assert_ptr_nonnull(h2_pages_get(p, H2_PAGE));
	ck_assert_ptr_nonnull(h2_pages_get(p, FRAME));
	p->making = false;
}

static void unmake(struct h2_pages *p)
{
	h2_pages_put(p, p->mem);
	h2_pages_put(p, p->mem + H2_PAGE);
	h2_pages_close(p);
}

UNIT_SETUP(setup)
{
	make(&pages);
	table = pages.mem;
	frame = table + H2_PAGE;
}

UNIT_TEARDOWN(teardown)
{
	unmake(&pages);
	h2_pages_trim();
}

/* How many of a session's pages are in memory; -1: they are not mapped. */
static int resident(const char *mem)
{
	unsigned char there[PAGES];
	int n = 0;

	if (mincore((void *)(uintptr_t)mem, (size_t)PAGES * H2_PAGE, there) != 0)
		return -1;
	for (int i = 0; i < PAGES; i++)
		n += there[i] & 1;
	return n;
}

static void look(uint64_t seconds)
{
	for (uint64_t s = 1; s <= seconds; s++)
		h2_pages_look(&pages, s * 1000);
}

TEST(blocks_are_given_out_once)
{
	struct h2_pages p;
	char *block;

	ck_assert_uint_eq(h2_pages_size(&pages, table), H2_PAGE);
	ck_assert_uint_eq(h2_pages_size(&pages, frame), FRAME);
	ck_assert_uint_eq(h2_pages_size(&pages, frame + H2_PAGE), 0);
	/* What a peer has a session allocate later is none of them. */
	h2_pages_put(&pages, frame);
	ck_assert_ptr_null(h2_pages_get(&pages, FRAME));
	pages.frame = FRAME;

	h2_pages_open(&p);
	ck_assert_ptr_null(h2_pages_get(&p, 1040));
	ck_assert_ptr_null(h2_pages_get(&p, H2_PAGE - 1));
	ck_assert_ptr_null(h2_pages_get(&p, H2_PAGE + 1));
	ck_assert_ptr_null(h2_pages_get(&p, (PAGES - 1) * H2_PAGE + 1));
	block = h2_pages_get(&p, H2_PAGE);
	ck_assert_ptr_nonnull(block);
	ck_assert_ptr_null(h2_pages_get(&p, H2_PAGE));
	ck_assert_uint_eq(h2_pages_size(&p, block), H2_PAGE);
	ck_assert_uint_eq(h2_pages_size(&p, table), 0);
	h2_pages_put(&p, block);
	h2_pages_close(&p);

	/* Without pages there is nothing to give out, to look at or to close. */
	p = (struct h2_pages){ 0 };
	ck_assert_ptr_null(h2_pages_get(&p, H2_PAGE));
	ck_assert_uint_eq(h2_pages_size(&p, table), 0);
	h2_pages_look(&p, 1000);
	h2_pages_close(&p);
}

TEST(idle_pages_go)
{
	memset(frame, 'f', FRAME);
	table[100] = 1;
	table[100] = 0;
	ck_assert_int_eq(resident(table), PAGES);
	look(2);
	ck_assert_int_eq(resident(table), PAGES);
	look(3);
	ck_assert_int_eq(resident(table), 0);
	/* They come again, and go again. */
	frame[0] = 'f';
	pages.quiet = 0;
	look(2);
	ck_assert_int_eq(resident(table), 1);
	look(1);
	ck_assert_int_eq(resident(table), 0);
}

TEST(what_is_used_stays)
{
	memset(frame, 'f', FRAME);
	for (int i = 0; i < 10; i++) {
		pages.quiet = 0;
		look(2);
	}
	ck_assert_int_eq(frame[FRAME - 1], 'f');
}

TEST(a_table_with_streams_stays)
{
	memset(frame, 'f', FRAME);
	table[H2_PAGE - 1] = 7;
	look(3);
	ck_assert_int_eq(resident(table), 1);
	ck_assert_int_eq(table[H2_PAGE - 1], 7);
}

/* A system call for each of them, so not for all in one turn of the loop. */
TEST(of_a_crowd_some_at_a_time)
{
	static struct h2_pages crowd[MANY];
	unsigned left = MANY, looks = 0;

	for (unsigned i = 0; i < MANY; i++) {
		make(&crowd[i]);
		crowd[i].mem[H2_PAGE] = 1;
	}
	for (; left > 0 && looks < 10; looks++) {
		unsigned before = left;

		left = 0;
		for (unsigned i = 0; i < MANY; i++) {
			h2_pages_look(&crowd[i], 1000 * (looks + 1));
			left += resident(crowd[i].mem) > 0;
		}
		ck_assert_uint_le(before - left, 1024);
	}
	ck_assert_uint_eq(looks, 4);
	for (unsigned i = 0; i < MANY; i++)
		unmake(&crowd[i]);
}

TEST(what_is_free_goes)
{
	static struct h2_pages crowd[MANY];
	static char *mem[MANY];
	unsigned unmapped = 0;

	for (unsigned i = 0; i < MANY; i++) {
		make(&crowd[i]);
		mem[i] = crowd[i].mem;
		memset(mem[i], 0, (size_t)PAGES * H2_PAGE);
	}
	/* Kept for the next that comes, who finds it warm. */
	unmake(&crowd[1]);
	make(&crowd[1]);
	ck_assert_ptr_eq(crowd[1].mem, mem[1]);
	ck_assert_int_eq(resident(mem[1]), PAGES);
	for (unsigned i = 1; i < MANY; i++)
		unmake(&crowd[i]);
	frame[0] = 'f';
	h2_pages_trim();
	ck_assert_int_eq(resident(mem[0]), PAGES);
	ck_assert_int_eq(frame[0], 'f');
	for (unsigned i = 1; i < MANY; i++) {
		ck_assert_int_le(resident(mem[i]), 0);
		unmapped += resident(mem[i]) < 0;
	}
	/* All mappings but those that the two sessions are in. */
	ck_assert_uint_ge(unmapped, MANY - 2 * 64);
	unmake(&crowd[0]);
}
