/*
 * worker_trim: remembers the most connections, and the most work in a second, and trims when half
 * of the one or most of the other is gone. The memory of a steady load stays.
 */
#include "server/worker_state.h"

#include <malloc.h>

#include "base/counters.h"
#include "base/pool.h"
#include "proto/proto.h"

enum {
	LEAST = 256, /* connections, or work; less is not worth a walk over the heap */
	CALM = 8,    /* a second's work may vary so many times all day */
	AWAY = 3,    /* looks: a crowd that returns sooner finds its memory */
	HEAP_END = 1 << 20,
	PIECE = 65536, /* bytes that count as one request */
};

/*
 * Without these malloc lets both grow to 32 and 64 MiB, by the freed blocks: as much may stay at
 * the end of each thread's heap, where malloc_trim() does not reach.
 */
void worker_trim_start(void)
{
	mallopt(M_MMAP_THRESHOLD, HEAP_END);
	mallopt(M_TRIM_THRESHOLD, HEAP_END);
}

void worker_trim_taken(struct worker *w)
{
	if (w->sessions.nlive > w->trim.crowd)
		w->trim.crowd = w->sessions.nlive;
}

/* The work of the last second; t->work has the most. */
static int64_t work(struct worker_trim *t)
{
	int64_t bytes = counters_get(counters, COUNTER_bytes_in) +
			counters_get(counters, COUNTER_bytes_out);
	int64_t done = counters_get(counters, COUNTER_requests) + bytes / PIECE;
	int64_t n = done - t->done;

	t->done = done;
	if (n > t->work)
		t->work = n;
	return n;
}

void worker_trim_look(struct worker *w)
{
	struct worker_trim *t = &w->trim;
	int64_t n = work(t);
	bool left = t->crowd >= LEAST && w->sessions.nlive <= t->crowd / 2;
	bool calm = t->work >= LEAST && n <= t->work / CALM;

	if (!left && !calm) {
		t->away = 0;
	} else if (++t->away == AWAY) {
		t->away = 0;
		t->crowd = w->sessions.nlive;
		t->work = n;
		pools_trim();
		h2_mem_trim();
		malloc_trim(0);
	}
}
