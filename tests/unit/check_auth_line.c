/* check_auth_line: whose password check is the next, who waits for a delay and takes nobody's
 * place, and who leaves a line that is full. */
#include "request/auth_line.h"

#include <stdio.h>

#include "base/clock.h"
#include "states_unit.h"
#include "unit.h"

enum { MAX = 400, NOBODY = 0xffff };

static struct accounts *accounts;
static struct account *clients[MAX];
static struct auth_line line;
static struct auth_turn turns[MAX];
static uint8_t keys[MAX][4];
static uint64_t now_ms, ms;
static unsigned ndropped;
static uint64_t dropped_ms;

static void at(uint64_t t)
{
	now_ms = t;
	clock_set(t * 1000, (struct timespec){ 0 });
}

static void dropped(struct auth_line *l, struct auth_turn *t, uint64_t delay)
{
	ck_assert_ptr_eq(l, &line);
	ck_assert_int_eq(t->state, AUTH_TURN_OUT);
	ndropped++;
	dropped_ms = delay;
}

static void setup(void)
{
	at(1000);
	ndropped = 0;
	memset(turns, 0, sizeof(turns));
	accounts = accounts_new(MAX);
	auth_line_init(&line, dropped);
	for (unsigned i = 0; i < MAX; i++) {
		struct addr a = { .in = { .sin_family = AF_INET } };

		a.in.sin_addr.s_addr = htonl(0x0a000000 + i);
		clients[i] = account_open(accounts, &a);
		memcpy(keys[i], &i, sizeof(i));
	}
}

static void teardown(void)
{
	for (unsigned i = 0; i < MAX; i++)
		auth_line_leave(&line, &turns[i]);
	for (unsigned i = 0; i < MAX; i++)
		account_close(&clients[i]);
	ck_assert_uint_eq(line.nline + line.nwaiting + line.nrunning, 0);
	accounts_free(&accounts);
}

static bool join(unsigned turn, unsigned client, uint32_t user)
{
	return auth_line_join(&line, &turns[turn], client == NOBODY ? NULL : clients[client], user,
		keys[turn], &ms);
}

static int next(void)
{
	uint64_t when;
	struct auth_turn *t = auth_line_next(&line, &when);

	return t != NULL ? (int)(t - turns) : -1;
}

/* Client guesses user's password n times, one after the other, without a delay between. */
static void guess_wrong(unsigned turn, unsigned client, uint32_t user, unsigned n)
{
	for (; n > 0; n--) {
		while (!join(turn, client, user) || turns[turn].state == AUTH_TURN_DELAY) {
			auth_line_leave(&line, &turns[turn]);
			at(now_ms + ms);
		}
		ck_assert_int_eq(next(), (int)turn);
		auth_line_end(&line, &turns[turn], AUTH_TURN_WRONG);
	}
}

START_TEST(a_delay_is_of_one_user_at_one_client)
{
	guess_wrong(0, 0, 7, 6);
	ck_assert(join(0, 0, 7));
	ck_assert_int_eq(turns[0].state, AUTH_TURN_DELAY);
	ck_assert_uint_eq(ms, 3200);
	ck_assert(join(1, 0, 8));
	ck_assert(join(2, 1, 7));
	ck_assert_int_eq(next(), 2);
	ck_assert_int_eq(next(), 1);
	auth_line_end(&line, &turns[1], AUTH_TURN_RIGHT);
	auth_line_end(&line, &turns[2], AUTH_TURN_RIGHT);
	ck_assert_int_eq(next(), -1);
	at(now_ms + 3199);
	ck_assert_int_eq(next(), -1);
	at(now_ms + 1);
	ck_assert_int_eq(next(), 0);
	auth_line_end(&line, &turns[0], AUTH_TURN_RIGHT);
	/* It was right: the next one has no delay. */
	ck_assert(join(0, 0, 7));
	ck_assert_int_eq(next(), 0);
	auth_line_end(&line, &turns[0], AUTH_TURN_UNKNOWN);
}
END_TEST

START_TEST(one_waits_for_a_delay_and_the_others_are_told)
{
	guess_wrong(0, 0, 7, 1);
	ck_assert(join(0, 0, 7));
	ck_assert(!join(1, 0, 7));
	ck_assert_uint_eq(ms, 100);
	ck_assert_uint_eq(line.nline, 0);
	/* Those in line leave it when the first of them is wrong. */
	for (unsigned i = 2; i < 2 + AUTH_CLIENT_LINE_MAX; i++)
		ck_assert(join(i, 1, 9));
	ck_assert(!join(20, 1, 9));
	ck_assert_uint_eq(ms, 0);
	ck_assert_int_eq(next(), 2);
	auth_line_end(&line, &turns[2], AUTH_TURN_WRONG);
	ck_assert_uint_eq(ndropped, AUTH_CLIENT_LINE_MAX - 2);
	ck_assert_uint_eq(dropped_ms, 100);
	ck_assert_uint_eq(line.nline, 0);
	ck_assert_uint_eq(line.nwaiting, 2);
}
END_TEST

START_TEST(who_waits_for_a_delay_is_in_nobodys_way)
{
	for (unsigned i = 0; i < AUTH_WAITING_MAX; i++) {
		guess_wrong(i, i, 7, 1);
		at(1000);
	}
	for (unsigned i = 0; i < AUTH_WAITING_MAX; i++) {
		ck_assert(join(i, i, 7));
		ck_assert_int_eq(turns[i].state, AUTH_TURN_DELAY);
	}
	ck_assert_uint_eq(line.nline, 0);
	ck_assert(join(300, 300, 7));
	ck_assert_int_eq(next(), 300);
	auth_line_end(&line, &turns[300], AUTH_TURN_WRONG);
	ck_assert(!join(300, 300, 7));
}
END_TEST

/* Who guesses at more users than are counted apart has delays all the same. */
START_TEST(many_users_of_one_client)
{
	unsigned ndelays = 0;

	for (unsigned i = 0; i < 4 * AUTH_GUESSES; i++) {
		ck_assert(join(i, 0, i));
		if (turns[i].state == AUTH_TURN_DELAY) {
			ndelays++;
			auth_line_leave(&line, &turns[i]);
			continue;
		}
		ck_assert_int_eq(next(), (int)i);
		auth_line_end(&line, &turns[i], AUTH_TURN_WRONG);
	}
	ck_assert_uint_eq(ndelays, 3 * AUTH_GUESSES);
	/* … and a right one of another user does not end them. */
	at(now_ms + 100);
	ck_assert(join(0, 0, 5 * AUTH_GUESSES));
	ck_assert_int_eq(next(), 0);
	auth_line_end(&line, &turns[0], AUTH_TURN_RIGHT);
	ck_assert_uint_eq(clients[0]->auth->guesses[0].failures, 1);
}
END_TEST

START_TEST(who_failed_most_leaves_a_full_line)
{
	unsigned n = 0;

	guess_wrong(0, 0, 7, 3);
	guess_wrong(1, 1, 7, 1);
	at(now_ms + 1000);
	ck_assert(join(0, 0, 7));
	ck_assert(join(1, 1, 7));
	for (; line.nline < AUTH_LINE_MAX; n++)
		ck_assert(join(2 + n, 2 + n, 7));
	ck_assert_uint_eq(ndropped, 0);
	ck_assert(join(200, 200, 7));
	ck_assert_int_eq(turns[0].state, AUTH_TURN_OUT);
	ck_assert(join(201, 201, 7));
	ck_assert_int_eq(turns[1].state, AUTH_TURN_OUT);
	ck_assert_uint_eq(ndropped, 2);
	ck_assert(!join(202, 202, 7));
	ck_assert_uint_eq(ms, 0);
	ck_assert_uint_eq(ndropped, 2);
}
END_TEST

START_TEST(who_has_most_leaves_a_full_line)
{
	unsigned n = 0;

	for (unsigned client = 0; client < AUTH_LINE_MAX / AUTH_CLIENT_LINE_MAX; client++)
		for (unsigned i = 0; i < AUTH_CLIENT_LINE_MAX; i++, n++)
			ck_assert(join(n, client, 7));
	ck_assert_uint_eq(line.nline, AUTH_LINE_MAX);
	for (unsigned i = 0; i < 6; i++)
		ck_assert(join(200 + i, 200, 7));
	ck_assert_uint_eq(ndropped, 6);
	for (unsigned client = 0; client < AUTH_LINE_MAX / AUTH_CLIENT_LINE_MAX; client++)
		ck_assert_uint_ge(clients[client]->auth->nline, AUTH_CLIENT_LINE_MAX - 2);
	ck_assert_uint_eq(line.nline, AUTH_LINE_MAX);
}
END_TEST

START_TEST(who_was_right_lately_passes_by)
{
	ck_assert(join(0, 0, 7));
	ck_assert_int_eq(next(), 0);
	auth_line_end(&line, &turns[0], AUTH_TURN_RIGHT);
	/* Others guess at his password at his own address, and the line is full. */
	guess_wrong(1, 0, 7, 8);
	for (unsigned i = 0; i < AUTH_LINE_MAX; i++)
		ck_assert(join(100 + i, 100 + i, 9));
	ck_assert(join(0, 0, 7));
	ck_assert_int_eq(turns[0].state, AUTH_TURN_KNOWN);
	ck_assert_int_eq(next(), 0);
	auth_line_end(&line, &turns[0], AUTH_TURN_RIGHT);
	at(now_ms + AUTH_KNOWN_MS - 1);
	ck_assert(join(0, 0, 7));
	ck_assert_int_eq(next(), 0);
	/* It is not right any more: from now on it is a guess as any other. */
	auth_line_end(&line, &turns[0], AUTH_TURN_WRONG);
	ck_assert(join(0, 0, 7));
	ck_assert_int_eq(turns[0].state, AUTH_TURN_DELAY);
}
END_TEST

START_TEST(clients_take_turns)
{
	static const int order[] = { 0, 2, 1, 3 };

	ck_assert(join(0, 0, 1));
	ck_assert(join(1, 0, 2));
	ck_assert(join(2, NOBODY, 1));
	ck_assert(join(3, NOBODY, 2));
	for (unsigned i = 0; i < 4; i++) {
		int t = next();

		ck_assert_int_eq(t, order[i]);
		auth_line_end(&line, &turns[t], AUTH_TURN_UNKNOWN);
	}
	/* Two run, of one client one. */
	ck_assert(join(0, 0, 1));
	ck_assert(join(1, 0, 2));
	ck_assert(join(2, 1, 1));
	ck_assert(join(3, 2, 1));
	ck_assert_int_ne(next(), -1);
	ck_assert_int_ne(next(), -1);
	ck_assert_int_eq(next(), -1);
	ck_assert_int_eq(turns[1].state, AUTH_TURN_LINE);
	for (unsigned i = 0; i < 4; i++)
		if (turns[i].state == AUTH_TURN_RUN)
			auth_line_end(&line, &turns[i], AUTH_TURN_UNKNOWN);
}
END_TEST

START_TEST(steps)
{
	states_unit_walk(&auth_turn_states,
		"OUT>LINE OUT>DELAY OUT>KNOWN LINE>RUN LINE>DELAY LINE>OUT DELAY>RUN DELAY>OUT "
		"KNOWN>RUN KNOWN>OUT RUN>OUT",
		NULL);
}
END_TEST

static TCase *tests(void)
{
	TCase *c = tcase_create("auth_line");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, a_delay_is_of_one_user_at_one_client);
	tcase_add_test(c, one_waits_for_a_delay_and_the_others_are_told);
	tcase_add_test(c, who_waits_for_a_delay_is_in_nobodys_way);
	tcase_add_test(c, many_users_of_one_client);
	tcase_add_test(c, who_failed_most_leaves_a_full_line);
	tcase_add_test(c, who_has_most_leaves_a_full_line);
	tcase_add_test(c, who_was_right_lately_passes_by);
	tcase_add_test(c, clients_take_turns);
	tcase_add_test(c, steps);
	return c;
}

UNIT_MAIN("auth_line")
