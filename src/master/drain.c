/*
 * drain: a process that exceeds its time by a second gets SIGTERM, and SIGKILL another second
 * later. A master that yields abandons its processes, like one that dies.
 */
#include "master/drain.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "machine/notify.h"
#include "master/launch.h"
#include "master/loan.h"
#include "master/master_state.h"
#include "master/shrink.h"

enum {
	OVERSTAY_MS = 1000,
	CUT_MS = 3000,
	DRAINING_MAX = 8, /* beside the serving one */
	UNBORN_MS = 1000, /* for one that is not up to obey SIGTERM: meanwhile it holds sockets */
};

/* A process that is not up has no work to finish, and may never read a message. */
static bool is_unborn(const struct child *c)
{
	return c->state == CHILD_START;
}

static void kill_all(struct gen *g, int signo)
{
	GEN_FOREACH(c, g)
		child_kill(c, signo);
}

static void drain_arm(struct gen *g, uint64_t at)
{
	timer_arm(&g->master->loop.wheel, &g->deadline, at);
}

static void on_deadline(struct timer *t)
{
	struct gen *g = LIST_ENTRY(t, struct gen, deadline);

	if (g->unborn) {
		g->unborn = false;
		GEN_FOREACH(c, g) {
			if (!is_unborn(c))
				continue;
			log_warn("%s (process %d, generation %u) ignored SIGTERM while starting; "
				 "killing it",
				CHILD_NAME(c), (int)c->pid, g->number);
			child_kill(c, SIGKILL);
		}
		drain_arm(g, g->until);
		return;
	}
	if (g->terminated) {
		log_error("generation %u ignores SIGTERM; killing it", g->number);
		kill_all(g, SIGKILL);
	} else {
		log_warn("generation %u exceeds %s; terminating it", g->number,
			conf_drain_key(g->stops));
		g->terminated = true;
		kill_all(g, SIGTERM);
	}
	drain_arm(g, clock_ms() + OVERSTAY_MS);
}

static void drain_leave(struct gen *g)
{
	if (g->state == GEN_DRAIN)
		return;
	gen_go(g, GEN_DRAIN);
	g->until = UINT64_MAX;
	gen_let_go(g);
	loan_forget(g);
	timer_init(&g->deadline, on_deadline);
	GEN_FOREACH(c, g)
		launch_cancel(c);
}

static void drain_cut(struct gen *g)
{
	drain_leave(g);
	if (!g->terminated) {
		g->terminated = true;
		g->unborn = false;
		drain_arm(g, clock_ms() + CUT_MS);
		kill_all(g, SIGTERM);
	}
	drain_check(g);
}

/* Makes room for one more to drain: each holds memory, and places of the scoreboard. */
static void make_room(const struct master *m)
{
	struct gen *oldest = NULL;
	unsigned n = 0;

	LIST_EACH(struct gen, g, node, &m->gens.all) {
		if (g->state != GEN_DRAIN || g->terminated)
			continue;
		if (n++ == 0)
			oldest = g;
	}
	if (n < DRAINING_MAX)
		return;
	log_warn("%u generations are draining; terminating the oldest, %u", n, oldest->number);
	drain_cut(oldest);
}

void drain_begin(struct gen *g, bool stop)
{
	uint64_t now = clock_ms(), until = now + conf_drain_ms(g->conf, stop) + OVERSTAY_MS;

	if (g->terminated)
		return;
	if (!stop)
		make_room(g->master);
	drain_leave(g);
	if (until < g->until) {
		g->until = until;
		g->stops = stop;
	}
	GEN_FOREACH(c, g)
		g->unborn |= is_unborn(c);
	drain_arm(g, g->unborn ? now + UNBORN_MS : g->until);
	GEN_FOREACH(c, g)
		if (is_unborn(c))
			child_kill(c, SIGTERM);
		else if (c->pid != 0)
			child_send(c, DUE_DRAIN);
	drain_check(g);
}

/* --- masters of before ------------------------------------------------------------------------ */

static void close_reign(struct master *m)
{
	loop_unwatch(&m->loop, &m->leave.others);
	if (m->leave.end >= 0)
		close(m->leave.end);
	m->leave.end = -1;
}

static void leave_if_done(struct master *m)
{
	struct pollfd others = { .fd = m->leave.end };

	/* POLLERR: there is no reader any more. */
	if (m->phase != MASTER_LEAVE || m->gens.n > 0 ||
		(m->leave.end >= 0 && poll(&others, 1, 0) == 0))
		return;
	timer_disarm(&m->loop.wheel, &m->leave.delay);
	loop_stop(&m->loop);
}

/* Previous masters have ended, or the serving one must stop, or was killed. */
static void on_reign_end(struct watch *w, uint32_t events)
{
	struct master *m = LIST_ENTRY(w, struct master, leave.others);

	(void)events;
	if (m->leave.end < 0) {
		close_reign(m);
		drain_all(m, DRAIN_STOP);
	}
	leave_if_done(m);
}

void drain_inherit(struct master *m, int reign_end, int reign)
{
	if (reign_end < 0)
		return; /* of a previous program */
	close_reign(m);
	if (m->leave.others.fd >= 0)
		close(m->leave.others.fd);
	m->leave.others.fd = reign_end;
	m->leave.end = reign;
}

/* --- the end of a generation ------------------------------------------------------------------ */

static void on_free(struct task *t)
{
	struct gen *g = LIST_ENTRY(t, struct gen, free);
	struct master *m = g->master;

	if (m->current == g)
		m->current = NULL; /* all ends, and this one first */
	gen_free(&g);
	m->gens.n--;
	leave_if_done(m);
}

/* All of g's processes have ended or are abandoned. */
static void drain_end(struct gen *g)
{
	loan_gone(g);
	timer_disarm(&g->master->loop.wheel, &g->deadline);
	list_remove(&g->node);
	task_init(&g->free, on_free);
	loop_defer(&g->master->loop, &g->free);
}

void drain_check(struct gen *g)
{
	GEN_FOREACH(c, g)
		if (c->pid != 0)
			return;
	if (!list_linked(&g->node))
		return;
	outcome_gone(g->master, g);
	drain_end(g);
}

/* --- the end of the master -------------------------------------------------------------------- */

static void on_delay(struct timer *t)
{
	struct master *m = LIST_ENTRY(t, struct master, leave.delay);

	if (m->phase != MASTER_LEAVE) {
		drain_all(m, DRAIN_STOP);
		return;
	}
	close_reign(m); /* does not wait for other holders any more */
	leave_if_done(m);
}

void drain_init(struct master *m)
{
	int ends[2];

	timer_init(&m->leave.delay, on_delay);
	if (pipe2(ends, O_CLOEXEC) < 0)
		ends[0] = ends[1] = -1;
	m->leave.others = (struct watch){ .fn = on_reign_end, .fd = ends[0] };
	m->leave.end = ends[1];
}

bool drain_announce(struct master *m)
{
	uint64_t delay = m->current != NULL ? m->current->conf->shutdown_delay : 0;

	if (delay == 0 || master_is_leaving(m))
		return false;
	master_go(m, MASTER_PART);
	log_notice("shutting down: health check fails, draining in %u s", (unsigned)delay);
	notify_stopping("shutting down");
	health_set(m, BOARD_HEALTH_LEAVING, true);
	timer_arm(&m->loop.wheel, &m->leave.delay, clock_ms() + delay * 1000);
	gen_send(m->current, CHILD_SERVE, DUE_SERVE);
	return true;
}

void drain_all(struct master *m, enum drain how)
{
	bool begins = m->phase != MASTER_LEAVE;

	if (begins) {
		notify_stopping(how != DRAIN_CUT ? "draining" : "stopping");
		master_go(m, MASTER_LEAVE);
	}
	m->starting = NULL;
	timer_disarm(&m->loop.wheel, &m->build.limit);
	timer_disarm(&m->loop.wheel, &m->build.bind);
	shrink_stop(m);
	if (begins)
		timer_disarm(&m->loop.wheel, &m->leave.delay);
	if (how != DRAIN_STOP || m->current == NULL) {
		close_reign(m);
	} else if (begins && write(m->leave.end, "", 1) == 1) {
		/* Stops previous masters, too, and waits for them like for its own processes. */
		close(m->leave.others.fd);
		m->leave.others.fd = m->leave.end;
		loop_watch(&m->loop, &m->leave.others, 0);
		timer_arm(&m->loop.wheel, &m->leave.delay,
			clock_ms() + conf_drain_ms(m->current->conf, true) + CUT_MS);
	}
	if (how == DRAIN_HEIR)
		loop_watch(&m->loop, &m->leave.others, EPOLLIN);
	/* Before the workers close theirs: they accept queued ones, and no more may be queued. */
	sockets_close(&m->sockets);
	LIST_EACH(struct gen, g, node, &m->gens.all) {
		if (how == DRAIN_CUT)
			drain_cut(g);
		else if (how == DRAIN_STOP || g->state != GEN_DRAIN)
			drain_begin(g, how == DRAIN_STOP);
	}
	leave_if_done(m);
}

void drain_yield(struct master *m)
{
	log_notice("handing sockets to the next master; workers finish open requests");
	sockets_disown(&m->sockets);
	drain_all(m, DRAIN_STOP);
	close_reign(m);
	notify_hold(true); /* sockets closed here stay in the store */
	LIST_EACH(struct gen, g, node, &m->gens.all) {
		GEN_FOREACH(c, g)
			child_disown(c);
		drain_end(g);
	}
}
