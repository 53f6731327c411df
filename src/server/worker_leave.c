/*
 * worker_leave: drains a worker's strategy of dispatch and its sessions, and stops its loop when
 * nothing is left. Orders of the master begin it (worker_orders.c); ends of connections bring it to
 * its own.
 */
#include "server/worker_leave.h"

#include "base/clock.h"
#include "base/log.h"

void worker_leave_look(struct worker *w)
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
	worker_leave_look(w);
}

static void deadline(struct timer *t)
{
	struct worker *w = LIST_ENTRY(t, struct worker, deadline);

	log_notice("shutdown-timeout: %u connections cut", w->sessions.nlive);
	cut(w);
}

void worker_leave_init(struct worker *w)
{
	timer_init(&w->deadline, deadline);
}

void worker_leave_stop(struct worker *w)
{
	timer_disarm(&w->loop.wheel, &w->deadline);
}

void worker_leave_begin(struct worker *w, uint64_t ms, uint64_t closing)
{
	if (w->state == BOARD_DRAIN)
		return;
	worker_go(w, BOARD_DRAIN);
	w->http.draining = true;
	if (w->dispatch != NULL)
		w->dispatch_ops->drain(w->dispatch, closing);
	files_no_image(w->files);
	timer_arm(&w->loop.wheel, &w->deadline, clock_ms() + ms);
	sessions_drain(&w->sessions);
	worker_leave_look(w);
}

void worker_leave_now(struct worker *w)
{
	w->http.draining = true;
	if (w->state != BOARD_DRAIN)
		worker_go(w, BOARD_DRAIN);
	cut(w);
}
