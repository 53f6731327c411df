/*
 * balance: attaches what net/reuseport.h offers to the group of each address, and says on the
 * scoreboard and in the log what is in force. It opens and closes no socket.
 */
#include "master/balance.h"

#include <string.h>

#include "base/log.h"
#include "machine/cpus.h"
#include "master/master_state.h"
#include "net/reuseport.h"

static int balance_attach(const struct gen *g, const struct listener *l)
{
	uint16_t cpus[REUSEPORT_CPUS];

	if (g->balance == BALANCE_CPU)
		return reuseport_cpu(
			l->fds[0], cpus, cpus_allowed(cpus, REUSEPORT_CPUS), g->nworkers);
	/* Hash, for an acceptor too, which chooses itself; but a socket that closes loses nothing.
	 */
	return reuseport_migrate(l->fds[0]) == 0 ? 0 : reuseport_hash(l->fds[0]);
}

static int attach_all(const struct master *m)
{
	int rc = 0;

	LIST_FOREACH(node, &m->sockets.all) {
		const struct listener *l = &LIST_ENTRY(node, struct sockets_entry, node)->listener;

		if (!l->shared && rc == 0)
			rc = balance_attach(m->current, l);
	}
	return rc;
}

static void balance_refuse(struct gen *g, int rc)
{
	log_warn("balance = %s cannot be had (%s): connections are balanced by hash",
		conf_balance_name(g->balance), strerror(-rc));
	g->balance = BALANCE_HASH;
}

void balance_apply(struct master *m)
{
	struct gen *g = m->current;
	int rc = attach_all(m);

	if (rc < 0 && g->balance == BALANCE_CPU) {
		balance_refuse(g, rc);
		attach_all(m);
	}
	if (g->balance != m->board->head.balance)
		log_notice("connections are balanced by %s", conf_balance_name(g->balance));
	m->board->head.balance = g->balance;
}

bool balance_steer(const struct master *m, const struct listener *l, unsigned n)
{
	/* The program of cpu knows no slots but those that serve, and cannot migrate. */
	if (m->current->balance == BALANCE_CPU)
		return false;
	if (reuseport_migrate(l->fds[0]) == 0)
		return true;
	reuseport_first(l->fds[0], n);
	return false;
}
