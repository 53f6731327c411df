/*
 * child: the master's end of each process. Messages that find the queue full wait in c->due, as a
 * state and not as a list: a newer image replaces an older one. Child checks that a process sends
 * only messages of its kind: a corrupt worker must not be able to pose as a keeper.
 */
#include "master/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"

enum {
	RESEND_MS = 20,
	/* In a second. The busiest keeper sends a few dozen. */
	HEARD_MS = 1000,
	MESSAGES = 256,
	LINES = 2 * CTL_LINES_PER_SECOND, /* its seconds begin at other times */
};

const struct states child_states = {
	.of = "child",
	.rows = {
#define CHILD_STATE(name, next, help) { #name, next },
#include "master/child_state.def"
	},
};

void child_go(struct child *c, enum child_state state)
{
	log_debug("process %d: %s -> %s", (int)c->pid, states_name(&child_states, c->state),
		states_name(&child_states, state));
	STATES_STEP(&child_states, c->state, state);
}

const char *child_name(const struct child *c, char buf[CHILD_NAME])
{
	if (c->kind->numbered)
		snprintf(buf, CHILD_NAME, "%s %u", c->kind->name, c->slot);
	else
		snprintf(buf, CHILD_NAME, "%s", c->kind->name);
	return buf;
}

/* --- messages to it --------------------------------------------------------------------------- */

/* Sends all due messages of one kind. 0, or -errno. */
static int send_due(struct child *c, enum child_due due)
{
	const struct child_ops *ops = c->env->ops;
	int fds[CTL_FDS_MAX], nfds = 0, rc = 0;
	struct ctl_msg msg = { 0 };

	while (rc == 0 && ops->fill[due](c, c->nsent[due], &msg, fds, &nfds)) {
		rc = ctl_send(c->ctl.fd, &msg, fds, nfds);
		if (rc < 0)
			break;
		c->nsent[due]++;
		ops->sent(c, due);
		nfds = 0;
	}
	return rc;
}

/* Sends waiting messages; true while some still wait. */
static bool flush(struct child *c)
{
	if (!c->ctl.active)
		c->due = 0;
	for (enum child_due due = 0; due < CHILD_DUES; due++) {
		int rc;

		if (!(c->due & 1u << due))
			continue;
		rc = send_due(c, due);
		/* Too many descriptors in flight is temporary like a full queue. */
		if (rc == -EAGAIN || rc == -ETOOMANYREFS || rc == -ENOBUFS || rc == -ENOMEM)
			return true;
		if (rc < 0 && rc != -EPIPE && rc != -ECONNRESET)
			log_error("process %d: cannot send: %s", (int)c->pid, strerror(-rc));
		c->due &= ~(1u << due);
	}
	return false;
}

void child_send(struct child *c, unsigned due)
{
	c->due |= due;
	for (enum child_due i = 0; i < CHILD_DUES; i++)
		if (due & 1u << i)
			c->nsent[i] = 0;
	if (flush(c) && !timer_armed(&c->resend))
		timer_arm(&c->env->loop->wheel, &c->resend, clock_ms() + RESEND_MS);
}

static void on_resend(struct timer *t)
{
	child_send(LIST_ENTRY(t, struct child, resend), 0);
}

/* --- messages from it ------------------------------------------------------------------------- */

static void close_ctl(struct child *c)
{
	char byte;

	timer_disarm(&c->env->loop->wheel, &c->resend);
	timer_disarm(&c->env->loop->wheel, &c->heard.again);
	if (!c->ctl.active)
		return;
	loop_unwatch(c->env->loop, &c->ctl);
	/* Unreceived descriptors are closed with it. */
	if (recv(c->ctl.fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) > 0)
		ctl_discard(&c->ctl.fd, 1);
	else
		close(c->ctl.fd);
	c->ctl.fd = -1;
}

static void on_message(struct child *c, const struct ctl_msg *msg, const int *fds, int nfds)
{
	bool taken = false;

	if (msg->type >= 32 || !(c->kind->says & CHILD_SAYS(msg->type))) {
		log_peer(LEVEL_ERROR, "process %d: unknown message %u ignored", (int)c->pid,
			msg->type);
	} else if (msg->type == CTL_LINE && c->heard.lines++ >= LINES) {
		/* The log has it. */
	} else if (msg->type == CTL_TICK) {
		c->ticks++;
	} else if (msg->type != CTL_UP) {
		taken = c->env->ops->said(c, msg, fds, nfds);
	} else if (c->state == CHILD_START) {
		child_go(c, CHILD_UP);
		c->env->ops->up(c);
	}
	if (!taken && nfds > 0)
		ctl_discard(fds, nfds);
}

static void end_sender(struct child *c, const int *fds, int nfds)
{
	log_error("process %d sent unexpected descriptors, may be compromised; killing it",
		(int)c->pid);
	ctl_discard(fds, nfds);
	if (c->state != CHILD_STUCK)
		child_go(c, CHILD_STUCK);
	child_kill(c, SIGKILL);
	close_ctl(c);
}

/* Counts a message. False: the others of this second wait. */
static bool hear_one(struct child *c)
{
	struct child_heard *h = &c->heard;
	uint64_t now = clock_ms();

	if (now - h->at >= HEARD_MS) {
		h->at = now;
		h->messages = h->lines = 0;
	}
	if (h->messages++ < MESSAGES)
		return true;
	if (!timer_armed(&h->again)) {
		log_peer(LEVEL_ERROR,
			"process %d sends more than %d messages a second; delaying them",
			(int)c->pid, MESSAGES);
		timer_arm(&c->env->loop->wheel, &h->again, h->at + HEARD_MS);
	}
	return false;
}

static void on_ctl(struct watch *w, uint32_t events)
{
	struct child *c = LIST_ENTRY(w, struct child, ctl);
	int fds[CTL_FDS_MAX], nfds, rc;
	struct ctl_msg msg;

	(void)events;
	while (w->active && hear_one(c) && (rc = ctl_recv(w->fd, &msg, fds, &nfds)) != -EAGAIN) {
		if (rc > 0) {
			/* Only the keeper sends some: its images. */
			if (nfds > 0 && !(c->kind->says & CHILD_SAYS(CTL_IMAGE)))
				end_sender(c, fds, nfds);
			else
				on_message(c, &msg, fds, nfds);
			continue;
		}
		if (rc == -EMFILE) {
			log_peer(LEVEL_ERROR, "process %d: message lost: %s", (int)c->pid,
				strerror(-rc));
			continue;
		}
		/* At its end of file the process is exiting; SIGCHLD brings the rest. */
		if (rc < 0)
			log_error("process %d: control socket: %s; closing it", (int)c->pid,
				strerror(-rc));
		close_ctl(c);
	}
}

static void on_again(struct timer *t)
{
	on_ctl(&LIST_ENTRY(t, struct child, heard.again)->ctl, EPOLLIN);
}

/* --- its life --------------------------------------------------------------------------------- */

void child_init(struct child *c, const struct child_env *env)
{
	c->env = env;
	c->ctl = (struct watch){ .fn = on_ctl, .fd = -1 };
	timer_init(&c->resend, on_resend);
	timer_init(&c->heard.again, on_again);
}

int child_start(struct child *c)
{
	pid_t pid;
	int rc;

	H2D_ASSERT(c->pid == 0);
	pid = c->env->spawn(c, &c->ctl.fd);
	if (pid < 0)
		return pid;
	c->pid = pid;
	child_go(c, CHILD_START);
	if (!(c->kind->says & CHILD_SAYS(CTL_UP)))
		child_go(c, CHILD_UP);
	c->due = 0;
	c->heard.at = 0;
	rc = loop_watch(c->env->loop, &c->ctl, EPOLLIN);
	if (rc < 0) {
		log_error("process %d: epoll_ctl: %s; killing it", (int)pid, strerror(-rc));
		close(c->ctl.fd);
		child_kill(c, SIGKILL);
	}
	return 0;
}

void child_reaped(struct child *c, int status)
{
	pid_t pid = c->pid;
	enum child_state was;

	if (c->ctl.active)
		on_ctl(&c->ctl, EPOLLIN); /* its last messages */
	was = c->state;
	child_disown(c);
	c->env->ops->died(c, pid, status, was);
}

void child_disown(struct child *c)
{
	close_ctl(c);
	if (c->pid != 0)
		child_go(c, CHILD_EMPTY);
	c->pid = 0;
}

void child_kill(const struct child *c, int signo)
{
	if (c->pid != 0)
		c->env->kill(c->pid, signo);
}

/* --- restarts ----------------------------------------------------------------------------------
 */

unsigned reap_delay(struct reap *r, const struct reap_policy *policy, uint64_t now)
{
	uint64_t *oldest = &r->died[r->deaths % REAP_FREE];
	bool often = r->deaths >= REAP_FREE && now - *oldest < REAP_WINDOW_MS;

	*oldest = now;
	r->deaths++;
	if (!often)
		r->delay = 0;
	else if (r->delay == 0)
		r->delay = policy->first;
	else if (r->delay < policy->most / 2)
		r->delay *= 2;
	else
		r->delay = policy->most;
	return r->delay;
}

void reap_describe(int status, char *buf, unsigned size)
{
	if (WIFSIGNALED(status))
		snprintf(buf, size, "killed by signal %d (%s)%s", WTERMSIG(status),
			strsignal(WTERMSIG(status)), WCOREDUMP(status) ? ", core dumped" : "");
	else
		snprintf(buf, size, "exited with status %d", WEXITSTATUS(status));
}

bool reap_is_crash(int status)
{
	if (!WIFSIGNALED(status))
		return false;
	switch (WTERMSIG(status)) {
	case SIGABRT:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGSEGV:
	case SIGSYS:
	case SIGTRAP:
		return true;
	default:
		return false;
	}
}
