/*
 * auth_line: keeps the turns of password checks, and alone moves them. Whoever has to leave is told
 * by dropped(), which must not call back into the line.
 */
#include "request/auth_line.h"

#include <stddef.h>

#include "base/assert.h"
#include "base/clock.h"

const struct states auth_turn_states = {
	.of = "password check",
	.n = AUTH_TURN_STATES,
	.rows = {
#define AUTH_TURN_STATE(name, next, help) { #name, next },
#include "request/auth_turn_state.def"
	},
};

/* --- credentials that were right lately --------------------------------------------------------
 */

static uint16_t tag_of(const uint8_t *key)
{
	return (uint16_t)(key[1] << 8 | key[2]);
}

static int known_at(const struct auth_known *k, const uint8_t *key)
{
	for (int i = 0; i < AUTH_KNOWN_WAYS; i++)
		if (k->v[key[0]][i].until_ms > 0 && k->v[key[0]][i].tag == tag_of(key))
			return i;
	return -1;
}

static bool known_has(const struct auth_known *k, const uint8_t *key, uint64_t now_ms)
{
	int i = known_at(k, key);

	return i >= 0 && k->v[key[0]][i].until_ms > now_ms;
}

static void known_add(struct auth_known *k, const uint8_t *key, uint64_t now_ms)
{
	int place = known_at(k, key);

	if (place < 0) {
		place = 0;
		for (int i = 1; i < AUTH_KNOWN_WAYS; i++)
			if (k->v[key[0]][i].until_ms < k->v[key[0]][place].until_ms)
				place = i;
	}
	k->v[key[0]][place].tag = tag_of(key);
	k->v[key[0]][place].until_ms = now_ms + AUTH_KNOWN_MS;
}

static void known_remove(struct auth_known *k, const uint8_t *key)
{
	int i = known_at(k, key);

	if (i >= 0)
		k->v[key[0]][i].until_ms = 0;
}

/* --- turns ------------------------------------------------------------------------------------ */

void auth_line_init(struct auth_line *line,
	void (*dropped)(struct auth_line *line, struct auth_turn *turn, uint64_t ms))
{
	*line = (struct auth_line){ .dropped = dropped };
	list_init(&line->turns);
}

static void count(struct auth_line *line, const struct auth_turn *t, unsigned n)
{
	switch (t->state) {
	case AUTH_TURN_LINE:
		line->nline += n;
		t->client->nline += n;
		break;
	case AUTH_TURN_DELAY:
		line->nwaiting += n;
		t->guess->nwaiting += n;
		break;
	case AUTH_TURN_RUN:
		line->nrunning += n;
		t->client->nrunning += n;
		break;
	default:
		break;
	}
}

static void turn_go(struct auth_line *line, struct auth_turn *t, enum auth_turn_state state)
{
	STATES_STEP(&auth_turn_states, t->state, state);
	if (t->state == AUTH_TURN_OUT) {
		t->guess->nturns++;
		list_append(&line->turns, &t->node);
	}
	count(line, t, -1u);
	t->state = state;
	count(line, t, 1);
	if (state == AUTH_TURN_RUN || state == AUTH_TURN_OUT)
		list_remove(&t->node);
	if (state == AUTH_TURN_OUT)
		t->guess->nturns--;
}

static uint64_t delay_of(const struct auth_guess *g)
{
	uint64_t ready = auth_guess_ready_ms(g), now = clock_ms();

	return ready > now ? ready - now : 0;
}

static void drop(struct auth_line *line, struct auth_turn *t)
{
	uint64_t ms = delay_of(t->guess);

	turn_go(line, t, AUTH_TURN_OUT);
	line->dropped(line, t, ms);
}

/* The turn in line, of client (NULL: of all), whose user was guessed wrong most, and more often
 * than n times. */
static struct auth_turn *most_failed(
	const struct auth_line *line, const struct auth_client *client, unsigned n)
{
	struct auth_turn *most = NULL;

	LIST_FOREACH(node, &line->turns) {
		struct auth_turn *t = LIST_ENTRY(node, struct auth_turn, node);

		if (t->state != AUTH_TURN_LINE || (client != NULL && t->client != client) ||
			t->guess->failures <= n)
			continue;
		most = t;
		n = t->guess->failures;
	}
	return most;
}

/* The last turn in line of the client that has most there, and at least two more than n. */
static struct auth_turn *greediest(const struct auth_line *line, unsigned n)
{
	struct auth_turn *last = NULL;

	n += 2;
	LIST_FOREACH(node, &line->turns) {
		struct auth_turn *t = LIST_ENTRY(node, struct auth_turn, node);

		if (t->state != AUTH_TURN_LINE || t->client->nline < n)
			continue;
		last = t;
		n = t->client->nline;
	}
	return last;
}

static bool make_room(struct auth_line *line, const struct auth_turn *t)
{
	bool full = t->client->nline >= AUTH_CLIENT_LINE_MAX;
	struct auth_turn *other;

	if (!full && line->nline < AUTH_LINE_MAX)
		return true;
	other = most_failed(line, full ? t->client : NULL, t->guess->failures);
	if (other == NULL && !full)
		other = greediest(line, t->client->nline);
	if (other != NULL)
		drop(line, other);
	return other != NULL;
}

bool auth_line_join(struct auth_line *line, struct auth_turn *t, struct account *account,
	uint32_t user, const uint8_t *key, uint64_t *ms)
{
	enum auth_turn_state state = AUTH_TURN_LINE;

	t->account = account;
	t->client = account != NULL ? auth_client_of(account) : NULL;
	if (t->client == NULL)
		t->client = &line->nobody;
	t->user = user;
	t->key = key;
	t->guess = auth_client_guess(t->client, user);
	*ms = delay_of(t->guess);
	if (known_has(&line->known, key, clock_ms()))
		state = AUTH_TURN_KNOWN;
	else if (*ms > 0)
		state = AUTH_TURN_DELAY;
	if (state == AUTH_TURN_DELAY &&
		(t->guess->nwaiting > 0 || line->nwaiting >= AUTH_WAITING_MAX))
		return false;
	if (state == AUTH_TURN_LINE && !make_room(line, t))
		return false;
	turn_go(line, t, state);
	return true;
}

void auth_line_leave(struct auth_line *line, struct auth_turn *t)
{
	if (t->state != AUTH_TURN_OUT)
		turn_go(line, t, AUTH_TURN_OUT);
}

struct auth_turn *auth_line_next(struct auth_line *line, uint64_t *at)
{
	struct auth_turn *best = NULL;

	*at = UINT64_MAX;
	LIST_FOREACH(node, &line->turns) {
		struct auth_turn *t = LIST_ENTRY(node, struct auth_turn, node);
		uint64_t ready = auth_guess_ready_ms(t->guess);

		if (t->state == AUTH_TURN_KNOWN) {
			best = t;
			break;
		}
		if (t->client->nrunning >= AUTH_CLIENT_RUNNING_MAX)
			continue;
		if (ready > clock_ms())
			*at = ready < *at ? ready : *at;
		else if (best == NULL || t->client->turn < best->client->turn)
			best = t;
	}
	if (best == NULL || line->nrunning >= AUTH_RUNNING_MAX)
		return NULL;
	turn_go(line, best, AUTH_TURN_RUN);
	best->client->turn = ++line->last_turn;
	return best;
}

/* Checks in line whose guess has a delay from now on: one of them waits for it, the others leave.
 */
static void delay_others(struct auth_line *line, const struct auth_guess *g)
{
	LIST_FOREACH(node, &line->turns) {
		struct auth_turn *t = LIST_ENTRY(node, struct auth_turn, node);

		if (t->guess != g || t->state != AUTH_TURN_LINE)
			continue;
		if (g->nwaiting == 0)
			turn_go(line, t, AUTH_TURN_DELAY);
		else
			drop(line, t);
	}
}

void auth_line_end(struct auth_line *line, struct auth_turn *t, enum auth_turn_end end)
{
	turn_go(line, t, AUTH_TURN_OUT);
	switch (end) {
	case AUTH_TURN_RIGHT:
		known_add(&line->known, t->key, clock_ms());
		auth_guess_right(t->guess, t->user);
		break;
	case AUTH_TURN_WRONG:
		known_remove(&line->known, t->key);
		auth_guess_failed(t->guess, t->user);
		if (t->account != NULL)
			t->account->keep_ms = clock_ms() + AUTH_FORGIVEN_MS;
		delay_others(line, t->guess);
		break;
	case AUTH_TURN_UNKNOWN:
		break;
	}
}
