/*
 * worker_room: counts what a worker has room for, and pauses and resumes its dispatch strategy.
 * server/worker.c calls it when a connection was taken or has ended; it closes no connection
 * itself but for those that conn_idle_evict() has leave.
 */
#include "server/worker_room.h"

#include <sys/resource.h>

#include "base/log.h"
#include "server/conn_idle.h"

enum {
	ADMIN_CONNECTIONS = 64, /* beside worker-connections */
	/* Kept back: the worker's own, a message's (images, logs), those that leave, the admin's.
	 */
	OWN_DESCRIPTORS = 256,
	FILES_MAX = 4096,
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

/* Admin connections have room of their own, so that an operator gets in when clients do not. */
static unsigned taken(const struct worker *w)
{
	unsigned admin = w->conns.nadmin;

	if (admin > ADMIN_CONNECTIONS)
		admin = ADMIN_CONNECTIONS;
	return w->conns.nlive - admin - w->conns.nleaving;
}

static bool stuck(const struct worker *w)
{
	return taken(w) >= w->room.connections && !conn_idle_any(&w->conns);
}

void worker_room_look(struct worker *w)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0)
		w->room = worker_room_of(r.rlim_cur, (unsigned)w->args->conf->worker_connections);
	files_limit(w->files, w->room.files);
	if (w->dispatch != NULL)
		worker_room_freed(w);
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
	if (taken(w) >= w->room.connections)
		log_peer(LEVEL_WARN, "%s reached (%u connections)",
			w->room.connections < w->args->conf->worker_connections
				? "the limit of descriptors (RLIMIT_NOFILE)"
				: "worker-connections",
			w->conns.nlive);
	if (taken(w) > w->room.connections)
		conn_idle_evict(&w->conns);
	if (!w->conns.full && stuck(w)) {
		w->conns.full = true;
		w->dispatch_ops->pause(w->dispatch, true);
	}
}

void worker_room_freed(struct worker *w)
{
	if (w->dispatch == NULL || !w->conns.full || stuck(w))
		return;
	w->conns.full = false;
	w->dispatch_ops->pause(w->dispatch, false);
}
