/*
 * h2_pages: the two large blocks of a nghttp2 session, its table of streams and the frame it
 * makes, on pages of their own: 20 of its 26 KiB, empty while it is idle. So an idle session's
 * pages go back to the system, and return, empty, when they are touched. Single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { H2_PAGE = 4096 };

struct h2_slots;

/* The pages of a session. Zeroed, it has none, and the session's blocks are malloc's. */
struct h2_pages {
	struct h2_slots *of;
	char *mem;     /* the table's page, then the frame's */
	bool making;   /* the session is being made: fitting blocks are given out; h2.c ends it */
	bool table;    /* given out */
	size_t frame;  /* its size, given out; or 0 */
	uint8_t quiet; /* consecutive looks without output before; 0 by h2_out.c */
};

/* Finds pages for a session to be made; without memory it does without. */
void h2_pages_open(struct h2_pages *p);
/* Called when the session is freed. */
void h2_pages_close(struct h2_pages *p);

/* A block for the session being made; NULL: another size, or given out. */
void *h2_pages_get(struct h2_pages *p, size_t size);
/* The size of block; 0: not p's. */
size_t h2_pages_size(const struct h2_pages *p, const void *block);
/* Takes block back. False: it is neither of the two. */
bool h2_pages_put(struct h2_pages *p, const void *block);

/* True if block may be one of a session's pages; most other blocks are aligned otherwise. */
static inline bool h2_pages_starts(const void *block)
{
	return (uintptr_t)block % H2_PAGE == 0;
}

/*
 * Called once a second for each idle session: gives its pages back when it was quiet for a second.
 * For a crowd some at a time, as each takes a system call.
 */
void h2_pages_look(struct h2_pages *p, uint64_t now_ms);

/* Gives back the pages without a session. */
void h2_pages_trim(void);
