/*
 * mend: while another master has the sockets too, or a generation is being built, it waits: the
 * processes to tell are unknown.
 */
#include "master/mend.h"

#include "base/log.h"
#include "master/master_state.h"
#include "master/shrink.h"
#include "upgrade/fdstore.h"

#define ENTRY(n) LIST_ENTRY(n, struct sockets_entry, node)

/* The service manager, which may have it too, identifies a unix socket by its file. */
static int mend_stored(struct sockets_entry *e, unsigned slot, char *err, size_t errsize)
{
	int rc;

	if (e->passed || !e->listener.shared)
		return listener_mend(&e->listener, slot, e->file.mode, err, errsize);
	fdstore_remove(&e->listener);
	rc = listener_mend(&e->listener, slot, e->file.mode, err, errsize);
	if (rc > 0)
		sockets_own(e);
	fdstore_put(&e->listener);
	return rc;
}

static void mend_one(struct master *m, struct sockets_entry *e, unsigned slot)
{
	char text[ADDR_TEXT], err[256];
	int rc = mend_stored(e, slot, err, sizeof(err));

	addr_format(&e->listener.addr, text, sizeof(text));
	if (rc < 0) {
		log_peer(LEVEL_ERROR, "cannot reopen a socket of %s: %s", text, err);
		return;
	}
	log_peer(LEVEL_ERROR,
		"a socket of %s was shut down; reopened it: a worker may be compromised", text);
	if (rc == 0)
		balance_apply(m);
	else
		gen_send(m->current, CHILD_LISTENERS | CHILD_INBOXES, DUE_SOCKETS);
}

static void look_at(struct master *m, struct sockets_entry *e)
{
	unsigned n = e->listener.shared ? 1 : e->listener.nlistening;

	for (unsigned k = 0; k < n; k++)
		if (!listener_stands(&e->listener, k))
			mend_one(m, e, k);
}

void mend_second(struct master *m)
{
	if (master_is_alone(m))
		LIST_FOREACH(node, &m->sockets.all)
			look_at(m, ENTRY(node));
}

/* --- messages --------------------------------------------------------------------------------- */

/* True if c shares it with others and accepts from it. */
static bool shares(const struct child *c, unsigned i)
{
	const struct gen *g = c->gen;
	bool all = g->inboxes.n > 0 && !conf_listen_is_own(&g->conf->listens[i]);

	return g->sockets[i] != NULL && g->sockets[i]->listener.shared &&
	       all == ((c->kind->gets & CHILD_INBOXES) != 0);
}

bool mend_fill(const struct child *c, unsigned n, struct ctl_msg *msg, int *fds, int *nfds)
{
	const struct gen *g = c->gen;

	if (g->state != GEN_SERVE)
		return false;
	for (unsigned i = 0; i < g->conf->nlistens; i++) {
		if (!shares(c, i) || n-- > 0)
			continue;
		*msg = (struct ctl_msg){ .type = CTL_LISTEN,
			.generation = g->number,
			.listener = g->sockets[i]->listener.id,
			.slot = c->slot };
		fds[0] = g->sockets[i]->listener.fds[0];
		*nfds = 1;
		return true;
	}
	return false;
}
