/*
 * belonging: an object that a handler has begun for a request and that ends with it: a timer, a job
 * of a thread, a waker, a subscription. A member of its owner, which adds it on the loop and ends
 * it.
 */
#ifndef H2D_REQUEST_BELONGING_H
#define H2D_REQUEST_BELONGING_H

#include "base/list.h"

struct belonging {
	struct list node; /* of the request's */
	/* The request is gone: called after gone(), already off the list. */
	void (*leave)(struct belonging *b);
};

/* all: zeroed by its owner, until the first is added. */
static inline void belonging_add(
	struct list *all, struct belonging *b, void (*leave)(struct belonging *b))
{
	if (all->next == NULL)
		list_init(all);
	b->leave = leave;
	list_append(all, &b->node);
}

static inline bool belonging_any(const struct list *all)
{
	return all->next != NULL && !list_empty(all);
}

#endif
