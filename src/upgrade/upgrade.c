/*
 * upgrade: the channel between two masters; see upgrade.h. Each word is a row of a table, with the
 * states in which it may come; any other word ends the upgrade. The new program is no child of the
 * old one: its parent exits at once, so that it becomes the service manager's.
 */
#include "upgrade/upgrade.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

enum { READY_MS = 30000, LAST_WORD_MS = 5000, MESSAGE_MAX = 1024 };

#define IN(state) (1u << UPGRADE_##state)
#define OLD       (IN(BEGIN) | IN(KNOWN) | IN(OFFERED)) /* the new one is starting */
#define NEW       (IN(HEIR) | IN(READY))                /* the old one may continue without it */

const struct states upgrade_states = {
	.of = "upgrade",
	.rows = {
#define UPGRADE_STATE(name, next, help) { #name, next },
#include "upgrade/upgrade_state.def"
	},
};

static void upgrade_go(struct upgrade *u, enum upgrade_state state)
{
	log_debug("upgrade: %s -> %s", states_name(&upgrade_states, u->state),
		states_name(&upgrade_states, state));
	STATES_STEP(&upgrade_states, u->state, state);
}

static bool upgrade_is(const struct upgrade *u, unsigned states)
{
	return states >> u->state & 1;
}

static void close_watch(struct upgrade *u, struct watch *w)
{
	loop_unwatch(u->loop, w);
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

static void close_channel(struct upgrade *u)
{
	timer_disarm(&u->loop->wheel, &u->timer);
	close_watch(u, &u->channel);
}

/* False: there is no reader. */
static bool tell_other(int channel, const char *what, const char *text)
{
	char msg[MESSAGE_MAX];
	int n = snprintf(msg, sizeof(msg), "%s%.900s", what, text);

	return send(channel, msg, (size_t)n, MSG_NOSIGNAL) >= 0;
}

/* --- failures --------------------------------------------------------------------------------- */

static bool heard_pid(struct upgrade *u, const char *text);

/* The new program's first word may wait to be read; if it comes later, it is refused, and become()
 * ends. */
static void hear_who_it_is(struct upgrade *u)
{
	char msg[MESSAGE_MAX];
	ssize_t n;

	shutdown(u->channel.fd, SHUT_RD);
	n = recv(u->channel.fd, msg, sizeof(msg) - 1, MSG_DONTWAIT);
	msg[n > 0 ? n : 0] = '\0';
	if (strncmp(msg, "pid ", 4) == 0)
		heard_pid(u, msg + 4);
}

static void forget_it(struct upgrade *u)
{
	close_watch(u, &u->process);
	upgrade_go(u, UPGRADE_NONE);
}

static void upgrade_fail(struct upgrade *u, const char *why)
{
	if (u->state == UPGRADE_BEGIN && u->channel.fd >= 0)
		hear_who_it_is(u);
	/* Workers of a killed master finish accepted requests. */
	upgrade_signal(u, SIGKILL);
	close_channel(u);
	if (u->state != UPGRADE_OFFERED) {
		forget_it(u);
	} else {
		upgrade_go(u, UPGRADE_UNDO);
		u->ops->undo(u);
		if (!u->process.active)
			forget_it(u);
	}
	u->ops->failed(u, why);
}

static void fail_ended(struct upgrade *u)
{
	upgrade_fail(u, u->said ? NULL : "the new program exited without a message");
}

void upgrade_abort(struct upgrade *u, const char *why)
{
	if (upgrade_is(u, OLD))
		upgrade_fail(u, why);
}

/* The other master has ended, or sent an unknown word. */
static void lose_other(struct upgrade *u, const char *why)
{
	if (upgrade_is(u, OLD)) {
		upgrade_fail(u, why);
	} else if (u->state == UPGRADE_TAKEN) {
		close_channel(u);
		upgrade_go(u, UPGRADE_NONE);
		u->ops->bye(u, NULL);
	} else {
		u->ops->lost(u);
	}
}

/* --- words of the new one --------------------------------------------------------------------- */

/* An ended process is not watched. */
static bool heard_pid(struct upgrade *u, const char *text)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (*end != '\0' || pid <= 0 || pid > INT32_MAX)
		return false;
	u->pid = (pid_t)pid;
	upgrade_go(u, UPGRADE_KNOWN);
	u->process.fd = pidfd_open(u->pid, 0);
	return u->process.fd >= 0 ? loop_watch(u->loop, &u->process, EPOLLIN) == 0 : errno == ESRCH;
}

static bool heard_text(struct upgrade *u, const char *text)
{
	u->said = true;
	u->ops->said(u, text);
	return true;
}

static bool heard_gone(struct upgrade *u, const char *name)
{
	u->ops->gone(u, name);
	return true;
}

static bool heard_ready(struct upgrade *u, const char *nothing)
{
	(void)nothing;
	upgrade_go(u, UPGRADE_OFFERED);
	tell_other(u->channel.fd, "go", ""); /* a process that misses it has ended */
	return true;
}

/* A new master that has died by now fails. */
static bool heard_taken(struct upgrade *u, const char *nothing)
{
	struct pollfd end = { .fd = u->process.fd, .events = POLLIN };

	(void)nothing;
	if (poll(&end, 1, 0) > 0) {
		fail_ended(u);
		return true;
	}
	upgrade_go(u, UPGRADE_GIVEN);
	u->ops->taken(u);
	close_channel(u);
	close_watch(u, &u->process);
	return true;
}

/* --- words of the old one --------------------------------------------------------------------- */

/* After "taken" that one exits: no later step may depend on it. */
static bool heard_go(struct upgrade *u, const char *nothing)
{
	(void)nothing;
	upgrade_go(u, UPGRADE_TAKEN);
	u->ops->go(u);
	tell_other(u->channel.fd, "taken", "");
	timer_arm(&u->loop->wheel, &u->timer, clock_ms() + LAST_WORD_MS);
	return true;
}

static bool heard_bye(struct upgrade *u, const char *text)
{
	close_channel(u);
	upgrade_go(u, UPGRADE_NONE);
	u->ops->bye(u, text);
	return true;
}

/* --- the channel ------------------------------------------------------------------------------ */

/* A word that ends with a space is followed by a text. */
static const struct {
	const char *what;
	unsigned in;
	bool (*heard)(struct upgrade *u, const char *text);
} words[] = {
	{ "pid ", IN(BEGIN), heard_pid },
	{ "text ", OLD, heard_text },
	{ "gone ", IN(KNOWN), heard_gone },
	{ "ready", IN(KNOWN), heard_ready },
	{ "taken", IN(OFFERED), heard_taken },
	{ "go", IN(READY), heard_go },
	{ "bye ", IN(TAKEN), heard_bye },
};

static void on_message(struct upgrade *u, const char *msg)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *what = words[i].what;
		size_t n = strlen(what);

		if (upgrade_is(u, words[i].in) && strncmp(msg, what, n) == 0 &&
			(what[n - 1] == ' ' || msg[n] == '\0') && words[i].heard(u, msg + n))
			return;
	}
	lose_other(u, "the new program sent an unknown message");
}

static void on_channel(struct watch *w, uint32_t events)
{
	struct upgrade *u = LIST_ENTRY(w, struct upgrade, channel);
	char msg[MESSAGE_MAX];
	ssize_t n;

	(void)events;
	while (w->active &&
		((n = recv(w->fd, msg, sizeof(msg) - 1, MSG_DONTWAIT)) >= 0 || errno != EAGAIN)) {
		if (n <= 0) {
			lose_other(u, u->said ? NULL : "the new program exited without a message");
			return;
		}
		msg[n] = '\0';
		on_message(u, msg);
	}
	/* The process had ended before it could be watched: its words are all read. */
	if (w->active && upgrade_is(u, IN(KNOWN) | IN(OFFERED)) && !u->process.active)
		fail_ended(u);
}

/* A remaining child may still have the channel. */
static void on_end(struct watch *w, uint32_t events)
{
	struct upgrade *u = LIST_ENTRY(w, struct upgrade, process);

	on_channel(&u->channel, events); /* its final message */
	if (u->state == UPGRADE_UNDO) {
		forget_it(u);
		u->ops->undo(u);
	} else if (upgrade_is(u, OLD)) {
		fail_ended(u);
	}
}

static void on_time(struct timer *t)
{
	struct upgrade *u = LIST_ENTRY(t, struct upgrade, timer);

	if (upgrade_is(u, OLD)) {
		upgrade_fail(u, "the new program was not ready in time");
		return;
	}
	/* From here on an old master that continues finds its words refused. */
	shutdown(u->channel.fd, SHUT_RD);
	on_channel(&u->channel, 0);
}

/* --- the old master's side -------------------------------------------------------------------- */

/* In the process that becomes the new program. Signals stay blocked until its main unblocks
 * them. */
static _Noreturn void become(
	const struct program *program, const struct passed *p, int channel, const char *variable)
{
	char text[512];
	int rc;

	snprintf(text, sizeof(text), "%d", (int)getpid());
	if (!tell_other(channel, "pid ", text))
		_exit(EXIT_FAILURE);
	channel = fcntl(channel, F_DUPFD_CLOEXEC, PASSED_FIRST + (int)p->n);
	rc = passed_exec(p, program, variable);
	snprintf(text, sizeof(text), "cannot run %s: %s", program->argv[0], strerror(-rc));
	tell_other(channel, "text ", text);
	_exit(EXIT_FAILURE);
}

static int start_program(struct upgrade *u, const struct program *program, const struct passed *p,
	int channel, const char *variable)
{
	pid_t pid;

	(void)u;
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid > 0)
		return 0;
	pid = fork();
	if (pid == 0)
		become(program, p, channel, variable);
	if (pid < 0)
		tell_other(channel, "text ", "cannot fork");
	_exit(EXIT_SUCCESS);
}

void upgrade_begin(
	struct upgrade *u, const struct program *program, struct passed *p, const char *variable)
{
	int ends[2] = { -1, -1 }, rc = 0;

	close_watch(u, &u->process);
	upgrade_go(u, UPGRADE_BEGIN);
	u->pid = 0;
	u->said = false;
	timer_arm(&u->loop->wheel, &u->timer, clock_ms() + READY_MS);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		rc = -errno;
	u->channel.fd = ends[0];
	if (rc == 0)
		rc = loop_watch(u->loop, &u->channel, EPOLLIN);
	if (rc == 0 && !passed_add(p, ends[1], UPGRADE_CHANNEL))
		rc = -ENOMEM;
	if (rc == 0)
		rc = u->start(u, program, p, ends[1], variable);
	if (ends[1] >= 0)
		close(ends[1]);
	if (rc < 0)
		upgrade_fail(u, strerror(-rc));
}

bool upgrade_bye(const struct upgrade *u, const char *text)
{
	return tell_other(u->channel.fd, "bye ", text);
}

void upgrade_signal(const struct upgrade *u, int signo)
{
	if (u->process.fd >= 0)
		pidfd_send_signal(u->process.fd, signo, NULL, 0);
}

/* --- the new master's side -------------------------------------------------------------------- */

static bool is_channel(int fd, pid_t *peer)
{
	int type = 0;
	struct ucred who;
	socklen_t n = sizeof(type), size = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) < 0 || type != SOCK_SEQPACKET ||
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
		return false;
	*peer = who.pid;
	return true;
}

bool upgrade_inherit(struct upgrade *u, int channel)
{
	u->channel.fd = channel;
	if (!is_channel(channel, &u->pid) || loop_watch(u->loop, &u->channel, EPOLLIN) < 0) {
		close_watch(u, &u->channel);
		return false;
	}
	upgrade_go(u, UPGRADE_HEIR);
	return true;
}

void upgrade_say(const struct upgrade *u, const char *text)
{
	if (upgrade_is(u, NEW))
		tell_other(u->channel.fd, "text ", text);
}

void upgrade_gone(const struct upgrade *u, const char *name)
{
	tell_other(u->channel.fd, "gone ", name);
}

bool upgrade_ready(struct upgrade *u)
{
	if (u->state != UPGRADE_HEIR)
		return false;
	upgrade_go(u, UPGRADE_READY);
	tell_other(u->channel.fd, "ready", "");
	return true;
}

bool upgrade_leave(struct upgrade *u)
{
	if (!upgrade_is(u, NEW))
		return false;
	close_channel(u);
	upgrade_go(u, UPGRADE_NONE);
	return true;
}

/* --- its life --------------------------------------------------------------------------------- */

void upgrade_init(struct upgrade *u, struct loop *loop, const struct upgrade_ops *ops)
{
	*u = (struct upgrade){ .loop = loop,
		.ops = ops,
		.start = start_program,
		.channel = { .fn = on_channel, .fd = -1 },
		.process = { .fn = on_end, .fd = -1 } };
	timer_init(&u->timer, on_time);
}

void upgrade_fini(struct upgrade *u)
{
	close_channel(u);
	close_watch(u, &u->process);
}
