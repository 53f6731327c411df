/*
 * model_digest: a number for what a world of model_unit.h is like, whatever way led there: times
 * are how far they are off, generations how old.
 */
#pragma once

#include "model_unit.h"

static uint64_t hash;

static void mix(uint64_t n)
{
	hash = (hash ^ n) * UINT64_C(0x9e3779b97f4a7c15);
	hash ^= hash >> 29;
}

/* One that nobody has made yet is not armed. */
static void mix_timer(const struct timer *t)
{
	mix(t->fn != NULL && timer_armed(t) ? t->at - now + 1 : 0);
}

static void mix_child(const struct child *c)
{
	mix(c->state | c->due << 3);
	mix(c->reap.deaths);
	mix_timer(&c->respawn);
}

/* Workers differ by nothing but their slots: a world is the same as the one with them exchanged. */
static bool exchanged;

enum { GENERATIONS = 64 }; /* more than a world can have had */

static uint32_t mirror(uint32_t slot, uint32_t n)
{
	return exchanged && slot < n ? n - 1 - slot : slot;
}

static void mix_gen(const struct gen *g, const struct master *m)
{
	mix(g->state | g->unborn << 4 | g->terminated << 5);
	mix(m->gens.last - g->number);
	mix_timer(&g->deadline);
	for (unsigned i = 0; i < g->nchildren; i++)
		mix_child(&g->children[mirror(i, g->nworkers)]);
}

static void mix_master(const struct master *m)
{
	mix(m->phase | m->wish.asked << 8 | (m->starting != NULL) << 16 | m->gens.n << 20);
	mix_timer(&m->build.limit), mix_timer(&m->build.bind), mix_timer(&m->leave.delay),
		mix_timer(&m->shrink.look);
	mix_timer(&m->upgrade.timer);
	mix(m->upgrade.state | (m->upgrade.pid != 0) << 4 | m->upgrade.process.active << 5 |
		m->upgrade.channel.active << 6);
	LIST_EACH(struct gen, g, node, &m->gens.all)
		mix_gen(g, m);
	LIST_EACH(const struct sockets_entry, e, node, &m->sockets.all) {
		mix(e->listener.nslots | e->listener.nlistening << 8 | e->kept << 16 |
			e->asked << 20 | e->state << 24 | e->gone << 27 | e->listener.mine << 28);
	}
}

static uint64_t digest_alone(void (*fn)(const void *a, const void *b), const void *a, const void *b)
{
	uint64_t before = hash, own;

	hash = 1;
	fn(a, b);
	own = hash;
	hash = before;
	return own;
}

/* Numbers of inboxes go up with each generation: only the distance matters. */
static void mix_held(const void *process, const void *held)
{
	const struct process *p = process;
	const struct held *h = held;
	const struct gen *g = sides[p->side].m.current;
	bool inbox = h->id == CTL_INBOX;
	uint32_t n = p->place->gen->nworkers;
	uint32_t slot = h->slot - (inbox && g != NULL ? g->inboxes.first : 0) + GENERATIONS * n;

	mix(slot / n * n + mirror(slot % n, n));
	mix(inbox);
}

static void mix_process(const void *process, const void *unused)
{
	const struct process *p = process;
	uint64_t sum = 0;

	mix(p->serves | p->drains << 1 | p->ends << 2 | p->nheld << 4);
	mix(p->side |
		mirror(p->place->slot, p->place->kind->numbered ? p->place->gen->nworkers : 0)
			<< 1 |
		(sides[p->side].m.gens.last - p->generation) << 8);
	for (unsigned i = 0; i < p->nheld; i++)
		sum += digest_alone(mix_held, p, &p->held[i]);
	mix(sum);
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

/* Which process came first matters no more, once all that it was told is there. */
static uint64_t digest_world(void)
{
	uint64_t sum = 0;

	hash = 1;
	for (unsigned i = 0; i < SIDES; i++)
		mix_side(&sides[i]);
	for (unsigned i = 0; i < nprocesses; i++)
		if (processes[i].place != NULL)
			sum += digest_alone(mix_process, &processes[i], NULL);
	mix(sum);
	return hash;
}

static void model_digest(void)
{
	uint64_t as_it_is;

	exchanged = false;
	as_it_is = digest_world();
	exchanged = true;
	hash = digest_world() < as_it_is ? hash : as_it_is;
}
