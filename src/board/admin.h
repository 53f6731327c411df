/*
 * admin: what the pages of admin listeners are made with. A page is one file of this folder and one
 * row of routes.def: its handler, of the scope H2D_ON_ADMIN, reads the scoreboard out of
 * req->env->admin and answers with admin_reply().
 */
#ifndef H2D_BOARD_ADMIN_H
#define H2D_BOARD_ADMIN_H

#include "base/strbuf.h"
#include "board/board.h"
#include "request/req.h"

/* The worker's gift to its admin pages; the worker owns it. */
struct admin {
	const struct board *board;
	/* True while the cache image of this worker is kept fresh. */
	bool (*image_fresh)(struct admin *admin);
	/* Has every worker show its connections on the board (board.h): this one at once, the
	 * others soon. May be called as often as one likes. */
	void (*show_connections)(struct admin *admin);
};

/*
 * Answers 200 with a text of that type, which is static. The text is taken, and caches are told not
 * to keep it. 503 where it failed.
 */
void admin_reply(struct h2d_req *req, const char *type, struct strbuf *t);

/* The scoreboard as JSON, the body of /status.json: t is empty before, and failed when memory is
 * out. */
void status_json(const struct board *b, struct strbuf *t);

#endif
