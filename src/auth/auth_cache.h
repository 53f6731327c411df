/*
 * auth_cache: what was found out about credentials, for a short time: a bounded table keyed by a
 * MAC of them. Kept by auth_queue.c. Right and wrong ones are remembered alike, but wrong ones make
 * room first.
 */
#ifndef H2D_AUTH_CACHE_H
#define H2D_AUTH_CACHE_H

#include "auth/htpasswd.h"

enum {
	VERDICT_KEY = 32,
	VERDICT_SETS = 256,
	VERDICT_WAYS = 4,
	VERDICT_MS = 10000,
	VERDICT_RIGHT_MS = 3600000, /* since it was used last, while the file is as it was */
};

struct verdict {
	uint8_t key[VERDICT_KEY];
	struct file_id stamp; /* of the file that it is about */
	uint64_t expires_ms;  /* 0: free */
	uint64_t seen_ms;     /* when the file was last seen to be that one */
	bool passed;
	bool settled; /* the stamp tells every later change */
};

struct auth_cache {
	struct verdict v[VERDICT_SETS][VERDICT_WAYS];
};

/* NULL if there is none, or it is too old. */
struct verdict *auth_cache_find(
	struct auth_cache *t, const uint8_t key[VERDICT_KEY], uint64_t now_ms);

/* Copies v over the one with its key, a free one, or one that is worth less. */
void auth_cache_put(struct auth_cache *t, const struct verdict *v, uint64_t now_ms);

#endif
