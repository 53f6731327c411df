/*
 * board_view: the scoreboard at one moment, by worker slot: what each slot's processes, living and
 * gone, have counted. A copy in the memory of the caller, which stays as it is when a worker dies
 * meanwhile. Nonsense from a damaged process is shown as it is, and harms no reader.
 */
#ifndef H2D_BOARD_BOARD_VIEW_H
#define H2D_BOARD_BOARD_VIEW_H

#include "board/board.h"

struct board_view_slot {
	bool used;       /* some process has held it */
	unsigned living; /* processes that hold it now: one, or some of older generations too */
	uint64_t image;  /* the oldest that one of them uses; 0: one uses none */
	uint64_t memory, descriptors; /* of the living; 0: not known */
	struct counters n;            /* gauges of the living, totals of all */
};

struct board_view {
	struct counters sum;      /* over all slots */
	struct route_times times; /* over all slots, too */
	struct server_counts servers;
	struct handler_counts handlers;
	unsigned states[BOARD_STATES]; /* how many processes are in each */
	unsigned nslots;               /* the highest used, and one */
	struct board_view_slot slots[BOARD_SLOTS];
};

/* NULL when memory is out. */
struct board_view *board_view_new(const struct board *b);

/* Sets *v NULL. */
void board_view_free(struct board_view **v);

#endif
