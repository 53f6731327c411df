/*
 * model_digest: a number for what a world of model_unit.h is like, whatever way led there: times
 * are how far they are off, generations how old.
 */
#ifndef H2D_TESTS_MODEL_DIGEST_H
#define H2D_TESTS_MODEL_DIGEST_H

#include "model_unit.h"

static uint64_t hash;

static void mix(uint64_t n)
{
	hash = (hash ^ n) * UINT64_C(0x9e3779b97f4a7c15);
	hash ^= hash >> 29;
}

static void mix_timer(const struct timer *t)
{
	mix(timer_armed(t) ? t->at - now + 1 : 0);
}

static void mix_child(const struct child *c)
{
	mix((c->pid != 0) | c->up << 1 | c->full << 2 | c->due << 3);
	mix(c->reap.deaths);
	mix_timer(&c->respawn);
}

static void mix_gen(const struct gen *g, const struct master *m)
{
	mix(g->state | g->unborn << 4 | g->terminated << 5);
	mix(m->last_number - g->number);
	mix_timer(&g->deadline);
	GEN_FOREACH(c, g)
		mix_child(c);
}

static void mix_master(const struct master *m)
{
	mix(m->phase | m->wishes << 8 | (m->starting != NULL) << 16 | m->ngens << 20);
	mix_timer(&m->limit), mix_timer(&m->bind), mix_timer(&m->delay), mix_timer(&m->shrink);
	mix_timer(&m->upgrade.limit), mix_timer(&m->heir.last_word);
	mix(m->upgrade.offered | (m->upgrade.pid != 0) << 1 | m->upgrade.process.active << 2 |
		m->upgrade.channel.active << 3 | m->heir.channel.active << 4);
	LIST_FOREACH(node, &m->gens)
		mix_gen(LIST_ENTRY(node, struct gen, node), m);
	LIST_FOREACH(node, &m->sockets.all) {
		const struct sockets_entry *e = LIST_ENTRY(node, struct sockets_entry, node);

		mix(e->listener.nslots | e->listener.nlistening << 8 | e->kept << 16 |
			e->asked << 20 | e->taken << 24 | e->gone << 25 | e->listener.mine << 26);
	}
}

/* Numbers of inboxes go up with each generation: only the distance matters. */
static void mix_held(const struct process *p, const struct held *h)
{
	const struct gen *g = sides[p->side].m.current;

	mix(h->id == CTL_INBOX && g != NULL ? h->slot - g->inboxes.first : h->slot);
	mix(h->id == CTL_INBOX);
}

static void mix_process(const struct process *p)
{
	mix(p->serves | p->drains << 1 | p->ends << 2 | p->orphan << 3 | p->nheld << 4);
	if (p->orphan)
		return;
	mix(p->side | p->place->slot << 1 | (sides[p->side].m.last_number - p->generation) << 8);
	for (unsigned i = 0; i < p->nheld; i++)
		mix_held(p, &p->held[i]);
}

static void mix_side(const struct side *s)
{
	mix(s->life | (s->peer >= 0) << 4 | s->killed << 5);
	for (unsigned i = 0; i < s->to.n; i++)
		for (const char *c = s->to.text[i]; c < s->to.text[i] + 5 && *c != '\0'; c++)
			mix((uint8_t)*c);
	if (s->life == LIFE_RUNS)
		mix_master(&s->m);
}

static void model_digest(void)
{
	hash = 1;
	for (unsigned i = 0; i < SIDES; i++)
		mix_side(&sides[i]);
	for (unsigned i = 0; i < nprocesses; i++)
		if (processes[i].place != NULL)
			mix_process(&processes[i]);
}

#endif
