/* places: see places.h. Grants in the loop's next turn, never from within a call. */
#include "files/places.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"

/* The bound that keeps a place from being held. */
enum full { NOTHING, CONNECTION, CLIENT, WORKER };

enum {
	UPLOADS_LEAVE = 4, /* a place in so many is for responses alone */
	FIRST_UPLOADS = 8, /* and of those for uploads for clients that have none */
};

const struct states place_states = {
	.of = "place",
	.n = PLACE_STATES,
	.rows = {
#define PLACE_STATE(name, next, help) { #name, next },
#include "files/place_state.def"
	},
};

static void place_go(struct place *p, enum place_state state)
{
	STATES_STEP(&place_states, p->state, state);
	p->state = state;
}

unsigned places_held(const struct places *all)
{
	return (unsigned)(all->files.held + all->uploads.held);
}

static struct budget *budget_of(struct places *all, const struct place *p)
{
	return p->upload ? &all->uploads : &all->files;
}

/* Lent places and lines are a client's whatever they are for. */
static struct account_part *client_of(struct places *all, struct account *a)
{
	return a != NULL ? &a->parts[ACCOUNT_FILES] : &all->nobody;
}

/* A crowd may take all but these, each of it the least share. */
static bool is_for_others(const struct places *all, const struct account *a)
{
	uint64_t left = all->uploads.max / FIRST_UPLOADS;

	return a != NULL && a->parts[ACCOUNT_UPLOADS].held > 0 &&
	       all->uploads.held + left >= all->uploads.max;
}

static enum full what_is_full(struct places *all, const struct place *p)
{
	unsigned held = places_held(all), left = held < all->max ? all->max - held : 0;
	const struct place_share *s = p->share;

	if (s != &all->alone && s->held >= PLACES_SHARE)
		return CONNECTION;
	if (p->upload &&
		(budget_room(&all->uploads, p->account) == 0 || is_for_others(all, p->account)))
		return CLIENT;
	if (left == 0)
		return WORKER;
	if (budget_room(budget_of(all, p), p->account) == 0)
		return CLIENT;
	return NOTHING;
}

/* Uploads leave some to responses, and what they hold is no part of what is left for those. */
static void bound(struct places *all)
{
	uint64_t uploads = all->uploads.held;

	all->uploads.max = all->max - all->max / UPLOADS_LEAVE;
	all->files.max = uploads < all->max ? all->max - uploads : 0;
}

static void hold(struct places *all, struct place *p)
{
	budget_take(budget_of(all, p), p->account, 1);
	bound(all);
	p->share->held++;
	place_go(p, PLACE_HELD);
	p->promised = false;
	if (!p->upload || p->account == NULL)
		return;
	p->since_ms = clock_ms();
	list_append(&p->account->parts[ACCOUNT_UPLOADS].lent, &p->mine);
}

static bool any_waits(const struct places *all)
{
	return !list_empty(&all->poor) || !list_empty(&all->clients);
}

void places_wake(struct places *all)
{
	if (any_waits(all))
		loop_ready(all->loop, &all->turns);
}

static void free_place(struct places *all, struct place *p)
{
	struct account *account = p->account;

	if (p->upload && account != NULL)
		list_remove(&p->mine);
	all->coming -= p->coming;
	place_go(p, PLACE_FREE);
	p->coming = false;
	p->account = NULL;
	budget_give(budget_of(all, p), account, 1);
	bound(all);
	places_wake(all);
}

/* --- taking back ------------------------------------------------------------------------------ */

void places_keep(struct place *p)
{
	if (!place_is_lent(p))
		return;
	place_go(p, PLACE_HELD);
	list_remove(&p->node);
	list_remove(&p->mine);
}

void places_lend(struct places *all, struct place *p, bool read)
{
	H2D_ASSERT(p->share != NULL && p->back != NULL);
	if (!place_is_lent(p) || p->unread)
		places_wake(all);
	places_keep(p);
	place_go(p, PLACE_LENT);
	p->unread = !read;
	if (p->unread)
		p->since_ms = clock_ms();
	list_append(&p->share->lent, &p->node);
	list_append(&client_of(all, p->account)->lent, &p->mine);
}

void places_rest(struct places *all, struct place *p)
{
	if (p->state != PLACE_LENT)
		return;
	place_go(p, PLACE_RESTS);
	if (p->unread || !list_empty(&p->share->line))
		places_wake(all);
}

void places_drop(struct places *all, struct place *p)
{
	H2D_ASSERT(p->share != NULL);
	p->share->held--;
	p->share = NULL;
	free_place(all, p);
}

/* True: its place is free now. */
static bool take_back(struct places *all, struct place *p)
{
	places_keep(p);
	all->coming++;
	p->coming = true;
	if (!p->back(p))
		return false;
	places_drop(all, p);
	return true;
}

/* A lent place of the connection by which its peer takes nothing. NULL: there is none. */
static struct place *resting(const struct place_share *s)
{
	LIST_FOREACH(node, &s->lent) {
		struct place *p = LIST_ENTRY(node, struct place, node);

		if (p->state == PLACE_RESTS)
			return p;
	}
	return NULL;
}

/* Its first read is not due any moment: its peer takes nothing, or nothing of all that is sent. */
static bool may_be_taken(const struct place *p)
{
	return !p->unread || p->state == PLACE_RESTS ||
	       clock_ms() - p->since_ms >= PLACES_UNREAD_MS;
}

static struct place *first_lent(const struct account_part *client)
{
	LIST_FOREACH(node, &client->lent) {
		struct place *p = LIST_ENTRY(node, struct place, mine);

		if (may_be_taken(p))
			return p;
	}
	return NULL;
}

static void tell(const struct places *all, const struct account *a)
{
	COUNT(limit_files, 1);
	if (a != NULL)
		log_peer(LEVEL_INFO, "client %s: has %u of %u open files, and others need some",
			ADDR_HOST(&a->client),
			(unsigned)(a->parts[ACCOUNT_FILES].held + a->parts[ACCOUNT_UPLOADS].held),
			all->max);
}

/* A lent place that p may have, where the worker has none left; NULL: none is lent. *whose becomes
 * the account that holds most, if p may take one of its places. */
static struct place *of_the_greediest(
	struct places *all, const struct place *p, struct account **whose)
{
	const struct account_part *own = client_of(all, p->account);
	struct account *most = budget_most(&all->files);
	struct place *found = NULL;

	if (most != NULL && (p->upload || most->parts[ACCOUNT_FILES].held > own->held)) {
		*whose = most;
		found = first_lent(client_of(all, most));
	}
	if (found == NULL)
		found = first_lent(own);
	return found != NULL ? found : first_lent(&all->nobody);
}

/*
 * A place is given back for p, if there is one to give: it is p's now (true) or when its file is
 * closed. Nobody but a greedier client has less than before.
 */
static bool make_room(struct places *all, struct place *p, enum full full)
{
	struct account *whose = p->account;
	struct place *found = NULL;

	if (full == CONNECTION)
		found = resting(p->share);
	else if (full == WORKER)
		found = of_the_greediest(all, p, &whose);
	else if (!p->upload)
		found = first_lent(client_of(all, p->account));
	/* A place that waits was told of already. */
	if (full != CONNECTION && p->state != PLACE_WAITS)
		tell(all, whose);
	p->promised = found != NULL;
	return found != NULL && take_back(all, found);
}

/* --- the line --------------------------------------------------------------------------------- */

static void queue_up(struct places *all, struct account_part *client)
{
	const struct account *a = LIST_ENTRY(client, struct account, parts[ACCOUNT_FILES]);
	bool poor = client != &all->nobody && a->parts[ACCOUNT_UPLOADS].held == 0;

	list_append(poor ? &all->poor : &all->clients, &client->turn);
}

static void join(struct places *all, struct place *p)
{
	struct place_share *s = p->share;

	place_go(p, PLACE_WAITS);
	if (p->account != NULL)
		account_hold(p->account);
	if (list_empty(&s->line)) {
		s->client = client_of(all, p->account);
		if (list_empty(&s->client->line))
			queue_up(all, s->client);
		list_append(&s->client->line, &s->node);
	}
	list_append(&s->line, &p->node);
}

static void quit(struct place *p)
{
	struct place_share *s = p->share;
	struct account *account = p->account;

	p->promised = false;
	list_remove(&p->node);
	if (list_empty(&s->line)) {
		list_remove(&s->node);
		if (list_empty(&s->client->line))
			list_remove(&s->client->turn);
		s->client = NULL;
	}
	account_close(&account);
}

/* While one comes back for those that wait, no second one is asked for. */
static enum full look_for_room(struct places *all, struct place *p, bool waits)
{
	enum full full = what_is_full(all, p);

	if (full == NOTHING || (p->promised && places_held(all) < all->max))
		return NOTHING;
	if (waits && all->coming > 0)
		return full;
	return make_room(all, p, full) ? NOTHING : full;
}

/* The first in line of one of the client's connections, each having its turn. NULL: none fits. */
static struct place *next_of(struct places *all, struct account_part *client, bool *full)
{
	unsigned n = 0;

	LIST_FOREACH(node, &client->line)
		n++;
	while (n-- > 0) {
		struct list *node = list_pop(&client->line);
		struct place_share *s = LIST_ENTRY(node, struct place_share, node);
		struct place *p = LIST_ENTRY(s->line.next, struct place, node);
		enum full what;

		list_append(&client->line, node);
		what = look_for_room(all, p, true);
		*full = what == WORKER;
		if (what == NOTHING || *full)
			return what == NOTHING ? p : NULL;
	}
	return NULL;
}

/* Serves each of these clients in turn, as far as there is room. True: somebody got a place. */
static bool serve(struct places *all, struct list *clients, bool *full)
{
	struct list waiting, *node;
	bool granted = false;

	list_init(&waiting);
	list_splice(&waiting, clients);
	while (!*full && (node = list_pop(&waiting)) != NULL) {
		struct account_part *client = LIST_ENTRY(node, struct account_part, turn);
		struct place *p = next_of(all, client, full);

		if (p != NULL)
			hold(all, p);
		queue_up(all, client);
		if (p == NULL)
			continue;
		quit(p);
		granted = true;
		p->granted(p);
	}
	/* Clients that had no turn are the first next time. */
	list_splice(&waiting, clients);
	list_splice(clients, &waiting);
	return granted;
}

static void take_turns(struct task *t)
{
	struct places *all = LIST_ENTRY(t, struct places, turns);
	bool full = false, granted = serve(all, &all->poor, &full);

	if (!full)
		granted |= serve(all, &all->clients, &full);
	if (granted)
		places_wake(all);
}

bool places_try(
	struct places *all, struct place_share *share, struct account *account, struct place *p)
{
	H2D_ASSERT(p->state == PLACE_FREE);
	p->share = share != NULL ? share : &all->alone;
	p->account = account;
	if (list_empty(&p->share->line) && what_is_full(all, p) == NOTHING) {
		hold(all, p);
		return true;
	}
	p->share = NULL;
	p->account = NULL;
	return false;
}

bool places_take(
	struct places *all, struct place_share *share, struct account *account, struct place *p)
{
	H2D_ASSERT(p->state == PLACE_FREE);
	p->share = share != NULL ? share : &all->alone;
	p->account = account;
	if (list_empty(&p->share->line) && look_for_room(all, p, false) == NOTHING) {
		hold(all, p);
		return true;
	}
	join(all, p);
	return false;
}

void places_leave(struct places *all, struct place *p)
{
	struct place_share *s = p->share;

	places_keep(p);
	if (p->state == PLACE_WAITS) {
		quit(p);
		place_go(p, PLACE_FREE);
	}
	if (place_is_held(p) && s != NULL) {
		s->held--;
		places_wake(all);
	}
	p->share = NULL;
}

void places_give(struct places *all, struct place *p)
{
	if (place_is_held(p))
		free_place(all, p);
}

/* --- all of them ------------------------------------------------------------------------------ */

void places_init(struct places *all, struct loop *loop)
{
	all->loop = loop;
	all->coming = 0;
	budget_init(&all->files, ACCOUNT_FILES, 0, PLACES_LEAST, 1);
	budget_init(&all->uploads, ACCOUNT_UPLOADS, 0, PLACES_LEAST, 1);
	list_init(&all->poor);
	list_init(&all->clients);
	account_part_init(&all->nobody);
	place_share_init(&all->alone);
	task_init(&all->turns, take_turns);
	places_limit(all, PLACES_MAX);
}

void places_fini(struct places *all)
{
	H2D_ASSERT(places_held(all) == 0 && !any_waits(all));
	loop_cancel(&all->turns);
}

void places_limit(struct places *all, unsigned max)
{
	all->max = max;
	bound(all);
	places_wake(all);
}

void place_share_init(struct place_share *s)
{
	s->held = 0;
	s->client = NULL;
	list_init(&s->line);
	list_init(&s->lent);
	list_init(&s->node);
}
