/*
 * succession: a variable has the facts that are no descriptors: the number of this request, of the
 * newest generation, a drained health check, the upgrade's begin, and the pid file.
 */
#include "master/succession.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "image/doubt.h"
#include "machine/notify.h"
#include "master/doubts.h"
#include "master/drain.h"
#include "master/master_signal.h"
#include "master/master_state.h"
#include "master/reload.h"
#include "master/shrink.h"
#include "tls/tls_tickets.h"

#define VARIABLE "H2D_UPGRADE"

/* Names of the descriptors passed beside sockets. */
#define TICKETS  "h2d/tickets"
#define PID_FILE "h2d/pid-file"
#define REIGN    "h2d/reign"  /* two: the reading end first */
#define DOUBTS   "h2d/doubts" /* two: the new keeper reads the first */
#define KEEPER   "h2d/keeper"

static struct master *master_of(struct upgrade *u)
{
	return LIST_ENTRY(u, struct master, upgrade);
}

/* Wishes for the new master, as bits of the final message. */
static const enum master_wish passed_on[] = { WISH_RELOAD, WISH_UPGRADE, WISH_DRAIN, WISH_UNDRAIN };

enum { WISHES = sizeof(passed_on) / sizeof(passed_on[0]) };

/* --- the old master: it begins ---------------------------------------------------------------- */

static bool gather_passed(const struct master *m, struct passed *p)
{
	return passed_add(p, tls_tickets_fd(), TICKETS) &&
	       passed_add(p, m->pidfile.mine ? m->pidfile.fd : -1, PID_FILE) &&
	       passed_add(p, m->leave.others.fd, REIGN) && passed_add(p, m->leave.end, REIGN) &&
	       passed_add(p, m->doubts.pair[0], DOUBTS) &&
	       passed_add(p, m->doubts.pair[1], DOUBTS) &&
	       passed_add(p, m->current->doubts[1], KEEPER) && sockets_pass(&m->sockets, p);
}

static char *describe_self(const struct master *m)
{
	char *text;
	int n = asprintf(&text, VARIABLE "=%" PRIu32 " %" PRIu32 " %d %" PRIu64 " %s",
		m->outcome.last.running, m->gens.last, health_has(m, BOARD_HEALTH_DRAINED),
		clock_read_us(), m->pidfile.mine ? m->pidfile.path : "");

	return n >= 0 ? text : NULL;
}

static void begin_upgrade(struct master *m)
{
	struct passed p = { 0 };
	char *variable = NULL;

	if (scm_pair(m->doubts.pair) == 0 && gather_passed(m, &p))
		variable = describe_self(m);
	if (variable != NULL)
		upgrade_begin(&m->upgrade, m->given.program, &p, variable);
	else
		m->upgrade.ops->failed(&m->upgrade, "out of memory or descriptors");
	free(variable);
	passed_free(&p);
}

void succession_begin(struct master *m)
{
	master_go(m, MASTER_UPGRADE);
	log_notice("upgrading to the current %s", m->given.program->argv[0]);
	outcome_begin(m);
	if (getpid() == 1) {
		m->upgrade.ops->failed(
			&m->upgrade, "h2d is process 1 of a container: start a new container");
		return;
	}
	begin_upgrade(m);
	if (m->phase == MASTER_UPGRADE)
		doubts_introduce(m);
}

void succession_abort(struct master *m)
{
	upgrade_abort(&m->upgrade, "h2d is stopping");
}

/* --- the old master: it goes on --------------------------------------------------------------- */

static void on_said(struct upgrade *u, const char *text)
{
	log_error("upgrade: process %d: %s", (int)u->pid, text);
	status_add(&master_of(u)->outcome.next, text);
}

static void on_failed(struct upgrade *u, const char *why)
{
	struct master *m = master_of(u);

	if (why != NULL) {
		log_error("upgrade: %s", why);
		status_add(&m->outcome.next, why);
	}
	doubts_close(m->doubts.pair);
	log_error("upgrade failed; process %d keeps serving", (int)getpid());
	m->outcome.next.upgrade = m->outcome.last.running;
	m->outcome.next.upgraded = false;
	outcome_end(m, false);
	master_go(m, MASTER_SERVE);
}

static void on_undo(struct upgrade *u)
{
	struct master *m = master_of(u);

	if (master_is_leaving(m))
		return;
	if (m->pidfile.mine)
		pidfile_claim(&m->pidfile);
	balance_apply(m);
}

/* --- the old master: it hands over ------------------------------------------------------------ */

static void on_gone(struct upgrade *u, const char *name)
{
	char own[SOCKETS_NAME];

	LIST_EACH(struct sockets_entry, e, node, &master_of(u)->sockets.all) {
		sockets_name(e, own);
		e->gone |= strcmp(own, name) == 0;
	}
}

/* Takes wishes pending in the kernel: they will not be read here any more. */
static void take_pending(struct master *m)
{
	static const struct timespec now = { 0 };
	sigset_t set;
	int signo;

	sigemptyset(&set);
	for (size_t i = 0; i < WISHES; i++)
		sigaddset(&set, master_wish_signal(passed_on[i]));
	while ((signo = sigtimedwait(&set, NULL, &now)) > 0)
		for (size_t i = 0; i < WISHES; i++)
			if (signo == master_wish_signal(passed_on[i]))
				m->wish.asked |= 1u << passed_on[i];
}

/* The new master writes the outcome. One that did not wait for it gets a request like any other. */
static void say_bye(struct master *m)
{
	unsigned wished = 0;
	char text[16];

	take_pending(m);
	for (size_t i = 0; i < WISHES; i++)
		wished |= (m->wish.asked >> passed_on[i] & 1) << i;
	snprintf(text, sizeof(text), "%u", wished);
	if (upgrade_bye(&m->upgrade, text))
		return;
	log_warn("upgrade: process %d missed the final message", (int)m->upgrade.pid);
	for (size_t i = 0; i < WISHES; i++)
		if (wished >> i & 1)
			upgrade_signal(&m->upgrade, master_wish_signal(passed_on[i]));
}

/* MAINPID before the final message: the service manager accepts messages only from this process. */
static void on_taken(struct upgrade *u)
{
	struct master *m = master_of(u);

	LIST_EACH(struct sockets_entry, other, node, &m->sockets.all)
		if (other->gone)
			fdstore_remove(&other->listener);
	notify_main_pid(u->pid);
	notify_hold(true);
	/* Before the workers close theirs: no process may have ours and not serve them. */
	LIST_EACH(struct sockets_entry, e, node, &m->sockets.all) {
		struct listener *l = &e->listener;

		l->mine &= e->gone;
		if (!l->mine)
			listener_close(l);
	}
	drain_all(m, DRAIN_HEIR);
	say_bye(m);
	m->pidfile.mine = false;
	doubts_close(m->doubts.pair);
}

/* --- the new master: what it inherits --------------------------------------------------------- */

static void take_tickets(struct passed *p)
{
	int fd = passed_take(p, TICKETS);

	if (fd < 0)
		return;
	if (!tls_tickets_inherit(fd))
		log_notice("session tickets: old keys are unusable; making new ones");
	close(fd);
}

/* NULL, or the fault. */
static const char *take_variable(struct master *m, struct passed *p, const char *text)
{
	int drained = 0, path = 0, fd = passed_take(p, PID_FILE);

	if (sscanf(text, "%" SCNu32 " %" SCNu32 " %d %" SCNu64 " %n", &m->outcome.last.running,
		    &m->gens.last, &drained, &m->build.begun_us, &path) != 4 ||
		path == 0)
		return VARIABLE " is not from a running h2d";
	m->outcome.last.request = m->outcome.last.running - 1;
	if (drained != 0)
		health_set(m, BOARD_HEALTH_DRAINED, true);
	if (fd >= 0 && pidfile_adopt(&m->pidfile, text + path, fd) < 0)
		return "out of memory";
	return NULL;
}

/* Two of a name: a program that passes one of them passes both. */
static void take_two(struct passed *p, const char *name, int fds[2])
{
	fds[0] = passed_take(p, name);
	fds[1] = passed_take(p, name);
}

static int refuse_upgrade(struct master *m, const char *why)
{
	fprintf(stderr, "h2d: upgrade: %s\n", why);
	upgrade_say(&m->upgrade, why);
	return -1;
}

int succession_take(struct master *m, struct passed *p)
{
	const char *variable = getenv(VARIABLE), *wrong;
	int channel = passed_take(p, UPGRADE_CHANNEL), reign[2];

	if (variable == NULL && channel < 0) {
		sockets_inherit(&m->sockets, p, false);
		return 0;
	}
	if (variable == NULL || channel < 0 || !upgrade_inherit(&m->upgrade, channel))
		return refuse_upgrade(m, VARIABLE " is not from a running h2d");
	notify_hold(true);
	wrong = take_variable(m, p, variable);
	unsetenv(VARIABLE);
	if (wrong != NULL)
		return refuse_upgrade(m, wrong);
	take_tickets(p);
	take_two(p, REIGN, reign);
	drain_inherit(m, reign[0], reign[1]);
	take_two(p, DOUBTS, m->doubts.pair);
	m->doubts.keeper = passed_take(p, KEEPER);
	sockets_inherit(&m->sockets, p, true);
	master_go(m, MASTER_HEIR);
	log_notice("taking over from process %d", (int)m->upgrade.pid);
	return 0;
}

/* --- the new master: it takes over ------------------------------------------------------------ */

bool succession_ready(struct master *m)
{
	char name[SOCKETS_NAME];

	if (m->phase != MASTER_HEIR)
		return false;
	LIST_EACH(const struct sockets_entry, e, node, &m->sockets.all) {
		if (sockets_is_taken(e) || e->passed)
			continue;
		sockets_name(e, name);
		upgrade_gone(&m->upgrade, name);
	}
	return upgrade_ready(&m->upgrade);
}

/* Takes over the old master's tasks, except messages that the service manager would refuse yet. */
static void on_go(struct upgrade *u)
{
	struct master *m = master_of(u);

	pidfile_claim(&m->pidfile);
	LIST_EACH(struct sockets_entry, e, node, &m->sockets.all)
		e->listener.mine = sockets_is_taken(e) && !e->passed;
	master_go(m, MASTER_TAKE);
	reload_commit(m->starting);
}

static void on_bye(struct upgrade *u, const char *text)
{
	struct master *m = master_of(u);
	unsigned long wished = text != NULL ? strtoul(text, NULL, 10) : 0;
	char said[128];

	if (text == NULL)
		log_warn("upgrade: process %d sent no final message", (int)u->pid);
	for (size_t i = 0; i < WISHES; i++)
		m->wish.asked |= (unsigned)(wished >> i & 1) << passed_on[i];
	notify_hold(false);
	sockets_store(&m->sockets);
	m->pidfile.mine = m->pidfile.path != NULL;
	doubts_forget(m);
	snprintf(said, sizeof(said), "upgraded: pid %d \u2192 %d in %" PRIu64 " ms",
		(int)m->upgrade.pid, (int)getpid(), (clock_read_us() - m->build.begun_us) / 1000);
	log_notice("%s", said);
	status_add(&m->outcome.next, said);
	m->outcome.next.upgrade = m->outcome.last.running;
	m->outcome.next.upgraded = true;
	reload_finish(m, true);
}

static void on_lost(struct upgrade *u)
{
	reload_fail(master_of(u)->starting, "the old master exited too early");
}

static const struct upgrade_ops ops = {
	.said = on_said,
	.gone = on_gone,
	.taken = on_taken,
	.failed = on_failed,
	.undo = on_undo,
	.go = on_go,
	.bye = on_bye,
	.lost = on_lost,
};

void succession_init(struct master *m)
{
	m->doubts.pair[0] = m->doubts.pair[1] = m->doubts.keeper = -1;
	upgrade_init(&m->upgrade, &m->loop, &ops);
}
