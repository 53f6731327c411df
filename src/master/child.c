/*
 * child: the master's end of each process. Messages that find the queue full wait in c->due, as a
 * state and not as a list: a newer image replaces an older one. What a child sends is checked: a
 * worker that has gone mad must not be able to pose as a keeper.
 */
#include "master/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "master/drain.h"
#include "master/master.h"
#include "master/reload.h"
#include "master/spawn.h"

enum {
	RESEND_MS = 20,
	/* A keeper's numbers are above those of the one before, which may go on for a while. */
	IMAGES_BEHIND = 1000,
};

static void name_of(const struct child *c, char *buf, size_t size)
{
	if (c->kind == CHILD_KEEPER)
		snprintf(buf, size, "keeper");
	else
		snprintf(buf, size, "worker %u", c->slot);
}

/* --- messages to it ------------------------------------------------------------------------------- */

static int send_one(struct child *c, unsigned what)
{
	struct gen *g = c->gen;
	struct ctl_msg msg = { .generation = g->number };
	int logs[2], n = 0;

	switch (what) {
	case DUE_IMAGE:
		if (g->nimage_fds == 0)
			return 0;
		return ctl_send(c->ctl.fd, &g->image, g->image_fds, g->nimage_fds);
	case DUE_LOGS:
		/* The error log unless it is syslog, then the access log unless it is off. */
		msg.type = CTL_LOGS;
		if (g->logs.error >= 0)
			logs[n++] = g->logs.error;
		if (g->logs.access >= 0 && c->kind == CHILD_WORKER)
			logs[n++] = g->logs.access;
		return ctl_send(c->ctl.fd, &msg, logs, n);
	default:
		msg.type = CTL_DRAIN;
		msg.arg = g->conf->shutdown_timeout * 1000;
		return ctl_send(c->ctl.fd, &msg, NULL, 0);
	}
}

bool child_flush(struct child *c)
{
	static const unsigned order[] = { DUE_IMAGE, DUE_LOGS, DUE_DRAIN };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		int rc;

		if (!c->ctl.active)
			c->due = 0;
		if (!(c->due & order[i]))
			continue;
		rc = send_one(c, order[i]);
		/* Too many descriptors in flight passes like a full queue does. */
		if (rc == -EAGAIN || rc == -ETOOMANYREFS || rc == -ENOBUFS || rc == -ENOMEM)
			return true;
		if (rc < 0 && rc != -EPIPE && rc != -ECONNRESET)
			log_error("process %d: cannot send: %s", (int)c->pid, strerror(-rc));
		c->due &= ~order[i];
	}
	return false;
}

void child_send(struct child *c, unsigned due)
{
	struct master *m = c->gen->master;

	c->due |= due;
	if (child_flush(c) && !timer_armed(&m->resend))
		timer_arm(&m->loop.wheel, &m->resend, clock_ms() + RESEND_MS);
}

/* --- messages from it ----------------------------------------------------------------------------- */

static void close_ctl(struct child *c)
{
	if (!c->ctl.active)
		return;
	loop_unwatch(&c->gen->master->loop, &c->ctl);
	close(c->ctl.fd);
	c->ctl.fd = -1;
}

static bool take_image(struct child *c, const struct ctl_msg *msg, const int *fds, int nfds)
{
	struct gen *g = c->gen;
	struct master *m = g->master;

	if (c->kind != CHILD_KEEPER || msg->arg == 0 || nfds == 0 || g->state == GEN_DRAIN)
		return false;
	gen_take_image(g, msg, fds, nfds);
	if (m->next_image <= msg->arg)
		m->next_image = msg->arg + 1;
	for (unsigned i = 0; i < g->nworkers; i++) {
		if (g->workers[i].pid != 0)
			child_send(&g->workers[i], DUE_IMAGE);
	}
	log_debug("generation %u: image %llu", g->number, (unsigned long long)msg->arg);
	master_show(m);
	return true;
}

static void on_message(struct child *c, const struct ctl_msg *msg, int *fds, int nfds)
{
	if (msg->type == CTL_IMAGE && take_image(c, msg, fds, nfds))
		return;
	while (nfds > 0)
		close(fds[--nfds]);
	if (msg->type == CTL_CACHE && c->kind == CHILD_KEEPER) {
		c->gen->facts = msg->facts;
		master_show(c->gen->master);
		return;
	}
	if (msg->type == CTL_UP && !c->up) {
		c->up = true;
		reload_child_up(c);
	} else if (msg->type != CTL_IMAGE && msg->type != CTL_UP) {
		log_error("process %d: unknown message %u", (int)c->pid, msg->type);
	}
}

static void on_ctl(struct watch *w, uint32_t events)
{
	struct child *c = LIST_ENTRY(w, struct child, ctl);
	int fds[CTL_FDS_MAX], nfds, rc;
	struct ctl_msg msg;

	(void)events;
	while (w->active && (rc = ctl_recv(w->fd, &msg, fds, &nfds)) != -EAGAIN) {
		if (rc > 0) {
			on_message(c, &msg, fds, nfds);
			continue;
		}
		if (rc == -EMFILE) {
			log_error("process %d: a message is lost: %s", (int)c->pid, strerror(-rc));
			continue;
		}
		/* At its end of file the process is on its way out; SIGCHLD tells the rest. */
		if (rc < 0)
			log_error("process %d: control socket: %s", (int)c->pid, strerror(-rc));
		close_ctl(c);
	}
}

/* --- its life --------------------------------------------------------------------------------------- */

static void on_respawn(struct timer *t)
{
	child_start(LIST_ENTRY(t, struct child, respawn));
}

void child_init(struct child *c)
{
	c->ctl = (struct watch){ .fn = on_ctl, .fd = -1 };
	timer_init(&c->respawn, on_respawn);
}

static void respawn_later(struct child *c, unsigned ms)
{
	struct loop *loop = &c->gen->master->loop;

	timer_arm(&loop->wheel, &c->respawn, clock_ms() + ms);
}

int child_start(struct child *c)
{
	struct gen *g = c->gen;
	struct master *m = g->master;
	pid_t pid = -ENOSPC;
	int rc;

	c->up = false;
	c->due = 0;
	if (c->kind == CHILD_WORKER)
		c->board = board_take(m->board, c->slot, g->number);
	if (c->kind == CHILD_KEEPER)
		g->facts = (struct cache_facts){ .v[CACHE_FACT_pending] = 1 };
	if (c->kind == CHILD_KEEPER || c->board != NULL)
		pid = spawn(c, m->board, m->next_image, &c->ctl.fd);
	if (pid < 0) {
		log_error("cannot start a process: %s", strerror(-pid));
		if (c->board != NULL)
			board_release(m->board, &c->board);
		/* Serving on with what there is: the machine may have room again. */
		if (g->state == GEN_SERVE)
			respawn_later(c, REAP_DELAY_MAX_MS);
		return -1;
	}
	c->pid = pid;
	if (c->board != NULL)
		c->board->pid = pid;
	if (c->kind == CHILD_KEEPER)
		m->next_image += IMAGES_BEHIND;
	rc = loop_watch(&m->loop, &c->ctl, EPOLLIN);
	if (rc < 0) {
		log_error("process %d: cannot watch it: %s", (int)pid, strerror(-rc));
		close(c->ctl.fd);
		kill(pid, SIGKILL);
	} else if (c->kind == CHILD_WORKER && g->image.arg != 0) {
		child_send(c, DUE_IMAGE);
	}
	master_show(m);
	return 0;
}

static void obituary(const struct child *c, int status)
{
	enum log_level level = LEVEL_NOTICE;
	char who[32], how[128];

	name_of(c, who, sizeof(who));
	reap_describe(status, how, sizeof(how));
	if (c->board != NULL && c->board->words[0] != '\0')
		log_alert("%s (process %d), last words: %.*s", who, (int)c->pid, BOARD_WORDS - 1,
			c->board->words);
	if (reap_is_crash(status))
		level = LEVEL_ALERT;
	else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		level = LEVEL_ERROR;
	else if (c->gen->state == GEN_DRAIN)
		level = LEVEL_INFO;
	log_at(level, "%s (process %d, generation %u) %s", who, (int)c->pid, c->gen->number, how);
}

void child_reaped(struct child *c, int status)
{
	struct gen *g = c->gen;
	unsigned wait;

	if (c->ctl.active)
		on_ctl(&c->ctl, EPOLLIN); /* what it said before it died */
	close_ctl(c);
	obituary(c, status);
	if (c->board != NULL)
		board_release(g->master->board, &c->board);
	c->pid = 0;
	master_show(g->master);

	if (g->state == GEN_DRAIN) {
		drain_check(g);
	} else if (g->state == GEN_START && c->kind == CHILD_WORKER) {
		char why[160], how[128];

		reap_describe(status, how, sizeof(how));
		snprintf(why, sizeof(why), "worker %u %s before all were up", c->slot, how);
		reload_fail(g, why);
	} else {
		wait = reap_delay(&c->reap, clock_ms());
		if (wait == 0) {
			child_start(c);
			return;
		}
		log_error("it is started again in %u ms", wait);
		respawn_later(c, wait);
	}
}

void child_kill(const struct child *c, int signo)
{
	if (c->pid != 0)
		kill(c->pid, signo);
}

void child_give_up(struct child *c)
{
	timer_disarm(&c->gen->master->loop.wheel, &c->respawn);
}
