/*
 * worker_trim: remembers how many connections there were at most, and trims when half of them have
 * left. What a steady load needs stays where it is.
 */
#include "server/worker_trim.h"

#include <malloc.h>

#include "request/body_queue.h"

enum {
	LEAST = 256, /* connections; what fewer leave behind is not worth a walk over the heap */
	AWAY = 3,    /* looks: a crowd that is back sooner finds its memory */
};

void worker_trim_taken(struct worker *w)
{
	if (w->conns.nlive > w->trim.crowd)
		w->trim.crowd = w->conns.nlive;
}

static void trim(struct worker *w)
{
	conn_env_trim(&w->conns);
	h1_trim();
	h2_trim();
	body_queue_trim();
	files_trim(w->files);
	malloc_trim(0);
}

void worker_trim_look(struct worker *w)
{
	if (w->trim.crowd < LEAST || w->conns.nlive > w->trim.crowd / 2) {
		w->trim.away = 0;
	} else if (++w->trim.away == AWAY) {
		w->trim = (struct worker_trim){ .crowd = w->conns.nlive };
		trim(w);
	}
}
