/* doubts: passes the sockets of doubts on; never reads or writes them. */
#include "master/doubts.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "image/doubt.h"
#include "master/master_state.h"

void doubts_inherit(struct gen *g)
{
	int *inherited = g->master->doubts.pair;

	for (int i = 0; i < 2 && g->doubts[i] >= 0 && inherited[i] >= 0; i++) {
		close(g->doubts[i]);
		g->doubts[i] = inherited[i];
		inherited[i] = -1;
	}
	doubts_close(inherited);
}

void doubts_introduce(const struct master *m)
{
	LIST_EACH(struct gen, g, node, &m->gens.all)
		GEN_FOREACH(c, g)
			if (c->pid != 0 && c->kind->gets & CHILD_KEEPERS)
				child_send(c, DUE_KEEPER);
}

void doubts_mend(struct gen *g)
{
	int fds[2];

	if (g->doubts[0] < 0 || !doubt_is_shut(g->doubts[0]) || scm_pair(fds) < 0)
		return;
	log_error("the socket for change reports to the keeper was shut down; replacing it: a "
		  "worker may be compromised");
	doubts_close(g->doubts);
	memcpy(g->doubts, fds, sizeof(fds));
	g->doubts_anew = true;
	doubts_introduce(g->master);
}

/* The writing end of the newest keeper's pair; -1: that keeper is g's, whose processes know it from
 * their start, or there is none. */
static int newest(const struct master *m, const struct gen *g)
{
	const struct gen *newest = m->starting != NULL ? m->starting : m->current;

	if (m->doubts.pair[1] >= 0)
		return m->doubts.pair[1];
	return newest != NULL && (newest != g || g->doubts_anew) ? newest->doubts[1] : -1;
}

bool doubts_fill(const struct child *c, unsigned n, struct ctl_msg *msg, int *fds, int *nfds)
{
	*msg = (struct ctl_msg){ .type = CTL_KEEPER };
	fds[0] = newest(c->gen->master, c->gen);
	*nfds = 1;
	return n == 0 && fds[0] >= 0;
}

unsigned doubts_find(const struct master *m, int *fds, unsigned max)
{
	unsigned n = 0;

	LIST_EACH(struct gen, g, node, &m->gens.all)
		if (g->doubts[1] >= 0 && n < max)
			fds[n++] = g->doubts[1];
	if (m->doubts.keeper >= 0 && n < max)
		fds[n++] = m->doubts.keeper;
	if (m->doubts.pair[1] >= 0 && n < max)
		fds[n++] = m->doubts.pair[1];
	return n;
}

void doubts_forget(struct master *m)
{
	if (m->doubts.keeper >= 0)
		close(m->doubts.keeper);
	m->doubts.keeper = -1;
}

void doubts_close(int ends[2])
{
	for (int i = 0; i < 2; i++) {
		if (ends[i] >= 0)
			close(ends[i]);
		ends[i] = -1;
	}
}
