/*
 * recent: what a worker did in the last second, and how soon it answered in the last ten. The
 * worker calls it once a second and shows the result in its slot of the scoreboard, so that one
 * look at the board has rates, too.
 */
#ifndef H2D_BOARD_RECENT_H
#define H2D_BOARD_RECENT_H

#include "board/board.h"

enum { RECENT_SECONDS = 10 };

/* Counts as they were a second ago, and before; zero it to begin. */
struct recent {
	uint64_t at_us;
	int64_t requests, bytes_out;
	unsigned seconds; /* looked at so far */
	/* The buckets as they were at the last looks: a ring. */
	int64_t first_byte[RECENT_SECONDS][ROUTE_TIMES_BOUNDS + 1];
};

/* The second that ends now, of the process whose slot it is. */
void recent_second(struct recent *r, struct board_slot *slot);

/* The time to the head of the response that a part q (0 to 1) of the requests did not pass, in
 * microseconds; -1 if there were none. */
double recent_quantile(const struct board_recent *r, double q);

/* Reads the last second that another process shows, and adds it to a sum. */
void recent_read(struct board_recent *to, const struct board_slot *from);
void recent_add(struct board_recent *sum, const struct board_recent *r);

/* The last seconds of all workers, the oldest first; how many they are. */
unsigned recent_history(const struct board_head *head, uint32_t to[BOARD_HISTORY]);

#endif
