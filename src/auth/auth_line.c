/*
 * auth_line: orders the password checks. Clients take turns, by share/line.h; a check delayed by
 * wrong guesses waits beside the line, one for each user that a client guesses at, and passwords
 * that were right until the file changed come first. A client's
 * guesses are one block that its account owns: freed with the account, never while a check holds
 * that open. Never runs a check and never sees a password.
 */
#include "auth/auth_check.h"

#include <stdlib.h>

#include "base/clock.h"

const struct states auth_check_states = {
	.of = "password check",
	.rows = {
#define AUTH_CHECK_STATE(name, next, help) { #name, next },
#include "auth/auth_check_state.def"
	},
};

static struct auth_check *check_of(struct list *node)
{
	return LIST_ENTRY(node, struct auth_check, turn.node);
}

void auth_check_go(struct auth_check *c, enum auth_check_state state)
{
	struct auth_queue *queue = c->queue;
	enum auth_check_state was = c->state;

	STATES_STEP(&auth_check_states, c->state, state);
	if (was == AUTH_CHECK_RUN)
		line_gave(&queue->line, &c->turn, 1);
	line_leave(&queue->line, &c->turn);
	list_remove(&c->turn.node);
	timer_disarm(&queue->loop->wheel, &c->timer);
	if (state == AUTH_CHECK_RUN)
		line_took(&queue->line, &c->turn, 1);
	else if (state == AUTH_CHECK_LINE)
		line_join(&queue->line, &c->turn, c->account, NULL);
	else if (state == AUTH_CHECK_FIRST)
		list_append(&queue->first, &c->turn.node);
	else if (state == AUTH_CHECK_DELAY)
		timer_arm(&queue->loop->wheel, &c->timer, clock_ms() + c->retry_ms);
}

void auth_line_drop(struct auth_check *c, enum auth_verdict verdict)
{
	auth_check_go(c, AUTH_CHECK_END);
	c->dropped = verdict;
	list_remove(&c->node);
	list_append(&c->queue->dropped, &c->node);
	loop_at_turn_end(c->queue->loop, &c->queue->tell);
}

/* --- wrong guesses ---------------------------------------------------------------------------- */

struct auth_client *auth_client_of(struct account *account)
{
	if (account->auth == NULL)
		account->auth = calloc(1, sizeof(*account->auth));
	return account->auth;
}

static bool is_forgiven(const struct auth_guess *g)
{
	return g->failures == 0 || clock_ms() - g->failed_ms >= AUTH_FORGIVEN_MS;
}

/* The user's place, else a free one, else a shared one. */
static struct auth_guess *guess_of(struct auth_client *c, uint32_t user)
{
	struct auth_guess *free = NULL;

	for (struct auth_guess *g = c->guesses; g != c->guesses + AUTH_GUESSES; g++) {
		if (is_forgiven(g))
			free = free != NULL ? free : g;
		else if (g->user == user)
			return g;
	}
	return free != NULL ? free : &c->guesses[user % AUTH_GUESSES];
}

void auth_client_wrong(struct auth_client *c, uint32_t user)
{
	struct auth_guess *g = guess_of(c, user);

	if (is_forgiven(g))
		*g = (struct auth_guess){ .user = user };
	g->failures++;
	g->failed_ms = clock_ms();
}

void auth_client_right(struct auth_client *c, uint32_t user)
{
	struct auth_guess *g = guess_of(c, user);

	if (g->user == user)
		g->failures = 0;
}

unsigned auth_client_failures(struct auth_client *c, uint32_t user)
{
	const struct auth_guess *g = guess_of(c, user);

	return is_forgiven(g) ? 0 : g->failures;
}

uint64_t auth_client_delay(struct auth_client *c, uint32_t user)
{
	const struct auth_guess *g = guess_of(c, user);
	unsigned failures = auth_client_failures(c, user);
	uint64_t delay = AUTH_FIRST_DELAY, passed = clock_ms() - g->failed_ms;

	for (unsigned i = 1; i < failures && delay < AUTH_DELAY_MAX; i++)
		delay *= 2;
	if (delay > AUTH_DELAY_MAX)
		delay = AUTH_DELAY_MAX;
	return failures > 0 && passed < delay ? delay - passed : 0;
}

/* --- joining ---------------------------------------------------------------------------------- */

/* The check in line, of account (NULL: of all), whose user was guessed wrong most, and more than n
 * times. */
static struct auth_check *most_failed(
	const struct auth_queue *queue, const struct account *account, unsigned n)
{
	struct auth_check *most = NULL;

	LIST_EACH(struct auth_check, c, node, &queue->checks) {
		unsigned failures = auth_client_failures(c->client, c->user);

		if (c->state != AUTH_CHECK_LINE || failures <= n ||
			(account != NULL && c->account != account))
			continue;
		most = c;
		n = failures;
	}
	return most;
}

static bool make_room(const struct auth_check *c)
{
	struct line *line = &c->queue->line;
	unsigned failures = auth_client_failures(c->client, c->user);
	bool full = line_waiting(line, c->account) >= AUTH_CLIENT_LINE_MAX;
	struct line_turn *longest = NULL;
	struct auth_check *other;

	if (!full && line->nwaiting < AUTH_LINE_MAX)
		return true;
	other = most_failed(c->queue, full ? c->account : NULL, failures);
	if (other == NULL && !full)
		longest = line_longest(line, c->account);
	if (longest != NULL)
		other = check_of(&longest->node);
	if (other != NULL)
		auth_line_drop(other, AUTH_BUSY);
	return other != NULL;
}

/* One check waits for a delay, for each user of each client; others must try again. */
static bool may_wait(const struct auth_check *c)
{
	unsigned n = 0;

	LIST_EACH(const struct auth_check, other, node, &c->queue->checks) {
		if (other->state != AUTH_CHECK_DELAY)
			continue;
		if (other->client == c->client && other->user == c->user)
			return false;
		n++;
	}
	return n < AUTH_DELAYED_MAX;
}

enum auth_verdict auth_line_join(struct auth_check *c)
{
	enum auth_check_state state = AUTH_CHECK_LINE;

	c->retry_ms = auth_client_delay(c->client, c->user);
	if (c->verdict.passed)
		state = AUTH_CHECK_FIRST;
	else if (c->retry_ms > 0 && !may_wait(c))
		return AUTH_DELAYED;
	else if (c->retry_ms > 0)
		state = AUTH_CHECK_DELAY;
	else if (!make_room(c))
		return AUTH_BUSY;
	auth_check_go(c, state);
	return AUTH_LATER;
}

/* --- turns -------------------------------------------------------------------------------------
 */

static struct auth_check *next(struct auth_queue *queue)
{
	struct line_turn *turn;
	struct account *held;

	if (queue->line.budget.held >= queue->line.budget.max)
		return NULL;
	if (!list_empty(&queue->first))
		return check_of(queue->first.next);
	turn = line_next(&queue->line);
	if (turn == NULL)
		return NULL;
	held = turn->account;
	account_close(&held);
	return check_of(&turn->node);
}

struct auth_check *auth_line_next(struct auth_queue *queue)
{
	struct auth_check *c;

	while ((c = next(queue)) != NULL) {
		if (c->state == AUTH_CHECK_FIRST || auth_client_delay(c->client, c->user) == 0)
			break;
		/* An earlier one was wrong. */
		if (auth_line_join(c) != AUTH_LATER)
			auth_line_drop(c, AUTH_DELAYED);
	}
	return c;
}
