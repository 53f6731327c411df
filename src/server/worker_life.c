/*
 * worker_life: worker_go() writes the state, and nobody else. Orders of the master take the steps
 * (worker_orders.c); ends of connections bring a drain to its own.
 */
#include "server/worker_life.h"

#include <errno.h>
#include <string.h>

#include "api/websocket.h"
#include "base/clock.h"
#include "base/log.h"

/* Others see a copy of the state: the scoreboard is shared memory. */
static void worker_go(struct worker *w, enum board_state state)
{
	STATES_STEP(&board_states, w->state, state);
	w->state = state;
	__atomic_store_n(&w->args->board_slot->state, state, __ATOMIC_RELAXED);
}

void worker_life_up(struct worker *w)
{
	worker_go(w, BOARD_UP);
}

/* Before its generation serves a worker takes nothing: it may fail, and others serve. */
void worker_life_serve(struct worker *w)
{
	if (w->dispatch != NULL || w->state != BOARD_UP)
		return;
	w->dispatch = w->dispatch_ops->start(&w->dispatch_host);
	if (w->dispatch == NULL) {
		/* The master starts another. */
		log_error("start: %s: %s", conf_dispatch_name(w->args->conf->dispatch),
			strerror(errno));
		loop_stop(&w->loop);
	}
}

void worker_life_look(struct worker *w)
{
	if (w->state == BOARD_DRAIN && w->sessions.nlive == 0 &&
		(w->dispatch == NULL || !w->dispatch_ops->busy(w->dispatch)))
		loop_stop(&w->loop);
}

static void cut(struct worker *w)
{
	if (w->dispatch != NULL)
		w->dispatch_ops->stop(&w->dispatch);
	sessions_cut(&w->sessions);
	worker_life_look(w);
}

static void deadline(struct timer *t)
{
	struct worker *w = LIST_ENTRY(t, struct worker, deadline);

	log_notice("%s: %u connections cut", conf_drain_key(w->stops), w->sessions.nlive);
	cut(w);
}

void worker_life_init(struct worker *w)
{
	timer_init(&w->deadline, deadline);
}

void worker_life_stop(struct worker *w)
{
	if (w->dispatch != NULL)
		w->dispatch_ops->stop(&w->dispatch);
	timer_disarm(&w->loop.wheel, &w->deadline);
}

void worker_life_drain(struct worker *w, bool stop, uint64_t closing)
{
	uint64_t at = clock_ms() + conf_drain_ms(w->args->conf, stop);
	bool begins = w->state != BOARD_DRAIN;

	if (begins || (timer_armed(&w->deadline) && at < w->deadline.at)) {
		w->stops = stop;
		timer_arm(&w->loop.wheel, &w->deadline, at);
	}
	if (!begins)
		return;
	worker_go(w, BOARD_DRAIN);
	w->http.draining = true;
	if (w->dispatch != NULL)
		w->dispatch_ops->drain(w->dispatch, closing);
	files_no_image(w->files);
	websockets_drain(w->api.websockets);
	sessions_drain(&w->sessions);
	worker_life_look(w);
}

void worker_life_cut(struct worker *w)
{
	w->http.draining = true;
	if (w->state != BOARD_DRAIN)
		worker_go(w, BOARD_DRAIN);
	cut(w);
}
