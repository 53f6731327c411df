/* check_places: places for open files: what one connection gets, who waits, and whose turn it is.
 */
#include "files/places.h"
#include "unit.h"

enum { CONNS = 6, FILES = 40 };

static struct loop loop;
static struct places all;
static struct place_share conns[CONNS];
static struct place files[CONNS][FILES];
static unsigned held[CONNS];

static void granted(struct place *p)
{
	ck_assert(p->held && !p->waits);
	held[(p - &files[0][0]) / FILES]++;
}

static void setup(void)
{
	ck_assert_int_eq(loop_init(&loop), 0);
	places_init(&all, &loop);
	for (unsigned i = 0; i < CONNS; i++) {
		place_share_init(&conns[i]);
		held[i] = 0;
		for (unsigned k = 0; k < FILES; k++)
			files[i][k] = (struct place){ .granted = granted };
	}
}

static void ask(unsigned conn, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		if (places_take(&all, &conns[conn], &files[conn][k]))
			held[conn]++;
}

static void end(unsigned conn, unsigned k)
{
	held[conn] -= files[conn][k].held;
	places_leave(&all, &files[conn][k]);
	places_give(&all, &files[conn][k]);
}

static void turn(void)
{
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(loop_turn(&loop, 0), 0);
}

static void teardown(void)
{
	for (unsigned i = 0; i < CONNS; i++)
		for (unsigned k = 0; k < FILES; k++)
			if (files[i][k].share != NULL)
				end(i, k);
	turn();
	for (unsigned i = 0; i < CONNS; i++)
		ck_assert_uint_eq(conns[i].held + held[i], 0);
	places_fini(&all);
	loop_fini(&loop);
}

START_TEST(one_connection)
{
	ask(0, FILES);
	turn();
	ck_assert_uint_eq(held[0], PLACES_SHARE);
	ask(1, 3);
	ck_assert_uint_eq(held[1], 3); /* at once */
	end(0, FILES - 1);             /* one that waits */
	for (unsigned k = 0; k < 10; k++)
		end(0, k);
	turn();
	ck_assert_uint_eq(held[0], PLACES_SHARE);
	ck_assert(files[0][PLACES_SHARE + 9].held && files[0][PLACES_SHARE + 10].waits);
}
END_TEST

/* Where few are left, each gets some, and in turn. */
START_TEST(few)
{
	places_limit(&all, 10);
	for (unsigned i = 0; i < CONNS; i++)
		ask(i, FILES);
	turn();
	ck_assert_uint_eq(held[0], PLACES_SURE);
	ck_assert_uint_eq(held[1], PLACES_SURE);
	ck_assert_uint_eq(held[2], 2);
	for (unsigned k = 0; k < PLACES_SURE; k++) {
		end(0, k);
		end(1, k);
	}
	turn();
	for (unsigned i = 0; i < CONNS; i++)
		ck_assert_msg(held[i] >= 1 && held[i] <= 3, "%u: %u", i, held[i]);
	places_limit(&all, PLACES_MAX);
	turn();
	for (unsigned i = 0; i < CONNS; i++)
		ck_assert_uint_eq(held[i], PLACES_SHARE);
}
END_TEST

static unsigned asked;

/* Every third one finds another way. */
static void again(struct place *p)
{
	unsigned n = (unsigned)(p - &files[0][0]);

	ck_assert(p->waits);
	asked++;
	if (n % 3 == 0)
		end(n / FILES, n % FILES);
}

START_TEST(ask_again)
{
	unsigned waited = 0, left = 0;

	places_limit(&all, 10);
	for (unsigned i = 0; i < CONNS; i++)
		ask(i, i < 4 ? FILES : 1);
	for (unsigned n = 0; n < CONNS * FILES; n++)
		waited += files[n / FILES][n % FILES].waits;
	places_ask_again(&all); /* nobody has a way */
	for (unsigned n = 0; n < CONNS * FILES; n++) {
		files[n / FILES][n % FILES].again = again;
		left += files[n / FILES][n % FILES].waits && n % 3 == 0;
	}
	asked = 0;
	places_ask_again(&all);
	ck_assert_uint_eq(asked, waited);
	for (unsigned n = 0; n < CONNS * FILES; n++)
		waited -= files[n / FILES][n % FILES].waits;
	ck_assert_uint_eq(waited, left);
	places_limit(&all, PLACES_MAX);
	turn();
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(held[i], PLACES_SHARE);
}
END_TEST

static TCase *tests(void)
{
	TCase *c = tcase_create("places");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, one_connection);
	tcase_add_test(c, few);
	tcase_add_test(c, ask_again);
	return c;
}

UNIT_MAIN("places")
