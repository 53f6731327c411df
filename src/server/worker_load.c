/*
 * worker_load: counts and writes. While a generation takes another one's place two workers have the
 * same slot; the one of the generation that serves writes, until it drains. Connections of admin
 * listeners are no load.
 */
#include "server/worker_load.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/counters.h"
#include "server/worker_state.h"

static bool writes(const struct worker *w)
{
	return w->args->load != NULL && w->state != BOARD_DRAIN &&
	       BOARD_LOAD(w->args->board->head.generation) == w->args->generation;
}

/* unacked of a listening socket is how many wait to be accepted. */
static uint32_t count_queued(const struct worker *w)
{
	struct tcp_info info;
	uint32_t n = 0;

	for (unsigned i = 0; i < w->args->nlisteners; i++) {
		const struct worker_listener *l = &w->args->listeners[i];

		if (!l->shared && getsockopt(l->fd, IPPROTO_TCP, TCP_INFO, &info,
					  &(socklen_t){ sizeof(info) }) == 0)
			n += info.tcpi_unacked;
	}
	return n;
}

static void show(struct worker *w, uint32_t load)
{
	COUNT(load, (int32_t)(load - w->load.shown));
	w->load.shown = load;
}

static void look(struct timer *t)
{
	struct worker *w = LIST_ENTRY(t, struct worker, load.timer);
	uint32_t queued = count_queued(w);
	uint32_t load = load_look(
		w->args->load, &w->load.seen, sessions_load(&w->sessions), w->load.came, queued);

	if (writes(w))
		load_set(w->args->load, &w->load.seen, load);
	show(w, writes(w) ? load_of(w->args->load) : 0);
	timer_arm(&w->loop.wheel, t, clock_ms() + LOAD_LOOK_MS);
}

void worker_load_start(struct worker *w)
{
	timer_init(&w->load.timer, look);
	if (w->args->load != NULL)
		look(&w->load.timer);
}

void worker_load_stop(struct worker *w)
{
	show(w, 0);
	timer_disarm(&w->loop.wheel, &w->load.timer);
}

/* The acceptor goes by what is on the scoreboard. */
static void show_on_board(const struct worker *w)
{
	__atomic_store_n(&w->args->board_slot->load,
		BOARD_LOAD_OF(w->inbox_taken, sessions_load(&w->sessions)), __ATOMIC_RELAXED);
}

void worker_load_came(struct worker *w, const struct worker_listener *from)
{
	show_on_board(w);
	if (from->conf->admin)
		return;
	w->load.live = sessions_load(&w->sessions);
	w->load.came += !from->shared;
	/* The program in the kernel has not counted one that came to a socket of all workers. */
	if (from->shared && writes(w))
		load_gone(w->args->load, (uint32_t)-1);
}

void worker_load_gone(struct worker *w)
{
	uint32_t live = sessions_load(&w->sessions);

	show_on_board(w);
	if (writes(w)) {
		load_gone(w->args->load, w->load.live - live);
		show(w, load_of(w->args->load));
	}
	w->load.live = live;
}
