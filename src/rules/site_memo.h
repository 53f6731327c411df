/*
 * site_memo: what authority_host() and sites_find() said of the few authorities that clients of one
 * worker send again and again. Bounded; an authority that falls on another's entry takes it. One
 * thread.
 */
#ifndef H2D_RULES_SITE_MEMO_H
#define H2D_RULES_SITE_MEMO_H

#include "base/slice.h"

struct site;
struct sites;

enum {
	SITE_MEMO_ENTRIES = 16, /* a power of two */
	SITE_MEMO_TEXT = 55,    /* longer ones are taken apart each time */
};

struct site_memo_entry {
	const struct site *site;
	uint8_t n; /* bytes of text; 0: nobody has the entry */
	char text[SITE_MEMO_TEXT];
};

/* All zero: empty. Good for one struct sites. */
struct site_memo {
	struct site_memo_entry entries[SITE_MEMO_ENTRIES];
};

/* As sites_find(); NULL: the authority is malformed. One that is empty is not. */
const struct site *site_memo_find(
	struct site_memo *m, const struct sites *s, struct slice authority);

#endif
