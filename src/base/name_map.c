/* name_map: open addressing, at most three quarters full. It never removes a name. */
#include "base/name_map.h"

#include <stdint.h>
#include <stdlib.h>

enum { SLOTS_LEAST = 16 };

/* The slot of name, or the free one for it. */
static struct name_slot *name_map_look(struct name_slot *slots, unsigned nslots, struct slice name)
{
	uint64_t h = fnv_add(FNV_BEGIN, name.p, name.n);
	struct name_slot *s = &slots[(h ^ h >> 32) & (nslots - 1)];

	while (s->name.p != NULL && !slice_eq(s->name, name))
		s = s + 1 < slots + nslots ? s + 1 : slots;
	return s;
}

static bool name_map_grow(struct name_map *m)
{
	unsigned nslots = m->nslots > 0 ? 2 * m->nslots : SLOTS_LEAST;
	struct name_slot *slots = calloc(nslots, sizeof(*slots));

	if (slots == NULL)
		return false;
	for (unsigned i = 0; i < m->nslots; i++)
		if (m->slots[i].name.p != NULL)
			*name_map_look(slots, nslots, m->slots[i].name) = m->slots[i];
	free(m->slots);
	m->slots = slots;
	m->nslots = nslots;
	return true;
}

unsigned *name_map_put(struct name_map *m, struct slice name)
{
	struct name_slot *s;

	if (m->n >= m->nslots / 4 * 3 && !name_map_grow(m))
		return NULL;
	s = name_map_look(m->slots, m->nslots, name);
	if (s->name.p == NULL) {
		s->name = name;
		m->n++;
	}
	return &s->value;
}

unsigned name_map_get(const struct name_map *m, struct slice name)
{
	return m->nslots > 0 ? name_map_look(m->slots, m->nslots, name)->value : 0;
}

void name_map_fini(struct name_map *m)
{
	free(m->slots);
	*m = (struct name_map){ 0 };
}
