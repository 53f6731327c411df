/*
 * shrink: checks every 100 ms, while there are surplus sockets. If the kernel migrates queued
 * connections (balance_steer()) they are closed at once; else new connections are steered away
 * first, and the queues must be empty for as long as a handshake under way may take.
 */
#include "master/shrink.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "machine/cgroup.h"
#include "master/master_state.h"
#include "net/reuseport.h"
#include "upgrade/fdstore.h"

enum {
	LOOK_MS = 100,
	QUIET_MS = 3000,  /* a lost SYN-ACK is sent again after 1 s, and after 2 s more */
	SETTLE_MS = 1000, /* for workers to read the order to close theirs */
};

static unsigned surplus(const struct sockets_entry *e)
{
	const struct listener *l = &e->listener;

	return l->shared || l->nslots <= e->needed ? 0 : l->nslots - e->needed;
}

static bool has_surplus(const struct master *m)
{
	LIST_EACH(struct sockets_entry, e, node, &m->sockets.all)
		if (surplus(e) > 0)
			return true;
	return false;
}

/*
 * The slots of l from the n-th on will close: true if the kernel then moves their queued
 * connections. If not, no new ones are queued there from now on.
 */
static bool balance_steer(const struct master *m, const struct listener *l, unsigned n)
{
	/* The program of cpu knows only serving slots, and cannot migrate. */
	if (m->current->balance == BALANCE_CPU)
		return false;
	if (reuseport_migrate(l->fds[0]) == 0)
		return true;
	reuseport_first(l->fds[0], n);
	return false;
}

/* Steers new connections away. True: the kernel moves queued ones, too, if they are closed. */
static bool steer_away(struct master *m)
{
	bool all = true;

	LIST_EACH(struct sockets_entry, e, node, &m->sockets.all)
		if (surplus(e) > 0 && !balance_steer(m, &e->listener, e->needed))
			all = false;
	return all;
}

static unsigned count_queued(const struct sockets_entry *e)
{
	unsigned n = 0;

	for (unsigned k = e->needed; surplus(e) > 0 && k < e->listener.nslots; k++) {
		struct tcp_info info = { 0 };

		if (getsockopt(e->listener.fds[k], IPPROTO_TCP, TCP_INFO, &info,
			    &(socklen_t){ sizeof(info) }) == 0)
			n += info.tcpi_unacked;
	}
	return n;
}

/* True: the queues have been empty for as long as a handshake may take. */
static bool await_quiet(struct master *m)
{
	unsigned n = 0;

	LIST_EACH(struct sockets_entry, e, node, &m->sockets.all)
		n += count_queued(e);
	if (n > 0 || m->shrink.quiet_from == 0)
		m->shrink.quiet_from = clock_ms();
	return clock_ms() - m->shrink.quiet_from >= QUIET_MS;
}

/* --- closing ---------------------------------------------------------------------------------- */

static void close_surplus(struct sockets_entry *e)
{
	char err[256];

	e->was = e->kept = e->needed;
	if (surplus(e) == 0)
		return;
	e->was = e->listener.nslots;
	if (listener_resize(&e->listener, e->needed, err, sizeof(err)) < 0)
		log_error("%s", err);
	if (!e->passed)
		fdstore_put(&e->listener);
}

bool shrink_fill(const struct child *c, unsigned n, struct ctl_msg *msg, int *fds, int *nfds)
{
	const struct gen *g = c->gen;

	(void)fds, (void)nfds;
	for (unsigned i = 0; i < g->conf->nlistens; i++) {
		const struct sockets_entry *e = g->sockets[i];

		if (e == NULL || !sockets_have(&g->master->sockets, e) || e->was <= e->needed)
			continue;
		if (n < e->was - e->needed) {
			*msg = (struct ctl_msg){ .type = CTL_UNLISTEN,
				.listener = e->listener.id,
				.slot = e->needed + n };
			return true;
		}
		n -= e->was - e->needed;
	}
	return false;
}

/* --- when ------------------------------------------------------------------------------------- */

static void shrink_arm(struct master *m, unsigned ms)
{
	timer_arm(&m->loop.wheel, &m->shrink.look, clock_ms() + ms);
}

static void shrink_look(struct timer *t)
{
	struct master *m = LIST_ENTRY(t, struct master, shrink.look);

	if (!has_surplus(m)) {
		balance_apply(m); /* restores the state before they were closed */
	} else if (!master_is_alone(m) || m->gens.n > 1 || !list_empty(&m->current->loans) ||
		   !gen_is_up(m->current)) {
		/* Other processes have the sockets, too. */
		m->shrink.quiet_from = 0;
		shrink_arm(m, LOOK_MS);
	} else if (steer_away(m) || await_quiet(m)) {
		LIST_EACH(struct sockets_entry, e, node, &m->sockets.all)
			close_surplus(e);
		gen_send(m->current, CHILD_LISTENERS, DUE_UNLISTEN);
		log_notice("closed the sockets of slots without a worker");
		shrink_arm(m, SETTLE_MS);
	} else {
		shrink_arm(m, LOOK_MS);
	}
}

void shrink_init(struct master *m)
{
	timer_init(&m->shrink.look, shrink_look);
}

void shrink_begin(struct master *m)
{
	m->shrink.quiet_from = 0;
	if (has_surplus(m))
		shrink_arm(m, LOOK_MS);
	else
		shrink_stop(m);
}

void shrink_stop(struct master *m)
{
	timer_disarm(&m->loop.wheel, &m->shrink.look);
}

static int balance_attach(const struct gen *g, const struct listener *l)
{
	uint16_t cpus[REUSEPORT_CPUS];

	if (g->balance == BALANCE_CPU)
		return reuseport_cpu(
			l->fds[0], cpus, cpus_allowed(cpus, REUSEPORT_CPUS), g->nworkers);
	/* Hash, also for an acceptor, which chooses itself; but a closed socket loses none. */
	return reuseport_migrate(l->fds[0]) == 0 ? 0 : reuseport_hash(l->fds[0]);
}

static int attach_all(const struct master *m)
{
	int rc = 0;

	LIST_EACH(struct sockets_entry, e, node, &m->sockets.all) {
		const struct listener *l = &e->listener;

		if (!l->shared && rc == 0)
			rc = balance_attach(m->current, l);
	}
	return rc;
}

void balance_apply(struct master *m)
{
	struct gen *g = m->current;
	int rc = attach_all(m);

	if (rc < 0 && g->balance == BALANCE_CPU) {
		log_warn("balance = cpu: %s; balancing connections by hash", strerror(-rc));
		g->balance = BALANCE_HASH;
		attach_all(m);
	}
	if (g->balance != m->shared.board->head.balance)
		log_notice("balancing connections by %s", conf_balance_name(g->balance));
	m->shared.board->head.balance = g->balance;
}
