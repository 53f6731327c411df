/*
 * coding_memo: what coding_choose() said of the few accept-encoding fields that clients of one
 * worker send again and again: reading one costs more than the rest of a cached file's head.
 * Bounded; a field that falls on another's entry takes it. One thread.
 */
#ifndef H2D_FILES_CODING_MEMO_H
#define H2D_FILES_CODING_MEMO_H

#include "http/coding.h"

enum {
	CODING_MEMO_ENTRIES = 16, /* a power of two */
	CODING_MEMO_VALUE = 55,   /* longer ones are read each time */
};

struct coding_memo_entry {
	uint8_t n; /* bytes of value; 0: nobody has the entry */
	char value[CODING_MEMO_VALUE];
	uint8_t choice[1u << CODINGS]; /* by what is available; enum coding plus one, 0: not asked
					  yet */
};

/* All zero: empty. */
struct coding_memo {
	struct coding_memo_entry entries[CODING_MEMO_ENTRIES];
};

/* As coding_choose(). */
enum coding coding_memo_choose(
	struct coding_memo *m, const struct field *fields, unsigned n, unsigned available);

#endif
