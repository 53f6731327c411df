/*
 * demand: what the locations that have a say about a path ask of a request, put together: each of
 * them must let it in. Made by the gate for each request of a site that is guarded; borrows from
 * the site, answers nothing.
 */
#ifndef H2D_REQUEST_DEMAND_H
#define H2D_REQUEST_DEMAND_H

#include "request/req.h"

struct demand {
	bool hidden;             /* a name of path is none that is served */
	bool in;                 /* by address */
	bool known;              /* by the subject of its certificate */
	unsigned refused;        /* methods, 1 << enum h2d_method */
	const struct auth *auth; /* NULL: nobody is asked */
};

/*
 * By the rules of the path's location; of the index files that a directory may be answered with, or
 * of the files whose extension the path leaves out; and of the file that one with the extension of
 * a coding stands beside. false: memory is out.
 */
bool demand_of(struct demand *d, struct h2d_req *req, struct slice path);

/* Whether req must not come with its method: what goes on with an upload came with PUT or POST. */
bool demand_refuses_method(const struct demand *d, const struct h2d_req *req);

#endif
