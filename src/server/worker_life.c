/*
 * worker_life: only worker_go() writes the state. An unknown or late order has no effect. A drain
 * ends with the last connection.
 */
#include "server/worker_state.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "api/websocket.h"
#include "base/clock.h"
#include "base/log.h"

/* Others see a copy of the state: the scoreboard is shared memory. */
static void worker_go(struct worker *w, enum board_state state)
{
	STATES_STEP(&board_states, w->state, state);
	__atomic_store_n(&w->args->board_slot->state, state, __ATOMIC_RELAXED);
}

void worker_life_up(struct worker *w)
{
	worker_go(w, BOARD_UP);
}

/* Before its generation serves a worker takes no connections: it may fail, and others serve. */
static void worker_life_serve(struct worker *w)
{
	if (w->dispatch != NULL || w->state != BOARD_UP)
		return;
	w->dispatch = dispatch_start(&w->dispatch_host);
	if (w->dispatch == NULL) {
		/* The master starts another. */
		log_error("start: %s: %s; exiting", conf_dispatch_name(w->args->conf->dispatch),
			strerror(errno));
		loop_stop(&w->loop);
	}
}

void worker_life_look(struct worker *w)
{
	if (w->state == BOARD_DRAIN && w->sessions.nlive == 0 &&
		(w->dispatch == NULL || !dispatch_busy(w->dispatch)))
		loop_stop(&w->loop);
}

static void cut(struct worker *w)
{
	if (w->dispatch != NULL)
		dispatch_stop(&w->dispatch);
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
		dispatch_stop(&w->dispatch);
	timer_disarm(&w->loop.wheel, &w->deadline);
}

/* Begins the drain, or shortens its time. stop, closing: see CTL_DRAIN. */
static void worker_life_drain(struct worker *w, bool stop, uint64_t closing)
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
		dispatch_drain(w->dispatch, closing);
	files_no_image(w->files);
	websockets_drain(w->api.websockets);
	upstreams_drain(w->http.upstreams);
	sessions_drain(&w->sessions);
	worker_life_look(w);
}

static void on_signal(struct sig *s, const struct signalfd_siginfo *info)
{
	struct worker *w = LIST_ENTRY(s, struct worker, sig);

	if (info->ssi_signo == SIGTERM) {
		w->http.draining = true;
		if (w->state != BOARD_DRAIN)
			worker_go(w, BOARD_DRAIN);
		cut(w);
	} else if (info->ssi_signo == SIGQUIT) {
		worker_life_drain(w, true, 0);
	}
}

/*
 * The error log comes first unless it is syslog, then the access logs. They take the numbers of the
 * old ones, so that other code need not know.
 */
static void take_logs(struct worker *w, const int *fds, int nfds)
{
	int own = gift_fd(w->args->error_log), n = own >= 0 && nfds > 0 ? 1 : 0;

	if (n > 0 && dup2(fds[0], own) < 0)
		log_error("reopening the log: %s", strerror(errno));
	access_logs_reopened(&w->access_logs, fds + n, (unsigned)(nfds - n));
}

static int on_message(struct ctl_link *l, const struct ctl_msg *msg, const int *fds, int nfds)
{
	struct worker *w = LIST_ENTRY(l, struct worker, ctl);

	switch (msg->type) {
	case CTL_IMAGE:
		if (w->state == BOARD_DRAIN)
			return 0;
		files_take_image(w->files, msg->arg, fds, nfds);
		return nfds;
	case CTL_KEEPER:
		if (nfds != 1)
			return 0;
		doubt_client_add(&w->files->doubts, fds[0]);
		return 1;
	case CTL_SERVE:
		w->http.draining |= msg->arg != 0;
		worker_life_serve(w);
		return 0;
	case CTL_LISTEN:
		if (nfds != 1 || w->dispatch == NULL)
			return 0;
		dispatch_listen(w->dispatch, msg->listener, msg->slot, fds[0]);
		return 1;
	case CTL_UNLISTEN:
		if (w->dispatch != NULL)
			dispatch_unlisten(w->dispatch, msg->listener, msg->slot);
		return 0;
	case CTL_DRAIN:
		worker_life_drain(w, msg->arg != 0, msg->closing);
		return 0;
	case CTL_LOGS:
		take_logs(w, fds, nfds);
		return 0;
	case CTL_SHOW:
		worker_conns_show(w);
		return 0;
	default:
		return ctl_link_unknown(msg);
	}
}

static void master_gone(struct ctl_link *l)
{
	struct worker *w = LIST_ENTRY(l, struct worker, ctl);

	log_notice("the master is gone; draining");
	/* The queues close with the sockets, unless another master has them. */
	if (!w->args->heir)
		worker_life_serve(w);
	worker_life_drain(w, true, ~UINT64_C(0));
}

int worker_life_open(struct worker *w)
{
	if (sig_init(&w->sig, &w->loop, NULL, on_signal) < 0)
		return -1;
	w->ctl = (struct ctl_link){ .message = on_message, .gone = master_gone };
	return ctl_link_open(&w->ctl, &w->loop, w->args->ctl);
}

void worker_life_close(struct worker *w)
{
	ctl_link_close(&w->ctl);
	sig_fini(&w->sig, &w->loop);
}
