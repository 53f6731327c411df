/*
 * balance: attaches what net/reuseport.h offers to the group of each address, and says on the
 * scoreboard and in the log what is in force. It opens and closes no socket.
 */
#include "master/balance.h"

#include <string.h>

#include "base/log.h"
#include "master/cpus.h"
#include "master/master_state.h"
#include "net/reuseport.h"

static int attach(const struct gen *g, enum conf_balance balance, int fd)
{
	uint16_t cpus[REUSEPORT_CPUS];

	switch (balance) {
	case BALANCE_CPU:
		return reuseport_cpu(fd, cpus, cpus_allowed(cpus, REUSEPORT_CPUS), g->nworkers);
	default:
		/* The same choice, and a socket that is closed loses nothing. */
		return reuseport_migrate(fd) == 0 ? 0 : reuseport_hash(fd);
	}
}

static int attach_all(const struct master *m, enum conf_balance balance)
{
	int rc = 0;

	LIST_FOREACH(node, &m->sockets.all) {
		const struct listener *l = &LIST_ENTRY(node, struct sockets_entry, node)->listener;

		if (!l->shared && rc == 0)
			rc = attach(m->current, balance, l->fds[0]);
	}
	return rc;
}

void balance_apply(struct master *m)
{
	enum conf_balance wanted = conf_balance(m->current->conf), balance = wanted;
	int rc = attach_all(m, balance);

	if (rc < 0) {
		log_warn("balance = %s cannot be had (%s): hash", conf_balance_name(wanted),
			strerror(-rc));
		balance = BALANCE_HASH;
		attach_all(m, balance);
	}
	if (balance != m->board->head.balance)
		log_notice("connections are balanced by %s", conf_balance_name(balance));
	m->board->head.balance = balance;
}
