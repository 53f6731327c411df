/* check_places: places for open files: what one connection gets, who waits, and whose turn it is.
 */
#include "base/clock.h"
#include "base/counters.h"
#include "files/places.h"
#include "loop_unit.h"
#include "states_unit.h"

enum { CONNS = 6, FILES = 40 };

static struct places all;
static struct place_share conns[CONNS];
static struct place files[CONNS][FILES];
static unsigned held[CONNS];
static struct accounts *clients;
static struct account *accounts[CONNS];
static unsigned backs, order[CONNS * FILES]; /* places that were taken back */
static bool late;                            /* their files are closed by a thread */

/* The clock stands still, where turn_at() has set it. */
void __wrap_clock_update(void);

void __wrap_clock_update(void)
{
}

static void granted(struct place *p)
{
	ck_assert_int_eq(p->state, PLACE_HELD);
	held[(p - &files[0][0]) / FILES]++;
}

UNIT_SETUP(setup)
{
	places_init(&all, &loop);
	clients = accounts_new(CONNS, &(struct account_keys){ 0 }, 64, NULL);
	backs = 0;
	late = false;
	for (unsigned i = 0; i < CONNS; i++) {
		struct addr a = { .in.sin_family = AF_INET, .in.sin_addr.s_addr = i };

		accounts[i] = account_open(clients, &a);
		place_share_init(&conns[i]);
		held[i] = 0;
		for (unsigned k = 0; k < FILES; k++)
			files[i][k] = (struct place){ .granted = granted };
	}
}

static void take(unsigned conn, struct account *account, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		if (places_take(&all, &conns[conn], account, &files[conn][k]))
			held[conn]++;
}

static void ask(unsigned conn, unsigned n)
{
	take(conn, NULL, n);
}

static void end(unsigned conn, unsigned k)
{
	held[conn] -= place_is_held(&files[conn][k]);
	places_leave(&all, &files[conn][k]);
	places_give(&all, &files[conn][k]);
}

static void turn(void)
{
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(loop_turn(&loop, 0), 0);
}

static void turn_at(uint64_t ms)
{
	clock_set(ms * 1000, (struct timespec){ 0 });
	places_look(&all);
	turn();
}

UNIT_TEARDOWN(teardown)
{
	for (unsigned i = 0; i < CONNS; i++)
		for (unsigned k = 0; k < FILES; k++)
			if (files[i][k].share != NULL)
				end(i, k);
	turn();
	for (unsigned i = 0; i < CONNS; i++)
		ck_assert_uint_eq(conns[i].held + held[i], 0);
	places_fini(&all);
	for (unsigned i = 0; i < CONNS; i++)
		account_close(&accounts[i]);
	accounts_free(&clients);
}

TEST(one_connection)
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
	ck_assert(place_is_held(&files[0][PLACES_SHARE + 9]) &&
		  files[0][PLACES_SHARE + 10].state == PLACE_WAITS);
}

/* Where nobody lends any, connections have their turns as places come free. */
TEST(few)
{
	places_limit(&all, 10);
	for (unsigned i = 0; i < CONNS; i++)
		ask(i, FILES);
	turn();
	ck_assert_uint_eq(held[0], 10);
	for (unsigned k = 0; k < 10; k++)
		end(0, k);
	turn();
	for (unsigned i = 0; i < CONNS; i++)
		ck_assert_msg(held[i] >= 1 && held[i] <= 2, "%u: %u", i, held[i]);
	places_limit(&all, PLACES_MAX);
	turn();
	for (unsigned i = 0; i < CONNS; i++)
		ck_assert_uint_eq(held[i], PLACES_SHARE);
}

/* --- lent places ------------------------------------------------------------------------------ */

static bool back(struct place *p)
{
	order[backs++] = (unsigned)(p - &files[0][0]);
	if (!late)
		held[(p - &files[0][0]) / FILES]--;
	return !late;
}

static void lend(unsigned conn, unsigned from, unsigned to)
{
	for (unsigned k = from; k < to; k++) {
		files[conn][k].back = back;
		places_lend(&all, &files[conn][k], true);
	}
}

/* What a connection does not read by goes to another file of its own, in the line already. */
TEST(rests)
{
	ask(0, PLACES_SHARE + 2);
	lend(0, 0, PLACES_SHARE);
	turn();
	ck_assert_uint_eq(backs, 0); /* all of them are read */
	places_rest(&all, &files[0][5]);
	turn();
	ck_assert_uint_eq(backs, 1);
	ck_assert_uint_eq(order[0], 5);
	ck_assert(place_is_held(&files[0][PLACES_SHARE]) &&
		  files[0][PLACES_SHARE + 1].state == PLACE_WAITS);
	places_rest(&all, &files[0][7]);
	places_keep(&files[0][7]); /* a thread has it */
	turn();
	ck_assert_uint_eq(backs, 1);
}

/* The account that holds most gives back first, what nobody has read by for longest. */
TEST(greediest_gives)
{
	places_limit(&all, 12);
	for (unsigned i = 0; i < 3; i++) {
		take(i, i < 2 ? accounts[0] : accounts[1], 4);
		lend(i, 0, 4);
	}
	places_lend(&all, &files[0][0], true); /* read once more */
	take(4, accounts[2], 3);
	ck_assert_uint_eq(backs, 3);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_eq(order[i], i + 1);
	ck_assert_uint_eq(held[4], 3);
	ck_assert_uint_eq(counters->limit_files, 3);
	turn();
}

/* In front of its first read a place is taken where its peer takes nothing, or after a time. */
TEST(unread)
{
	uint64_t now_ms = 1000000;

	turn_at(now_ms);
	places_limit(&all, 5);
	take(0, accounts[0], 5);
	lend(0, 0, 5);
	for (unsigned k = 0; k < 5; k++)
		places_lend(&all, &files[0][k], false);
	take(1, accounts[1], 3);
	turn();
	ck_assert_uint_eq(backs, 0);
	places_rest(&all, &files[0][3]);
	turn();
	ck_assert(backs == 1 && order[0] == 3 && held[1] == 1);
	places_lend(&all, &files[0][2], true); /* read */
	turn();
	ck_assert(backs == 2 && order[1] == 2 && held[1] == 2);
	turn_at(now_ms + PLACES_UNREAD_MS - 1);
	ck_assert_uint_eq(backs, 2);
	turn_at(now_ms + PLACES_UNREAD_MS);
	ck_assert(backs == 3 && order[2] == 0 && held[1] == 3);
}

/* Where a file is closed by a thread its place comes later, and one is asked for at a time. */
TEST(later)
{
	late = true;
	places_limit(&all, 4);
	take(0, accounts[0], 4);
	lend(0, 0, 4);
	take(1, accounts[1], 1);
	ck_assert(backs == 1 && files[1][0].state == PLACE_WAITS);
	turn();
	ck_assert_uint_eq(backs, 1);
	held[0]--;
	places_drop(&all, &files[0][0]);
	turn();
	ck_assert(place_is_held(&files[1][0]) && held[1] == 1);
	take(2, accounts[2], 1);
	ck_assert_uint_eq(backs, 2);
	/* Its connection ends meanwhile. */
	end(0, 1);
	turn();
	ck_assert(place_is_held(&files[2][0]) && held[2] == 1);
}

/* Clients have their turns, however many connections one has. */
TEST(turns)
{
	places_limit(&all, 4);
	take(0, accounts[0], 4);
	for (unsigned i = 1; i < 5; i++)
		take(i, accounts[0], FILES);
	take(5, accounts[1], FILES);
	end(0, 0);
	turn();
	end(0, 1);
	turn();
	ck_assert_uint_eq(held[5], 1);
}

/* Uploads lend nothing, and leave a quarter. */
TEST(uploads)
{
	places_limit(&all, 16);
	for (unsigned i = 0; i < CONNS; i++)
		for (unsigned k = 0; k < FILES; k++)
			files[i][k].upload = i < 5;
	for (unsigned i = 0; i < 5; i++)
		ask(i, 4);
	turn();
	ck_assert_uint_eq(places_held(&all), 12);
	ask(5, 4);
	ck_assert_uint_eq(held[5], 4);
	lend(5, 0, 4);
	end(0, 0);
	turn();
	ck_assert(place_is_held(&files[3][0]) && backs == 0);
}

/* The last places for uploads are for clients that have none. */
TEST(first_upload)
{
	places_limit(&all, 64);
	for (unsigned i = 0; i < CONNS; i++)
		for (unsigned k = 0; k < FILES; k++)
			files[i][k].upload = true;
	for (unsigned i = 0; i < 3; i++)
		take(i, accounts[i], PLACES_SHARE);
	for (unsigned i = 3; i < 5; i++) {
		take(i, accounts[i], 3);
		ck_assert_uint_eq(held[i], 1);
	}
	turn();
	ck_assert_uint_eq(places_held(&all), 44);
	ck_assert(held[3] == 1 && held[4] == 1);
	for (unsigned k = 0; k < 3; k++)
		end(0, k);
	turn();
	ck_assert_uint_eq(places_held(&all), 42);
}

/* Who has no upload comes before those who waited longer for one more. */
TEST(upload_of_the_poor)
{
	places_limit(&all, 4);
	for (unsigned i = 0; i < CONNS; i++)
		for (unsigned k = 0; k < FILES; k++)
			files[i][k].upload = true;
	take(0, accounts[0], 3);
	take(1, accounts[0], 2);
	take(2, accounts[1], 2);
	end(0, 0);
	turn();
	ck_assert(place_is_held(&files[2][0]) && files[2][1].state == PLACE_WAITS && held[1] == 0);
	end(0, 1);
	turn();
	ck_assert(held[1] == 1 && files[2][1].state == PLACE_WAITS);
}

static uint64_t came(struct place *p)
{
	unsigned n = (unsigned)(p - &files[0][0]);

	return n == 1 ? PLACES_BUSY : 1000 + n;
}

static bool ends(struct place *p)
{
	order[backs++] = (unsigned)(p - &files[0][0]);
	end(order[backs - 1] / FILES, order[backs - 1] % FILES);
	return false;
}

/* Where uploads wait, others end once a second, the slowest of those that have had their time. */
TEST(uploads_end)
{
	struct timespec wall = { 0 };
	uint64_t now_us = 1000000000;

	clock_set(now_us, wall);
	places_limit(&all, 8);
	for (unsigned i = 0; i < CONNS; i++)
		for (unsigned k = 0; k < FILES; k++) {
			files[i][k].upload = true;
			files[i][k].back = ends;
			files[i][k].came = came;
		}
	take(0, accounts[0], 3);
	take(1, accounts[0], 1);
	take(2, accounts[1], 2);
	take(3, accounts[2], 3); /* all wait */
	take(4, accounts[3], 1);
	clock_set(now_us + (PLACES_UPLOAD_MS - 1) * 1000, wall);
	places_look(&all);
	ck_assert_uint_eq(backs, 0);
	clock_set(now_us + PLACES_UPLOAD_MS * 1000, wall);
	places_look(&all);
	/* One for each connection that waits; of what is busy none. */
	ck_assert_uint_eq(backs, 2);
	ck_assert_uint_eq(order[0], 0);
	ck_assert_uint_eq(order[1], 2);
	turn();
	ck_assert(held[3] == 1 && held[4] == 1);
	clock_update();
}

TEST(states)
{
	states_unit_walk(&place_states,
		"FREE>WAITS FREE>HELD WAITS>FREE WAITS>HELD HELD>FREE HELD>LENT LENT>HELD "
		"LENT>RESTS LENT>BACK RESTS>HELD RESTS>BACK BACK>FREE",
		NULL);
}
