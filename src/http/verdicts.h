/*
 * verdicts: what was found out about credentials, for a short time: a bounded table keyed by a MAC of
 * them. Kept by auth.c. Right and wrong ones are remembered alike, but wrong ones make room first.
 */
#ifndef H2D_HTTP_VERDICTS_H
#define H2D_HTTP_VERDICTS_H

#include "http/htpasswd.h"

enum { VERDICT_KEY = 32, VERDICT_SETS = 256, VERDICT_WAYS = 4, VERDICT_MS = 10000 };

struct verdict {
	uint8_t key[VERDICT_KEY];
	struct htpasswd_stamp stamp; /* of the file that it is about */
	uint64_t expires_ms;         /* 0: a free place */
	uint64_t seen_ms;            /* when the file was last seen to be that one */
	bool passed;
};

struct verdicts {
	struct verdict v[VERDICT_SETS][VERDICT_WAYS];
};

/* NULL if there is none, or it is too old. */
struct verdict *verdicts_find(struct verdicts *t, const uint8_t key[VERDICT_KEY], uint64_t now_ms);

/* Copies v over the one with its key, a free place, or one that is worth less. */
void verdicts_put(struct verdicts *t, const struct verdict *v, uint64_t now_ms);

#endif
