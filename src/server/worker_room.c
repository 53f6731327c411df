/* worker_room: closes only connections that sessions_evict() chooses. */
#include "server/worker_state.h"

#include <sys/resource.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"

enum {
	ADMIN_CONNECTIONS = 64, /* beside worker-connections */
	/* Reserved: the worker's own, a message's (images, logs), closing ones, the admin's. */
	OWN_DESCRIPTORS = 256,
	FILES_MAX = 4096,
	/* The master is told after this time. */
	FULL_MS = 100,
	ROOM_MS = 1000,
};

struct worker_room worker_room_of(uint64_t descriptors, unsigned worker_connections)
{
	uint64_t own = descriptors / 4 < OWN_DESCRIPTORS ? descriptors / 4 : OWN_DESCRIPTORS;
	uint64_t rest = descriptors - own;
	uint64_t files = rest / 4 < FILES_MAX ? rest / 4 : FILES_MAX;
	struct worker_room room = { .connections = worker_connections, .files = (unsigned)files };

	if (rest - files < room.connections)
		room.connections = (unsigned)(rest - files);
	if (room.connections == 0)
		room.connections = 1;
	if (room.files == 0)
		room.files = 1;
	return room;
}

/* Admin connections have their own room, so that an operator can connect when clients cannot. */
static unsigned taken(const struct worker *w)
{
	unsigned admin = w->sessions.nadmin;

	if (admin > ADMIN_CONNECTIONS)
		admin = ADMIN_CONNECTIONS;
	return w->sessions.nlive - admin - w->sessions.nleaving;
}

static bool stuck(const struct worker *w)
{
	return taken(w) >= w->room.connections && !sessions_may_evict(&w->sessions);
}

static void arm(struct worker *w)
{
	if (!timer_armed(&w->full.tell))
		timer_arm(&w->loop.wheel, &w->full.tell,
			clock_ms() + (w->sessions.full ? FULL_MS : ROOM_MS));
}

/* The acceptor, and other choosers of a worker, see it at once. */
static void set_full(struct worker *w, bool full)
{
	w->sessions.full = full;
	__atomic_store_n(&w->args->board_slot->full, full, __ATOMIC_RELAXED);
	dispatch_pause(w->dispatch, full);
	arm(w);
}

/* A session that was idle for a moment, and could have been evicted, may be busy now. */
static void find_full(struct worker *w)
{
	if (w->state != BOARD_DRAIN && !w->sessions.full && stuck(w))
		set_full(w, true);
}

static void worker_room_tell(struct timer *t)
{
	struct worker *w = LIST_ENTRY(t, struct worker, full.tell);
	struct ctl_msg msg = { .type = CTL_FULL };

	if (w->state == BOARD_DRAIN || w->dispatch == NULL)
		return;
	find_full(w);
	msg.arg = w->sessions.full;
	if (timer_armed(t) || w->sessions.full == w->full.told)
		return;
	if (ctl_send(w->args->ctl, &msg, NULL, 0) == 0)
		w->full.told = w->sessions.full;
	else
		arm(w);
}

void worker_room_start(struct worker *w)
{
	timer_init(&w->full.tell, worker_room_tell);
	worker_room_look(w);
}

void worker_room_look(struct worker *w)
{
	const struct sites *sites = w->args->sites;
	struct rlimit r = { 0 };
	uint64_t links = 0, others = w->args->trees->files.nroots; /* each is always open */

	getrlimit(RLIMIT_NOFILE, &r);
	for (unsigned i = 0; i < sites->npeers; i++)
		links += sites->peers[i].connections;
	others += links < r.rlim_cur / 4 ? links : r.rlim_cur / 4;
	w->room = worker_room_of(r.rlim_cur > others ? r.rlim_cur - others : 0,
		(unsigned)w->args->conf->worker_connections);
	places_limit(&w->files->disk->places, w->room.files);
	if (w->dispatch == NULL)
		return;
	worker_room_freed(w);
	find_full(w);
}

unsigned worker_room_left(const struct worker *w)
{
	unsigned n = taken(w);

	return n < w->room.connections ? w->room.connections - n : 1;
}

void worker_room_taken(struct worker *w)
{
	if (w->state == BOARD_DRAIN || w->dispatch == NULL)
		return;
	if (taken(w) >= w->room.connections) {
		COUNT(limit_connections, 1);
		log_peer(LEVEL_WARN, "%s reached (%u connections)",
			w->room.connections < w->args->conf->worker_connections
				? "the limit of descriptors (RLIMIT_NOFILE)"
				: "worker-connections",
			w->sessions.nlive);
	}
	if (taken(w) > w->room.connections)
		sessions_evict(&w->sessions);
	find_full(w);
}

void worker_room_freed(struct worker *w)
{
	if (w->dispatch == NULL || !w->sessions.full || stuck(w))
		return;
	set_full(w, false);
}
