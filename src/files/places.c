/* places: see places.h. Grants in the loop's next turn, never from within a call. */
#include "files/places.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"

/* The limit that prevents holding a place. */
enum full { NOTHING, CONNECTION, CLIENT, WORKER };

enum {
	UPLOADS_LEAVE = 4, /* one place of so many is for responses alone */
	FIRST_UPLOADS = 8, /* and of those for uploads, for clients without one */
	ENDS_LEAST = 32,   /* uploads that may end in a second, at least */
	ENDS_PART = 32,    /* and one more for each so many places */
	TURNS = 64,        /* in one turn of the loop */
};

const struct states place_states = {
	.of = "place",
	.rows = {
#define PLACE_STATE(name, next, help) { #name, next },
#include "files/place_state.def"
	},
};

static void place_go(struct place *p, enum place_state state)
{
	STATES_STEP(&place_states, p->state, state);
}

unsigned places_held(const struct places *all)
{
	return (unsigned)(all->files.budget.held + all->uploads.held);
}

static struct budget *budget_of(struct places *all, const struct place *p)
{
	return p->upload ? &all->uploads : &all->files.budget;
}

/* True: the last places for uploads are left to clients without one. */
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
	if (p->upload && (budget_room(&all->uploads, p->turn.account) == 0 ||
				 is_for_others(all, p->turn.account)))
		return CLIENT;
	if (left == 0)
		return WORKER;
	if (budget_room(budget_of(all, p), p->turn.account) == 0)
		return CLIENT;
	return NOTHING;
}

/* Uploads leave some to responses, and their places do not count in the share of those. */
static void bound(struct places *all)
{
	uint64_t uploads = all->uploads.held;

	all->uploads.max = all->max - all->max / UPLOADS_LEAVE;
	all->files.budget.max = uploads < all->max ? all->max - uploads : 0;
}

static void hold(struct places *all, struct place *p)
{
	struct account *account = p->turn.account;

	budget_take(budget_of(all, p), account, 1);
	bound(all);
	p->share->held++;
	place_go(p, PLACE_HELD);
	if (!p->upload || account == NULL)
		return;
	p->turn.used_ms = clock_ms();
	list_append(&account->parts[ACCOUNT_UPLOADS].lent, &p->turn.node);
}

static void places_wake(struct places *all)
{
	if (all->files.nwaiting > 0)
		loop_ready(all->loop, &all->turns);
}

static void free_place(struct places *all, struct place *p)
{
	struct account *account = p->turn.account;

	list_remove(&p->turn.node);
	all->coming -= p->state == PLACE_BACK;
	place_go(p, PLACE_FREE);
	p->turn.account = NULL;
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
	line_keep(&p->turn);
}

void places_lend(struct places *all, struct place *p, bool read)
{
	H2D_ASSERT(p->share != NULL && p->back != NULL);
	if (!place_is_lent(p) || p->unread)
		places_wake(all);
	places_keep(p);
	place_go(p, PLACE_LENT);
	p->unread = !read;
	list_append(&p->share->lent, &p->node);
	line_lend(&all->files, &p->turn);
}

void places_rest(struct places *all, struct place *p)
{
	if (p->state != PLACE_LENT)
		return;
	place_go(p, PLACE_RESTS);
	if (p->unread || !list_empty(&p->share->group.waits))
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
	place_go(p, PLACE_BACK);
	list_remove(&p->node);
	line_keep(&p->turn);
	all->coming++;
	if (!p->back(p))
		return false;
	places_drop(all, p);
	return true;
}

/* A lent place of the connection whose peer takes no bytes. NULL: none. */
static struct place *resting(const struct place_share *s)
{
	LIST_EACH(struct place, p, node, &s->lent)
		if (p->state == PLACE_RESTS)
			return p;
	return NULL;
}

/* NULL: account's client (NULL: none's) has lent none. */
static struct place *first_lent(struct places *all, struct account *account)
{
	LIST_EACH(struct place, p, turn.node, line_lent(&all->files, account)) {
		/* Unless its first read is imminent: its peer takes no bytes, of it or of all. */
		if (!p->unread || p->state == PLACE_RESTS ||
			clock_ms() - p->turn.used_ms >= PLACES_UNREAD_MS)
			return p;
	}
	return NULL;
}

static void places_tell(const struct places *all, const struct account *a)
{
	COUNT(limit_files, 1);
	if (a != NULL)
		log_peer(LEVEL_INFO, "client %s: holds %u of %u open files; others need some",
			ADDR_HOST(&a->client),
			(unsigned)(a->parts[ACCOUNT_FILES].held + a->parts[ACCOUNT_UPLOADS].held),
			all->max);
}

/* A lent place for p, if the worker has none left; NULL: none is lent. *whose becomes the account
 * that holds most, if p may take one of its places. */
static struct place *of_the_greediest(
	struct places *all, const struct place *p, struct account **whose)
{
	struct account *own = p->turn.account;
	uint64_t held = own != NULL ? own->parts[ACCOUNT_FILES].held : 0;
	struct account *most = budget_most(&all->files.budget);
	struct place *found = NULL;

	if (most != NULL && (p->upload || most->parts[ACCOUNT_FILES].held > held)) {
		*whose = most;
		found = first_lent(all, most);
	}
	if (found == NULL)
		found = first_lent(all, own);
	return found != NULL ? found : first_lent(all, NULL);
}

/* Makes a place free for p, if possible: now (true) or when its file is closed. Only a greedier
 * client loses one. */
static bool make_room(struct places *all, struct place *p, enum full full)
{
	struct account *whose = p->turn.account;
	struct place *found = NULL;

	if (full == CONNECTION)
		found = resting(p->share);
	else if (full == WORKER)
		found = of_the_greediest(all, p, &whose);
	else if (!p->upload)
		found = first_lent(all, p->turn.account);
	/* The owner of a waiting place was told already. */
	if (full != CONNECTION && p->state != PLACE_WAITS)
		places_tell(all, whose);
	return found != NULL && take_back(all, found);
}

/* --- the line --------------------------------------------------------------------------------- */

/* While one comes back for those that wait, no second one is requested. */
static enum full look_for_room(struct places *all, struct place *p)
{
	enum full full = what_is_full(all, p);

	if (full == NOTHING || (p->state == PLACE_WAITS && all->coming > 0))
		return full;
	return make_room(all, p, full) ? NOTHING : full;
}

static enum line_answer places_ask(struct line *line, struct line_turn *turn)
{
	static const enum line_answer answers[] = {
		[NOTHING] = LINE_GO,
		[CONNECTION] = LINE_WAIT,
		[CLIENT] = LINE_WAIT,
		[WORKER] = LINE_FULL,
	};

	return answers[look_for_room(
		LIST_ENTRY(line, struct places, files), LIST_ENTRY(turn, struct place, turn))];
}

static void take_turns(struct task *t)
{
	struct places *all = LIST_ENTRY(t, struct places, turns);
	struct line_turn *turn = NULL;

	for (unsigned n = 0; n < TURNS && (turn = line_next(&all->files)) != NULL; n++) {
		struct place *p = LIST_ENTRY(turn, struct place, turn);
		struct account *held = turn->account;

		hold(all, p);
		account_close(&held);
		p->granted(p);
	}
	if (turn != NULL)
		places_wake(all);
}

/* p asks. True: no other place waits for its connection. */
static bool places_begin(
	struct places *all, struct place_share *share, struct account *account, struct place *p)
{
	H2D_ASSERT(p->state == PLACE_FREE);
	p->share = share != NULL ? share : &all->alone;
	p->turn = (struct line_turn){ .account = account };
	list_init(&p->turn.node);
	list_init(&p->node);
	return list_empty(&p->share->group.waits);
}

bool places_try(
	struct places *all, struct place_share *share, struct account *account, struct place *p)
{
	if (places_begin(all, share, account, p) && what_is_full(all, p) == NOTHING) {
		hold(all, p);
		return true;
	}
	p->share = NULL;
	p->turn.account = NULL;
	return false;
}

bool places_take(
	struct places *all, struct place_share *share, struct account *account, struct place *p)
{
	if (places_begin(all, share, account, p) && look_for_room(all, p) == NOTHING) {
		hold(all, p);
		return true;
	}
	place_go(p, PLACE_WAITS);
	line_join(&all->files, &p->turn, account, &p->share->group);
	return false;
}

void places_leave(struct places *all, struct place *p)
{
	struct place_share *s = p->share;

	places_keep(p);
	if (p->state == PLACE_WAITS) {
		line_leave(&all->files, &p->turn);
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

/* --- uploads that end so that others get their places ------------------------------------------
 */

static bool is_upload(struct line_turn *turn)
{
	return LIST_ENTRY(turn, struct place, turn)->upload;
}

static uint64_t rate(struct place *p)
{
	uint64_t ms = clock_ms() - p->turn.used_ms, came;

	if (ms < PLACES_UPLOAD_MS)
		return PLACES_BUSY;
	came = p->came(p);
	return came != PLACES_BUSY ? came * 1000 / ms : PLACES_BUSY;
}

/* The slowest upload of the accounts that hold most; NULL: none may end now. */
static struct place *slowest(struct places *all)
{
	const struct account *most = budget_most(&all->uploads);
	struct place *found = NULL;
	uint64_t least = PLACES_BUSY;

	LIST_EACH(const struct account_part, part, node, &all->uploads.holders) {
		if (part->held < most->parts[ACCOUNT_UPLOADS].held)
			continue;
		LIST_EACH(struct place, p, turn.node, &part->lent) {
			uint64_t r = rate(p);

			if (r < least) {
				least = r;
				found = p;
			}
		}
	}
	return found;
}

void places_look(struct places *all)
{
	unsigned n = line_count(&all->files, is_upload, ENDS_LEAST + all->max / ENDS_PART);

	for (struct place *p; n > 0 && (p = slowest(all)) != NULL; n--) {
		COUNT(limit_files, 1);
		log_peer(LEVEL_INFO,
			"client %s: cutting off an upload (%llu bytes in %llu s): others wait",
			ADDR_HOST(&p->turn.account->client), (unsigned long long)p->came(p),
			(unsigned long long)(clock_ms() - p->turn.used_ms) / 1000);
		p->back(p);
	}
	places_wake(all);
}

/* --- all of them ------------------------------------------------------------------------------ */

void places_init(struct places *all, struct loop *loop)
{
	all->loop = loop;
	all->coming = 0;
	line_init(&all->files, ACCOUNT_FILES, 0, PLACES_LEAST, 1);
	all->files.ask = places_ask;
	all->files.poor_in = ACCOUNT_UPLOADS;
	all->files.of_connections = all->files.by_client = true;
	budget_init(&all->uploads, ACCOUNT_UPLOADS, 0, PLACES_LEAST, 1);
	place_share_init(&all->alone);
	task_init(&all->turns, take_turns);
	places_limit(all, PLACES_MAX);
}

void places_fini(struct places *all)
{
	H2D_ASSERT(places_held(all) == 0 && all->files.nwaiting == 0);
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
	list_init(&s->lent);
	line_group_init(&s->group);
}
