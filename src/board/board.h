/*
 * board: the scoreboard, shared memory mapped by the master before any fork: one head page that
 * only the master writes and one slot of whole pages per worker process that only that process
 * writes. The master reads slots as hostile data; workers read them for /status.json.
 */
#ifndef H2D_BOARD_BOARD_H
#define H2D_BOARD_BOARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cache_facts.h"
#include "base/counters.h"
#include "base/states.h"
#include "board/board_lines.h"
#include "board/route_times.h"

enum { BOARD_SLOTS = 1024, BOARD_WORDS = 512, BOARD_HISTORY = 60 };

/* Reads a field that another process may be writing. */
#define BOARD_LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

/*
 * Of a worker, in one word: how many connections it has taken from its inbox, ever (wraps), and how
 * many it has that are not an admin's.
 */
#define BOARD_LOAD_OF(taken, live) ((uint64_t)(taken) << 32 | (uint32_t)(live))
#define BOARD_LOAD_TAKEN(load)     ((uint32_t)((load) >> 32))
#define BOARD_LOAD_LIVE(load)      ((uint32_t)(load))

enum board_state {
#define BOARD_STATE(name, text, next, help) BOARD_##name,
#include "board/board_state.def"
	BOARD_STATES
};
extern const struct states board_states;

/* What a worker did lately, as its clock of seconds tells it. */
struct board_recent {
	uint64_t bytes_out; /* in a second */
	uint32_t requests;  /* in a second */
	/* Of those of the last ten seconds: how long until the head of the response. */
	uint32_t first_byte[ROUTE_TIMES_BOUNDS + 1];
};

enum board_count {
#define BOARD_COUNT(name, metric, label, value, help) BOARD_COUNT_##name,
#include "board/board_counts.def"
	BOARD_COUNTS
};

/* Written by one worker (state, counters, words), but for what the master writes at spawn: pid,
 * slot and generation, in memory that is zero, which makes the state BOOT. */
struct board_slot {
	int32_t pid;   /* 0: free */
	uint32_t slot; /* worker slot */
	uint32_t generation;
	uint32_t state; /* enum board_state; worker_go() alone writes it */
	uint64_t image; /* number of the cache image in use, 0 for none */
	uint64_t ticks; /* one a second: it turns */
	uint64_t load;  /* BOARD_LOAD_OF(): for the acceptor, which must not see half of it */
	struct board_recent recent;
	uint32_t full; /* 1: it takes no connection now */
	struct counters counters;
	char words[BOARD_WORDS]; /* last words, of assert or crash, NUL-terminated */
	struct route_times times;
} __attribute__((aligned(4096)));

struct board_head {
	int fds[2];       /* of this memory, in the master: for reading and writing, for reading */
	uint64_t started; /* wall clock, seconds */
	uint32_t generation;
	uint64_t image;      /* number of the newest image, 0 for none */
	uint64_t image_size; /* bytes of content */
	uint64_t image_at;   /* wall clock, seconds: when that image came; 0 for none */
	uint32_t keeper_pid;
	uint32_t balance;              /* enum conf_balance: what chooses the worker */
	uint32_t acceptor_pid;         /* 0: none, as with dispatch = reuseport */
	uint32_t dispatch;             /* enum conf_dispatch */
	uint32_t building;             /* 1: an image of this generation is still to come */
	struct cache_facts cache;      /* as the keeper told last */
	uint64_t counts[BOARD_COUNTS]; /* what the master counts */
	uint32_t retirements;          /* two for each; odd: one is under way */
	struct counters retired;       /* totals of processes that are gone */
	struct counters retired_of[BOARD_SLOTS]; /* the same, by worker slot */
	struct route_times retired_times;
	struct board_lines lines;
	uint32_t history[BOARD_HISTORY]; /* requests of all workers, a second each: a ring */
	uint32_t seconds;                /* that were written there, ever (wraps) */
	uint8_t taken[BOARD_SLOTS]; /* which slots are in use: a slot's own word is not trusted for
				       it */
	uint32_t changes;           /* of taken, ever (wraps) */
	struct {
		uint32_t generation, slot, serial;
	} who[BOARD_SLOTS]; /* whose a slot is, for which the same holds */
} __attribute__((aligned(4096)));

struct board {
	struct board_head head;
	struct board_slot slots[BOARD_SLOTS];
};

/* Maps a zeroed board, shared with children, and keeps its two descriptors. NULL with errno. */
struct board *board_new(void);

/*
 * In a child, before it closes what it does not need: everything becomes read-only for good but own
 * (NULL: all of it). The kernel refuses an mprotect(2) that would undo it, and the descriptors of
 * the board are closed. 0, or -errno.
 */
int board_protect(struct board *b, struct board_slot *own);

/* In the master. */
static inline void board_count(struct board_head *h, enum board_count what)
{
	__atomic_store_n(&h->counts[what], h->counts[what] + 1, __ATOMIC_RELAXED);
}

/* How many slots are free. */
unsigned board_room(const struct board *b);

/* In the master: a free slot, cleared, in state BOOT, its pid still 0; NULL when all are taken. */
struct board_slot *board_take(struct board *b, unsigned slot, uint32_t generation);

/* The next slot in use from *i on, which moves behind it; NULL: there is none. */
const struct board_slot *board_next(const struct board *b, unsigned *i);

/* The process of a worker slot: its page, and a number that no process before it had. */
struct board_worker {
	const struct board_slot *slot; /* NULL: there is none */
	uint32_t serial;
};

/* The workers of a generation, by worker slot; those that are not there are left as they are. */
void board_find(
	const struct board *b, uint32_t generation, struct board_worker *workers, unsigned n);

/* In the master, when the process is reaped: adds its totals to what is retired, frees the slot,
 * sets *s NULL. */
void board_release(struct board *b, struct board_slot **s);

/* In the master: unmaps, closes; sets *b NULL. */
void board_free(struct board **b);

#endif
