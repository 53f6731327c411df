/*
 * proxy_link: connections to the upstream of the handler proxy, which are its worker's: a request
 * has one for as long as it needs it, and those that are idle wait for the next.
 */
#ifndef PROXY_LINK_H
#define PROXY_LINK_H

#include "h2d/handler.h"

struct proxy_link;

/*
 * A connection, of which fn(arg, …) is told all changes: one that is idle, or, fresh or where there
 * is none, a new one that may not be there yet. NULL: it cannot be had.
 */
struct proxy_link *proxy_link_get(
	struct h2d_worker *worker, h2d_watch_fn *fn, void *arg, bool fresh);

/* The request has done with it; good: another one may have it. */
void proxy_link_put(struct proxy_link *l, bool good);

int proxy_link_fd(const struct proxy_link *l);
/* Whether a request has had it before: then the upstream may close it at any moment. */
bool proxy_link_used(const struct proxy_link *l);

/* The handler's worker_init() and worker_exit(). */
int proxy_links_init(struct h2d_worker *worker, void **context);
void proxy_links_exit(void *context);

#endif
