/* places: see places.h. Grants in the loop's next turn, never from within a call. */
#include "files/places.h"

#include "base/assert.h"

static bool fits(const struct places *all, const struct place_share *s)
{
	unsigned left = all->held < all->max ? all->max - all->held : 0;

	if (left == 0 || s == &all->nobody)
		return left > 0;
	if (s->held >= PLACES_SHARE)
		return false;
	return s->held < PLACES_SURE || s->held < left / PLACES_PART;
}

static void hold(struct places *all, struct place *p)
{
	all->held++;
	p->share->held++;
	p->held = true;
}

/* The first in line of each connection, in turn, as far as it fits. */
static void take_turns(struct task *t)
{
	struct places *all = LIST_ENTRY(t, struct places, turns);
	struct list waiting, *node;
	bool granted = false;

	list_init(&waiting);
	list_splice(&waiting, &all->shares);
	while (all->held < all->max && (node = list_pop(&waiting)) != NULL) {
		struct place_share *s = LIST_ENTRY(node, struct place_share, node);
		struct place *p;

		list_append(&all->shares, &s->node);
		if (!fits(all, s))
			continue;
		p = LIST_ENTRY(list_pop(&s->line), struct place, node);
		p->waits = false;
		if (list_empty(&s->line)) {
			list_remove(&s->node);
			list_init(&s->node);
		}
		hold(all, p);
		granted = true;
		p->granted(p);
	}
	/* Those that had no turn are the first next time. */
	list_splice(&waiting, &all->shares);
	list_splice(&all->shares, &waiting);
	if (granted)
		loop_ready(all->loop, &all->turns);
}

static void wake(struct places *all)
{
	if (!list_empty(&all->shares))
		loop_ready(all->loop, &all->turns);
}

void places_init(struct places *all, struct loop *loop)
{
	all->max = PLACES_MAX;
	all->held = 0;
	all->loop = loop;
	list_init(&all->shares);
	place_share_init(&all->nobody);
	task_init(&all->turns, take_turns);
}

void places_fini(struct places *all)
{
	H2D_ASSERT(all->held == 0 && list_empty(&all->shares));
	loop_cancel(&all->turns);
}

void places_limit(struct places *all, unsigned max)
{
	all->max = max;
	wake(all);
}

void place_share_init(struct place_share *s)
{
	s->held = 0;
	list_init(&s->line);
	list_init(&s->node);
}

bool places_take(struct places *all, struct place_share *share, struct place *p)
{
	p->share = share != NULL ? share : &all->nobody;
	if (list_empty(&p->share->line) && fits(all, p->share)) {
		hold(all, p);
		return true;
	}
	p->waits = true;
	if (list_empty(&p->share->line))
		list_append(&all->shares, &p->share->node);
	list_append(&p->share->line, &p->node);
	return false;
}

/* Each at least once; others may leave or join the line meanwhile. */
static void ask_line(struct list *line)
{
	unsigned n = 0;

	LIST_FOREACH(node, line)
		n++;
	for (; n > 0 && !list_empty(line); n--) {
		struct list *node = list_pop(line);
		struct place *p = LIST_ENTRY(node, struct place, node);

		list_append(line, node);
		if (p->again != NULL)
			p->again(p);
	}
}

void places_ask_again(struct places *all)
{
	struct list waiting, *node;

	list_init(&waiting);
	list_splice(&waiting, &all->shares);
	while ((node = list_pop(&waiting)) != NULL) {
		list_append(&all->shares, node);
		ask_line(&LIST_ENTRY(node, struct place_share, node)->line);
	}
}

void places_leave(struct places *all, struct place *p)
{
	struct place_share *s = p->share;

	p->share = NULL;
	if (p->waits) {
		p->waits = false;
		list_remove(&p->node);
		if (list_empty(&s->line)) {
			list_remove(&s->node);
			list_init(&s->node);
		}
	} else if (p->held) {
		s->held--;
		wake(all);
	}
}

void places_give(struct places *all, struct place *p)
{
	if (!p->held)
		return;
	p->held = false;
	all->held--;
	wake(all);
}
