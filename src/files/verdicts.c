/*
 * verdicts: a table of sets behind one lock, which is held for a few comparisons. Called by
 * disk_beside.c; it opens and reads nothing.
 */
#include "files/verdicts.h"

#include <pthread.h>
#include <stdlib.h>

struct entry {
	struct verdict_key key;
	enum decoder_verdict verdict;
	bool used;
};

struct set {
	struct entry ways[VERDICTS_WAYS];
	unsigned next;
};

struct verdicts {
	pthread_mutex_t lock;
	struct set sets[VERDICTS_SETS];
};

struct verdicts *verdicts_new(void)
{
	struct verdicts *v = calloc(1, sizeof(*v));

	if (v != NULL)
		pthread_mutex_init(&v->lock, NULL);
	return v;
}

void verdicts_free(struct verdicts **vp)
{
	if (*vp != NULL)
		pthread_mutex_destroy(&(*vp)->lock);
	free(*vp);
	*vp = NULL;
}

static struct set *set_of(struct verdicts *v, const struct verdict_key *key)
{
	uint64_t h = (key->plain.ino * 31 + key->plain.dev) * UINT64_C(0x9e3779b97f4a7c15);

	return &v->sets[(h >> 32) % VERDICTS_SETS];
}

static bool same(const struct verdict_key *a, const struct verdict_key *b)
{
	return a->coding == b->coding && file_id_eq(&a->coded, &b->coded) &&
	       file_id_eq(&a->plain, &b->plain);
}

int verdicts_get(struct verdicts *v, const struct verdict_key *key)
{
	struct set *set = set_of(v, key);
	int verdict = VERDICTS_UNKNOWN;

	pthread_mutex_lock(&v->lock);
	for (const struct entry *e = set->ways; e != set->ways + VERDICTS_WAYS; e++)
		if (e->used && same(&e->key, key))
			verdict = (int)e->verdict;
	pthread_mutex_unlock(&v->lock);
	return verdict;
}

void verdicts_put(struct verdicts *v, const struct verdict_key *key, enum decoder_verdict verdict)
{
	struct set *set = set_of(v, key);

	pthread_mutex_lock(&v->lock);
	set->ways[set->next] = (struct entry){ *key, verdict, true };
	set->next = (set->next + 1) % VERDICTS_WAYS;
	pthread_mutex_unlock(&v->lock);
}
