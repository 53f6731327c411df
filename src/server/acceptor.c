/*
 * acceptor: chooses a worker (acceptor_balance) among those whose inbox has credits
 * (acceptor_inbox), and sends in batches, at the end of a turn. While no inbox is open it does not
 * accept: connections wait in the kernel's queues, where other processes can take them. Its death
 * costs only connections between accept and send.
 */
#include "server/acceptor.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "event/loop.h"
#include "ipc/ctl.h"
#include "server/dispatch.h"

enum {
	LOOK_MS = 10, /* while none is open: no event reports a new worker */
	SECOND_MS = 1000,
};

/* A slot, and the watch that reports that its worker has received connections. */
struct slot {
	struct acceptor_inbox inbox;
	struct watch received;
	struct acceptor *acceptor;
};

struct acceptor {
	const struct gifts *args;
	struct loop loop;
	struct sig sig;
	struct ctl_link ctl;
	struct dispatch_host host;
	struct dispatch *dispatch; /* NULL before CTL_SERVE */
	struct acceptor_balance balance;
	struct slot *slots;
	unsigned nslots;
	struct acceptor_choice *choices;
	struct board_worker *found;
	uint32_t changes; /* of the scoreboard, at the last check */
	bool waits;       /* none is open */
	bool draining;
	struct task flush;
	struct timer look; /* while it waits */
	struct timer second;
	struct timer deadline; /* of a drain */
};

/* --- open inboxes ----------------------------------------------------------------------------- */

/* Finds the process behind each inbox. */
static void find_workers(struct acceptor *a)
{
	const struct gifts *args = a->args;
	uint32_t changes = BOARD_LOAD(args->board->head.changes);

	if (changes == a->changes)
		return;
	a->changes = changes;
	memset(a->found, 0, a->nslots * sizeof(*a->found));
	board_find(args->board, args->generation, a->found, a->nslots);
	for (unsigned i = 0; i < a->nslots; i++)
		acceptor_inbox_behind(&a->slots[i].inbox, a->found[i]);
}

/* Updates the choices; true if one is open. */
static bool any_open(struct acceptor *a)
{
	bool any = false;

	find_workers(a);
	for (unsigned i = 0; i < a->nslots; i++)
		a->choices[i] = acceptor_inbox_choice(&a->slots[i].inbox, a->draining);
	acceptor_balance_hold(&a->balance, a->choices, a->nslots);
	for (unsigned i = 0; i < a->nslots; i++)
		any |= a->choices[i].open;
	return any;
}

static void watch_inboxes(struct acceptor *a, bool on)
{
	for (unsigned i = 0; i < a->nslots; i++) {
		struct watch *w = &a->slots[i].received;

		if (on && !w->active)
			loop_watch(&a->loop, w, EPOLLOUT);
		else if (!on)
			loop_unwatch(&a->loop, w);
	}
}

static void wait_or_go_on(struct acceptor *a, bool wait)
{
	if (wait == a->waits)
		return;
	a->waits = wait;
	watch_inboxes(a, wait);
	if (wait)
		timer_arm(&a->loop.wheel, &a->look, clock_ms() + LOOK_MS);
	dispatch_pause(a->dispatch, wait);
}

/* --- connections ------------------------------------------------------------------------------ */

static void flush_all(struct acceptor *a)
{
	for (unsigned i = 0; i < a->nslots; i++) {
		int rc = acceptor_inbox_flush(&a->slots[i].inbox);

		if (rc < 0 && rc != -EAGAIN)
			log_peer(LEVEL_ERROR, "inbox %u: %s", i, strerror(-rc));
	}
}

static bool in_hand(const struct acceptor *a)
{
	for (unsigned i = 0; i < a->nslots; i++)
		if (a->slots[i].inbox.nhand > 0)
			return true;
	return false;
}

static void leave_if_done(struct acceptor *a)
{
	if (a->draining && !in_hand(a) && (a->dispatch == NULL || !dispatch_busy(a->dispatch)))
		loop_stop(&a->loop);
}

static void on_flush(struct task *t)
{
	struct acceptor *a = LIST_ENTRY(t, struct acceptor, flush);

	flush_all(a);
	leave_if_done(a);
}

/* No worker is up: one will come, and read its inbox. -1: there is no room. */
static int any_hand(const struct acceptor *a)
{
	for (unsigned i = 0; i < a->nslots; i++)
		if (a->slots[i].inbox.nhand < FDPASS_MAX)
			return (int)i;
	return -1;
}

static void acceptor_take(struct dispatch_host *host, int fd, const struct addr *peer,
	const struct worker_listener *from)
{
	struct acceptor *a = LIST_ENTRY(host, struct acceptor, host);
	const struct fdpass conn = { .fd = fd, .listener = from->id, .peer = *peer };
	int at = any_open(a) ? acceptor_balance_pick(&a->balance, a->choices, a->nslots, peer)
			     : any_hand(a);

	if (at < 0) {
		log_peer(LEVEL_ERROR, "connection dropped: no worker has room");
		close(fd);
		return;
	}
	acceptor_inbox_put(&a->slots[at].inbox, &conn);
	loop_at_turn_end(&a->loop, &a->flush);
	if (!any_open(a))
		wait_or_go_on(a, true);
}

static void go_on(struct acceptor *a)
{
	if (a->waits)
		wait_or_go_on(a, !any_open(a));
	if (a->waits || in_hand(a))
		timer_arm(&a->loop.wheel, &a->look, clock_ms() + LOOK_MS);
}

static void on_look(struct timer *t)
{
	struct acceptor *a = LIST_ENTRY(t, struct acceptor, look);

	flush_all(a);
	leave_if_done(a);
	go_on(a);
}

static void on_received(struct watch *w, uint32_t events)
{
	(void)events;
	go_on(LIST_ENTRY(w, struct slot, received)->acceptor);
}

static void drained(struct dispatch_host *host)
{
	leave_if_done(LIST_ENTRY(host, struct acceptor, host));
}

/* --- orders ----------------------------------------------------------------------------------- */

static void serve(struct acceptor *a)
{
	if (a->dispatch != NULL || a->draining)
		return;
	a->dispatch = dispatch_start(&a->host);
	if (a->dispatch == NULL) {
		/* The master starts another. */
		log_error("start: %s; exiting", strerror(errno));
		loop_stop(&a->loop);
		return;
	}
	wait_or_go_on(a, !any_open(a));
}

static void drain(struct acceptor *a, bool stop, uint64_t closing)
{
	uint64_t at = clock_ms() + conf_drain_ms(a->args->conf, stop);

	if (!timer_armed(&a->deadline) || at < a->deadline.at)
		timer_arm(&a->loop.wheel, &a->deadline, at);
	if (a->draining)
		return;
	a->draining = true;
	if (a->dispatch != NULL)
		dispatch_drain(a->dispatch, closing);
	leave_if_done(a);
}

static void on_deadline(struct timer *t)
{
	loop_stop(&LIST_ENTRY(t, struct acceptor, deadline)->loop);
}

static void on_second(struct timer *t)
{
	struct acceptor *a = LIST_ENTRY(t, struct acceptor, second);

	log_tick(false);
	ctl_link_look(&a->ctl);
	ctl_link_tick(&a->ctl);
	for (unsigned i = 0; i < a->nslots; i++)
		acceptor_inbox_look(&a->slots[i].inbox);
	if (a->dispatch != NULL && !a->draining)
		dispatch_look(a->dispatch);
	timer_arm(&a->loop.wheel, t, clock_ms() + SECOND_MS);
}

static int on_message(struct ctl_link *l, const struct ctl_msg *msg, const int *fds, int nfds)
{
	struct acceptor *a = LIST_ENTRY(l, struct acceptor, ctl);
	int own = gift_fd(a->args->error_log);

	switch (msg->type) {
	case CTL_SERVE:
		serve(a);
		return 0;
	case CTL_DRAIN:
		drain(a, msg->arg != 0, msg->closing);
		return 0;
	case CTL_LISTEN:
		if (nfds != 1 || a->dispatch == NULL)
			return 0;
		dispatch_listen(a->dispatch, msg->listener, msg->slot, fds[0]);
		return 1;
	case CTL_LOGS:
		if (nfds > 0 && own >= 0 && dup2(fds[0], own) < 0)
			log_error("reopening the log: %s", strerror(errno));
		return 0;
	default:
		return ctl_link_unknown(msg);
	}
}

static void master_gone(struct ctl_link *l)
{
	struct acceptor *a = LIST_ENTRY(l, struct acceptor, ctl);

	log_notice("the master is gone; draining");
	if (!a->args->heir)
		serve(a);
	drain(a, true, ~UINT64_C(0));
}

static void on_signal(struct sig *s, const struct signalfd_siginfo *info)
{
	struct acceptor *a = LIST_ENTRY(s, struct acceptor, sig);

	if (info->ssi_signo == SIGTERM)
		loop_stop(&a->loop);
}

/* --- putting it together ---------------------------------------------------------------------- */

static int make_slots(struct acceptor *a)
{
	unsigned n = a->nslots;

	a->slots = calloc(n, sizeof(*a->slots));
	a->choices = calloc(n, sizeof(*a->choices));
	a->found = calloc(n, sizeof(*a->found));
	if (a->slots == NULL || a->choices == NULL || a->found == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		struct slot *s = &a->slots[i];

		memcpy(s->inbox.ends, a->args->inboxes.fds + 2 * i, sizeof(s->inbox.ends));
		s->received = (struct watch){ .fn = on_received, .fd = s->inbox.ends[1] };
		s->acceptor = a;
	}
	return 0;
}

static int start(struct acceptor *a)
{
	const struct gifts *args = a->args;
	int rc = sig_init(&a->sig, &a->loop, NULL, on_signal);

	if (rc == 0)
		rc = make_slots(a);
	if (rc < 0)
		return rc;
	a->balance.by_source = conf_balance(args->conf) == BALANCE_SOURCE_HASH;
	a->host = (struct dispatch_host){
		.loop = &a->loop,
		.first = args->conf->listens,
		.listeners = args->listeners,
		.nlisteners = args->nlisteners,
		.inbox = -1,
		.patient = true,
		.take = acceptor_take,
		.drained = drained,
	};
	a->ctl = (struct ctl_link){ .message = on_message, .gone = master_gone };
	rc = ctl_link_open(&a->ctl, &a->loop, args->ctl);
	if (rc == 0)
		rc = ctl_send(args->ctl, &(struct ctl_msg){ .type = CTL_UP }, NULL, 0);
	if (rc == -EPIPE)
		rc = 0; /* the loop notices a dead master */
	timer_arm(&a->loop.wheel, &a->second, clock_ms() + SECOND_MS);
	return rc;
}

static void stop(struct acceptor *a)
{
	if (a->dispatch != NULL)
		dispatch_stop(&a->dispatch);
	if (a->slots != NULL)
		watch_inboxes(a, false);
	timer_disarm(&a->loop.wheel, &a->look);
	timer_disarm(&a->loop.wheel, &a->second);
	timer_disarm(&a->loop.wheel, &a->deadline);
	loop_cancel(&a->flush);
	ctl_link_close(&a->ctl);
	sig_fini(&a->sig, &a->loop);
	loop_fini(&a->loop);
	free(a->slots);
	free(a->choices);
	free(a->found);
	log_tick(true);
}

int acceptor_run(const struct gifts *args)
{
	struct acceptor a = { .args = args, .nslots = args->inboxes.n / 2 };
	int rc = loop_init(&a.loop);

	if (rc < 0) {
		log_error("start: %s; exiting", strerror(-rc));
		return EXIT_FAILURE;
	}
	task_init(&a.flush, on_flush);
	timer_init(&a.look, on_look);
	timer_init(&a.second, on_second);
	timer_init(&a.deadline, on_deadline);
	rc = start(&a);
	if (rc == 0)
		rc = loop_run(&a.loop);
	if (rc < 0)
		log_error("cannot run: %s; exiting", strerror(-rc));
	stop(&a);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
