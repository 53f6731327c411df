/*
 * auth_cache: finds and replaces verdicts in sets of four, chosen by the key's first byte, which is
 * practically random. Never reads a file and never sees a password.
 */
#include "auth/auth_check.h"

struct verdict *auth_cache_find(
	struct auth_cache *t, const uint8_t key[VERDICT_KEY], uint64_t now_ms)
{
	struct verdict *set = t->v[key[0] % VERDICT_SETS];

	for (struct verdict *v = set; v != set + VERDICT_WAYS; v++)
		if (v->expires_ms > now_ms && memcmp(v->key, key, VERDICT_KEY) == 0)
			return v;
	return NULL;
}

/* True if a is less worth keeping. */
static bool worth_less(const struct verdict *a, const struct verdict *b, uint64_t now_ms)
{
	bool a_over = a->expires_ms <= now_ms, b_over = b->expires_ms <= now_ms;

	if (a_over != b_over)
		return a_over;
	if (a->passed != b->passed)
		return !a->passed;
	return a->expires_ms < b->expires_ms;
}

void auth_cache_put(struct auth_cache *t, const struct verdict *v, uint64_t now_ms)
{
	struct verdict *set = t->v[v->key[0] % VERDICT_SETS];
	struct verdict *place = auth_cache_find(t, v->key, now_ms);

	if (place == NULL) {
		place = set;
		for (struct verdict *other = set + 1; other != set + VERDICT_WAYS; other++)
			if (worth_less(other, place, now_ms))
				place = other;
	}
	*place = *v;
}
