/*
 * balance: attaches what net/reuseport.h and net/least.h offer to the group of each address, and
 * says on the scoreboard and in the log what is in force. It opens and closes no socket.
 */
#include "master/balance.h"

#include <string.h>

#include "base/log.h"
#include "machine/cpus.h"
#include "master/master_state.h"
#include "net/least.h"
#include "net/reuseport.h"

static void refuse(struct gen *g, int rc)
{
	log_warn("balance = %s cannot be had (%s): connections are balanced by hash",
		conf_balance_name(g->balance), strerror(-rc));
	g->balance = BALANCE_HASH;
}

/* The map of loads stays for as long as the master does: draining workers go on using it. */
static int prepare_least(struct master *m, unsigned nworkers)
{
	int rc = least_try(nworkers);

	if (rc == 0 && m->load.slots == NULL)
		rc = load_open(&m->load);
	return rc;
}

bool balance_has_load(const struct gen *g)
{
	return g->conf->dispatch != DISPATCH_ACCEPTOR && g->balance == BALANCE_LEAST_CONNECTIONS;
}

/* The kernel balances nothing for an acceptor, which chooses among workers itself. */
static enum conf_balance in_kernel(const struct gen *g)
{
	return g->conf->dispatch == DISPATCH_ACCEPTOR ? BALANCE_HASH : g->balance;
}

void balance_prepare(struct gen *g)
{
	int rc = 0;

	g->balance = conf_balance(g->conf);
	if (balance_has_load(g))
		rc = prepare_least(g->master, g->nworkers);
	if (rc < 0)
		refuse(g, rc);
}

static int attach_least(const struct master *m, struct listener *l)
{
	if (l->by_slot < 0)
		l->by_slot = least_sockets_new();
	if (l->by_slot < 0)
		return l->by_slot;
	return least_attach(&m->load, l->by_slot, l->fds, m->current->nworkers);
}

static int attach(const struct master *m, struct listener *l)
{
	uint16_t cpus[REUSEPORT_CPUS];

	switch (in_kernel(m->current)) {
	case BALANCE_CPU:
		return reuseport_cpu(
			l->fds[0], cpus, cpus_allowed(cpus, REUSEPORT_CPUS), m->current->nworkers);
	case BALANCE_LEAST_CONNECTIONS:
		return attach_least(m, l);
	default:
		/* Hash, too; but a socket that is closed loses nothing. */
		return reuseport_migrate(l->fds[0]) == 0 ? 0 : reuseport_hash(l->fds[0]);
	}
}

static int attach_all(const struct master *m)
{
	int rc = 0;

	LIST_FOREACH(node, &m->sockets.all) {
		struct listener *l = &LIST_ENTRY(node, struct sockets_entry, node)->listener;

		if (!l->shared && rc == 0)
			rc = attach(m, l);
	}
	return rc;
}

/* Once for each generation: from now on its workers write the loads. */
static void clear_loads(struct master *m)
{
	if (m->loads_of == m->current->number)
		return;
	m->loads_of = m->current->number;
	for (unsigned i = 0; m->load.slots != NULL && i < LOAD_SLOTS; i++)
		load_clear(&m->load.slots[i]);
}

void balance_apply(struct master *m)
{
	int rc;

	balance_slots(m);
	clear_loads(m);
	rc = attach_all(m);
	if (rc < 0) {
		refuse(m->current, rc);
		attach_all(m);
	}
	if (m->current->balance != m->board->head.balance)
		log_notice(
			"connections are balanced by %s", conf_balance_name(m->current->balance));
	m->board->head.balance = m->current->balance;
}

bool balance_steer(const struct master *m, const struct listener *l, unsigned n)
{
	switch (in_kernel(m->current)) {
	case BALANCE_LEAST_CONNECTIONS:
		return true; /* its program migrates, and knows no slots but those that serve */
	case BALANCE_CPU:
		return false; /* its program knows no others either, but cannot migrate */
	default:
		if (reuseport_migrate(l->fds[0]) == 0)
			return true;
		reuseport_first(l->fds[0], n);
		return false;
	}
}

void balance_slots(struct master *m)
{
	bool up[LOAD_SLOTS] = { false };

	if (m->load.slots == NULL || m->current == NULL)
		return;
	GEN_FOREACH(c, m->current)
		if (c->kind->gets & CHILD_LISTENERS && c->pid != 0 && c->up && c->slot < LOAD_SLOTS)
			up[c->slot] = true;
	for (unsigned i = 0; i < LOAD_SLOTS; i++)
		__atomic_store_n(&m->load.slots[i].shut, !up[i], __ATOMIC_RELAXED);
}
