/*
 * board: the scoreboard, shared memory mapped by the master before any fork: one head page that only
 * the master writes and one page-aligned slot per worker process that only that process writes. The
 * master reads slots as hostile data; workers read them for /status.json.
 */
#ifndef H2D_SERVER_BOARD_H
#define H2D_SERVER_BOARD_H

#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/cache_facts.h"
#include "base/counters.h"
#include "base/slice.h"

enum { BOARD_SLOTS = 1024, BOARD_WORDS = 512 };

enum board_state { BOARD_FREE, BOARD_BOOT, BOARD_UP, BOARD_DRAIN };

/* Written by one worker (counters, words), but for the first group, which the master writes at spawn. */
struct board_slot {
	int32_t pid;             /* 0: free */
	uint32_t slot;           /* worker slot */
	uint32_t generation;
	uint32_t state;          /* enum board_state; the worker moves it from BOOT on */
	uint64_t image;          /* number of the cache image in use, 0 for none */
	struct counters counters;
	char words[BOARD_WORDS]; /* last words of a failed assertion, NUL-terminated */
} __attribute__((aligned(4096)));

struct board_head {
	uint64_t started;        /* wall clock, seconds */
	uint32_t generation;
	uint64_t image;          /* number of the newest image, 0 for none */
	uint64_t image_size;     /* bytes of content */
	uint32_t keeper_pid;
	uint32_t building;       /* 1: an image of this generation is still to come */
	struct cache_facts cache; /* as the keeper told last */
	struct counters retired; /* totals of processes that are gone */
	uint8_t taken[BOARD_SLOTS]; /* which slots are in use: a slot's own word is not trusted for it */
} __attribute__((aligned(4096)));

struct board {
	struct board_head head;
	struct board_slot slots[BOARD_SLOTS];
};

/* Maps a zeroed board, shared with children. NULL with errno. */
struct board *board_new(void);

/* In a child: everything becomes read-only but own (NULL: nothing stays writable). 0, or -errno. */
int board_protect(struct board *b, struct board_slot *own);

/* How many slots are free. */
unsigned board_room(const struct board *b);

/* In the master: a free slot, cleared, in state BOOT, its pid still 0; NULL when all are taken. */
struct board_slot *board_take(struct board *b, unsigned slot, uint32_t generation);

/* In the master, when the process is reaped: adds its totals to retired, frees the slot, sets *s NULL. */
void board_release(struct board *b, struct board_slot **s);

/* Unmaps; sets *b NULL. */
void board_free(struct board **b);

/* The body of /status.json; p NULL when a is spent. */
struct slice board_json(const struct board *b, struct arena *a);

#endif
