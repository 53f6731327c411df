/*
 * master_signal: turns signals into reloads, drains and reopened logs; what they mean is decided by
 * reload and drain.
 */
#include "master/master_signal.h"

#include "base/log.h"
#include "master/drain.h"
#include "master/master_state.h"
#include "master/reload.h"

void master_signal_set(sigset_t *set)
{
	static const int wanted[] = { SIGCHLD, SIGHUP, SIGQUIT, SIGTERM, SIGINT, SIGUSR1, SIGUSR2 };

	sigemptyset(set);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		sigaddset(set, wanted[i]);
}

static void reopen_logs(struct master *m)
{
	char err[512];

	LIST_FOREACH(node, &m->gens) {
		struct gen *g = LIST_ENTRY(node, struct gen, node);

		if (logs_reopen(&g->logs, err, sizeof(err)) < 0)
			log_error("%s", err);
		GEN_FOREACH(c, g)
			if (c->pid != 0)
				child_send(c, DUE_LOGS);
	}
	log_notice("logs reopened");
}

void master_signal(struct master *m, int signo)
{
	switch (signo) {
	case SIGHUP:
		reload_ask(m);
		break;
	case SIGQUIT:
		if (m->phase != MASTER_LEAVE)
			drain_all(m, true);
		break;
	case SIGTERM:
	case SIGINT:
		drain_all(m, false);
		break;
	case SIGUSR1:
		reopen_logs(m);
		break;
	default:
		log_warn("upgrading the program in place is not built");
		break;
	}
}
