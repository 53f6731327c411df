/*
 * upgrade: the old master's side: starts the new program, listens to how far it is, and hands over
 * or goes on. Every request ends in fail() or hand_over(). The new program is no child of this one:
 * its parent exits at once, so that it becomes the service manager's.
 */
#include "master/upgrade.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
#include "image/doubt.h"
#include "machine/notify.h"
#include "master/balance.h"
#include "master/bequest.h"
#include "master/doubts.h"
#include "master/drain.h"
#include "master/master_signal.h"
#include "master/master_state.h"
#include "master/outcome.h"
#include "upgrade/fdstore.h"

enum { LIMIT_MS = 30000, MESSAGE_MAX = 1024 };
/* The first word of the new program, before it is run. */
#define PID      "pid "
#define ENTRY(n) LIST_ENTRY(n, struct sockets_entry, node)

/* --- the end of an upgrade -------------------------------------------------------------------- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_watch(struct master *m, struct watch *w)
{
	loop_unwatch(&m->loop, w);
	close_fd(&w->fd);
}

/* Work of the new master is undone, and again when its process has ended: one that is killed runs
 * on for a moment, in which it may yet write the pid file. */
static void undo(struct watch *process, uint32_t ended)
{
	struct master *m = LIST_ENTRY(process, struct master, upgrade.process);

	if (ended)
		close_watch(m, process);
	if (master_is_leaving(m))
		return;
	if (m->pidfile.mine)
		pidfile_claim(&m->pidfile);
	balance_apply(m);
}

static void take_back(struct master *m)
{
	struct watch *w = &m->upgrade.process;

	loop_unwatch(&m->loop, w);
	w->fn = undo;
	if (w->fd >= 0 && loop_watch(&m->loop, w, EPOLLIN) == 0)
		pidfd_send_signal(w->fd, SIGKILL, NULL, 0);
	undo(w, 0);
}

static void let_go(struct master *m)
{
	timer_disarm(&m->loop.wheel, &m->upgrade.limit);
	close_watch(m, &m->upgrade.channel);
	if (m->upgrade.process.fn != undo)
		close_watch(m, &m->upgrade.process);
	doubts_close(m->upgrade.doubts);
}

static void fail(struct master *m, const char *why)
{
	if (m->upgrade.offered)
		take_back(m);
	if (why != NULL) {
		log_error("upgrade: %s", why);
		status_add(&m->next, why);
	}
	let_go(m);
	log_error("upgrade failed: process %d goes on", (int)getpid());
	m->next.upgrade = m->status.running;
	m->next.upgraded = false;
	m->next.generation = m->current->number;
	outcome_end(m, false);
	master_go(m, MASTER_SERVE);
}

static bool read_number(const char *text, uint32_t *out)
{
	char *end;
	unsigned long n;

	if (*text < '0' || *text > '9')
		return false;
	n = strtoul(text, &end, 10);
	*out = (uint32_t)n;
	return *end == '\0' && n <= INT32_MAX;
}

static void fail_ended(struct master *m)
{
	fail(m, m->next.text[0] == '\0' ? "the new program ended without a word" : NULL);
}

/* A process that has ended by now is not watched. */
static bool learn_pid(struct master *m, const char *text)
{
	struct watch *w = &m->upgrade.process;
	uint32_t pid;

	if (m->upgrade.pid != 0 || !read_number(text, &pid) || pid == 0)
		return false;
	m->upgrade.pid = (pid_t)pid;
	w->fd = pidfd_open((pid_t)pid, 0);
	return w->fd >= 0 ? loop_watch(&m->loop, w, EPOLLIN) == 0 : errno == ESRCH;
}

/* The new program's first word may wait to be read; if it comes later, it is not taken, and
 * become() ends. */
static void hear_who_it_is(struct master *m)
{
	char msg[MESSAGE_MAX];
	ssize_t n;

	shutdown(m->upgrade.channel.fd, SHUT_RD);
	n = recv(m->upgrade.channel.fd, msg, sizeof(msg) - 1, MSG_DONTWAIT);
	if (n <= 0)
		return;
	msg[n] = '\0';
	if (strncmp(msg, PID, strlen(PID)) == 0)
		learn_pid(m, msg + strlen(PID));
}

/* Workers of a master that is killed finish what they have accepted. */
static void kill_it(struct master *m)
{
	if (m->upgrade.pid == 0)
		hear_who_it_is(m);
	if (m->upgrade.process.fd >= 0)
		pidfd_send_signal(m->upgrade.process.fd, SIGKILL, NULL, 0);
}

static void on_limit(struct timer *t)
{
	struct master *m = LIST_ENTRY(t, struct master, upgrade.limit);

	kill_it(m);
	fail(m, "the new program was not ready in time");
}

void upgrade_abort(struct master *m)
{
	if (m->phase != MASTER_UPGRADE)
		return;
	kill_it(m);
	fail(m, "h2d is to stop");
}

/* --- handing over ----------------------------------------------------------------------------- */

static void describe_outcome(struct master *m)
{
	uint64_t ms = (clock_read_us() - m->upgrade.began_us) / 1000;
	char text[128];

	snprintf(text, sizeof(text), "upgraded: pid %d \u2192 %d in %" PRIu64 " ms", (int)getpid(),
		(int)m->upgrade.pid, ms);
	log_notice("%s", text);
	status_add(&m->next, text);
}

/* Wishes that the new master is to grant. */
static const enum master_wish passed[] = { WISH_RELOAD, WISH_UPGRADE, WISH_DRAIN, WISH_UNDRAIN };

enum { WISHES = sizeof(passed) / sizeof(passed[0]) };

static int signal_of(enum master_wish wish)
{
	return wish == WISH_RELOAD    ? SIGHUP
	       : wish == WISH_UPGRADE ? SIGUSR2
	       : wish == WISH_DRAIN   ? MASTER_SIGNAL_DRAIN
				      : MASTER_SIGNAL_UNDRAIN;
}

/* Wishes that wait with the kernel: nobody reads them here any more. */
static void take_pending(struct master *m)
{
	static const struct timespec now = { 0 };
	sigset_t set;
	int signo;

	sigemptyset(&set);
	for (size_t i = 0; i < WISHES; i++)
		sigaddset(&set, signal_of(passed[i]));
	while ((signo = sigtimedwait(&set, NULL, &now)) > 0)
		for (size_t i = 0; i < WISHES; i++)
			if (signo == signal_of(passed[i]))
				m->wishes |= 1u << passed[i];
}

/* The new master did not wait so long: what is wished comes to it as from anybody else. */
static void pass_on(const struct master *m)
{
	int fd = m->upgrade.process.fd;

	log_warn("upgrade: process %d has not waited for the last word", (int)m->upgrade.pid);
	for (size_t i = 0; i < WISHES; i++)
		if (m->wishes & 1u << passed[i])
			pidfd_send_signal(fd, signal_of(passed[i]), NULL, 0);
}

/* The last word to the new master, which writes the outcome. */
static void say_bye(struct master *m)
{
	char msg[STATUS_TEXT + 16];
	unsigned more;
	int n;

	take_pending(m);
	more = (m->wishes >> WISH_UPGRADE & 1) | (m->wishes >> WISH_DRAIN & 1) << 1 |
	       (m->wishes >> WISH_UNDRAIN & 1) << 2;
	n = snprintf(
		msg, sizeof(msg), "bye %d %u %s", m->wishes >> WISH_RELOAD & 1, more, m->next.text);
	if (send(m->upgrade.channel.fd, msg, (size_t)n, MSG_NOSIGNAL) < 0)
		pass_on(m);
}

/* The service manager takes messages from this process, still. */
static void unstore_listeners(const struct master *m)
{
	LIST_FOREACH(node, &m->sockets.all)
		if (ENTRY(node)->gone)
			fdstore_remove(&ENTRY(node)->listener);
}

/* Ours are closed before the workers close theirs: nobody may have them and not serve them. */
static void disown_listeners(struct master *m)
{
	LIST_FOREACH(node, &m->sockets.all) {
		struct listener *l = &ENTRY(node)->listener;

		l->mine &= ENTRY(node)->gone;
		if (!l->mine)
			listener_close(l);
	}
}

/* MAINPID before the last word: the service manager takes no message from anybody else. */
static void hand_over(struct master *m)
{
	unstore_listeners(m);
	notify_main_pid(m->upgrade.pid);
	notify_hold(true);
	disown_listeners(m);
	drain_all(m, DRAIN_HEIR);
	describe_outcome(m);
	say_bye(m);
	m->pidfile.mine = false;
	let_go(m);
}

/* --- what the new program says ---------------------------------------------------------------- */

static bool heard_text(struct master *m, const char *text)
{
	log_error("upgrade: process %d: %s", (int)m->upgrade.pid, text);
	status_add(&m->next, text);
	return true;
}

static bool heard_gone(struct master *m, const char *text)
{
	uint32_t id;

	if (!read_number(text, &id))
		return false;
	LIST_FOREACH(node, &m->sockets.all)
		ENTRY(node)->gone |= ENTRY(node)->listener.id == id;
	return true;
}

/* False: nobody listens. */
static bool tell(int channel, const char *what, const char *text)
{
	char msg[MESSAGE_MAX];
	int n = snprintf(msg, sizeof(msg), "%s%.900s", what, text);

	return send(channel, msg, (size_t)n, MSG_NOSIGNAL) >= 0;
}

static bool heard_ready(struct master *m, const char *text)
{
	uint32_t pid;

	if (m->upgrade.offered || !read_number(text, &pid) || pid == 0 ||
		(pid_t)pid != m->upgrade.pid)
		return false;
	m->upgrade.offered = true;
	tell(m->upgrade.channel.fd, "go", ""); /* a process that does not hear it has ended */
	return true;
}

/* Nobody is left behind one that has died by now. */
static bool heard_taken(struct master *m, const char *text)
{
	struct pollfd end = { .fd = m->upgrade.process.fd, .events = POLLIN };

	if (!m->upgrade.offered || *text != '\0')
		return false;
	if (poll(&end, 1, 0) > 0)
		fail_ended(m);
	else
		hand_over(m);
	return true;
}

static const struct {
	const char *what;
	bool (*heard)(struct master *m, const char *text);
} messages[] = {
	{ PID, learn_pid },
	{ "text ", heard_text },
	{ "gone ", heard_gone },
	{ "ready ", heard_ready },
	{ "taken", heard_taken },
};

static void on_message(struct master *m, const char *msg)
{
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		size_t n = strlen(messages[i].what);

		if (strncmp(msg, messages[i].what, n) == 0 && messages[i].heard(m, msg + n))
			return;
	}
	kill_it(m);
	fail(m, "the new program says what this one does not understand");
}

static void on_channel(struct watch *w, uint32_t events)
{
	struct master *m = LIST_ENTRY(w, struct master, upgrade.channel);
	char msg[MESSAGE_MAX];
	ssize_t n;

	(void)events;
	while (w->active &&
		((n = recv(w->fd, msg, sizeof(msg) - 1, MSG_DONTWAIT)) >= 0 || errno != EAGAIN)) {
		if (n <= 0) {
			fail_ended(m);
			return;
		}
		msg[n] = '\0';
		on_message(m, msg);
	}
	/* The process had ended before it could be watched: its words are all read. */
	if (w->active && m->upgrade.pid != 0 && !m->upgrade.process.active)
		fail_ended(m);
}

/* A child that it left behind may have the channel still. */
static void on_end(struct watch *w, uint32_t events)
{
	struct master *m = LIST_ENTRY(w, struct master, upgrade.process);

	on_channel(&m->upgrade.channel, events); /* its last words */
	if (m->phase == MASTER_UPGRADE)
		fail_ended(m);
}

/* --- starting it ------------------------------------------------------------------------------ */

static bool inherit(void *ctx, int fd)
{
	(void)ctx;
	return fcntl(fd, F_SETFD, 0) == 0;
}

/* In the process that becomes the new program. Signals stay blocked until its main asks for them.
 */
static _Noreturn void become(
	const struct master *m, const struct handover *h, int memfd, int channel)
{
	char text[512], variable[64];
	int rc = -EBADF;

	snprintf(text, sizeof(text), "%d", (int)getpid());
	if (!tell(channel, PID, text))
		_exit(EXIT_FAILURE);
	snprintf(variable, sizeof(variable), HEIR_VARIABLE "=%d:%d", memfd, channel);
	if (handover_each_fd(h, inherit, NULL) && inherit(NULL, memfd) && inherit(NULL, channel))
		rc = program_exec(m->program, variable);
	snprintf(text, sizeof(text), "cannot run %s: %s", m->program->argv[0], strerror(-rc));
	tell(channel, "text ", text);
	_exit(EXIT_FAILURE);
}

static int start(struct master *m, const struct handover *h, int memfd, int channel)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid > 0)
		return 0;
	pid = fork();
	if (pid == 0)
		become(m, h, memfd, channel);
	if (pid < 0)
		tell(channel, "text ", "cannot fork");
	_exit(EXIT_SUCCESS);
}

static int watch(struct master *m, int fd)
{
	struct upgrade *u = &m->upgrade;

	close_watch(m, &u->process);
	u->channel = (struct watch){ .fn = on_channel, .fd = fd };
	u->process = (struct watch){ .fn = on_end, .fd = -1 };
	u->pid = 0;
	u->offered = false;
	timer_arm(&m->loop.wheel, &u->limit, clock_ms() + LIMIT_MS);
	return loop_watch(&m->loop, &u->channel, EPOLLIN);
}

static int begin(struct master *m)
{
	struct handover h;
	int ends[2], memfd = -1, rc;

	handover_init(&h);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	rc = watch(m, ends[0]);
	if (rc == 0)
		rc = doubt_pair(m->upgrade.doubts);
	if (rc == 0)
		rc = memfd = bequest_write(m, &h);
	if (rc >= 0)
		rc = m->upgrade.start(m, &h, memfd, ends[1]);
	if (rc == 0)
		doubts_introduce(m);
	close(ends[1]);
	close_fd(&memfd);
	handover_fini(&h);
	return rc;
}

void upgrade_begin(struct master *m)
{
	int rc;

	master_go(m, MASTER_UPGRADE);
	log_notice("upgrading to what %s is now", m->program->argv[0]);
	m->upgrade.began_us = clock_read_us();
	outcome_begin(m);
	if (getpid() == 1) {
		fail(m, "h2d is process 1 here, whose end is that of its container: start a new "
			"one");
		return;
	}
	rc = begin(m);
	if (rc < 0)
		fail(m, strerror(-rc));
}

void upgrade_init(struct master *m)
{
	m->upgrade = (struct upgrade){
		.start = start, .channel.fd = -1, .process.fd = -1, .doubts = { -1, -1 }
	};
	timer_init(&m->upgrade.limit, on_limit);
}
