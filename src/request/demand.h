/*
 * demand: the combined rules of all locations for a path: each of them must admit the request. Made
 * by the gate for each request of a guarded site; borrows from the site, and never answers.
 */
#ifndef H2D_REQUEST_DEMAND_H
#define H2D_REQUEST_DEMAND_H

#include "request/req.h"

struct demand {
	bool hidden;             /* a name of the path is never served */
	bool in;                 /* by address */
	bool known;              /* by the subject of its certificate */
	unsigned refused;        /* methods, 1 << enum h2d_method */
	const struct auth *auth; /* NULL: no password */
};

/*
 * Combines the rules of the path's location; of a directory's index files, or of the files whose
 * extension the path omits; and of the file beside which one with a coding's extension is. false:
 * memory is out.
 */
bool demand_of(struct demand *d, struct h2d_req *req, struct slice path);

/* True if the method of req is refused: a resumed upload was begun by PUT or POST. */
bool demand_refuses_method(const struct demand *d, const struct h2d_req *req);

#endif
