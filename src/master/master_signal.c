/*
 * master_signal: turns signals into reloads, drains and reopened logs; what they mean is decided by
 * reload and drain.
 */
#include "master/master_signal.h"

#include <unistd.h>

#include "base/log.h"
#include "master/drain.h"
#include "master/fdstore.h"
#include "master/master_state.h"
#include "master/reload.h"

void master_signal_set(sigset_t *set)
{
	static const int wanted[] = { SIGCHLD, SIGHUP, SIGQUIT, SIGTERM, SIGINT, SIGUSR1, SIGUSR2,
		SIGPWR };

	sigemptyset(set);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		sigaddset(set, wanted[i]);
}

static void reopen_logs(struct master *m)
{
	LIST_FOREACH(node, &m->gens) {
		struct gen *g = LIST_ENTRY(node, struct gen, node);

		logs_reopen(&g->logs);
		GEN_FOREACH(c, g)
			if (c->pid != 0)
				child_send(c, DUE_LOGS);
	}
	log_notice("logs reopened");
}

static void stop(struct master *m, bool gracefully)
{
	upgrade_abort(m);
	if (gracefully && drain_announce(m))
		return;
	if (!gracefully || m->phase != MASTER_LEAVE)
		drain_all(m, gracefully);
}

/* Where nobody keeps the sockets for the next master, it is the graceful end. */
static void yield(struct master *m)
{
	if (m->phase != MASTER_SERVE || !fdstore_is_on()) {
		stop(m, true);
		return;
	}
	upgrade_abort(m);
	drain_yield(m);
}

/*
 * What runs containers knows TERM alone, and gives time to finish: the first process of one takes
 * it for QUIT, once.
 */
static bool is_container(const struct master *m)
{
	return getpid() == 1 && m->phase != MASTER_LEAVE && !timer_armed(&m->delay);
}

/* The master that hands over may have named this one already: what it has is to be left in order.
 */
static bool stop_later(struct master *m, int signo)
{
	if (!m->heir.channel.active ||
		(signo != SIGQUIT && signo != SIGTERM && signo != SIGINT && signo != SIGPWR))
		return false;
	m->heir.signo = signo;
	return true;
}

void master_signal(struct master *m, int signo)
{
	if (stop_later(m, signo))
		return;
	switch (signo) {
	case SIGHUP:
		reload_ask(m);
		break;
	case SIGQUIT:
		stop(m, true);
		break;
	case SIGTERM:
		stop(m, is_container(m));
		break;
	case SIGINT:
		stop(m, false);
		break;
	case SIGPWR:
		yield(m);
		break;
	case SIGUSR1:
		reopen_logs(m);
		break;
	default:
		upgrade_request(m);
		break;
	}
}
