/*
 * pause: what a long step of the keeper calls now and then, so that ticks are written and changes
 * marked meanwhile. The function called may look at the catalogue and mark files in images, and
 * changes nothing else.
 */
#ifndef H2D_KEEPER_PAUSE_H
#define H2D_KEEPER_PAUSE_H

#include <stddef.h>

enum { PAUSE_STEPS = 256 };

struct pause {
	void (*fn)(void *ctx); /* NULL: nobody wants it */
	void *ctx;
	unsigned steps;
};

/* After each of the small steps; p may be NULL. */
static inline void pause_step(struct pause *p)
{
	if (p != NULL && ++p->steps % PAUSE_STEPS == 0 && p->fn != NULL)
		p->fn(p->ctx);
}

#endif
