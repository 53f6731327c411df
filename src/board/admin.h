/*
 * admin: a page of admin listeners is one file of this directory and one row of routes.def: its
 * handler, of the scope H2D_ON_ADMIN, reads the scoreboard out of req->env->admin.
 */
#pragma once

#include "base/strbuf.h"
#include "board/board.h"
#include "request/req.h"

/* A worker's data for its admin pages; the worker owns it. */
struct admin {
	const struct board *board;
	/* True while the cache image of this worker is kept fresh. */
	bool (*image_fresh)(struct admin *admin);
	/* Makes every worker show its connections on the board (board.h): this one at once, the
	 * others soon. May be called any number of times. */
	void (*show_connections)(struct admin *admin);
};

/*
 * Answers 200 with a text of that type, which is static. Takes the text, and forbids caches to
 * store it. 503 if it failed.
 */
void admin_reply(struct h2d_req *req, const char *type, struct strbuf *t);

/* The scoreboard as JSON, the body of /status.json: t is empty before; failed when memory is
 * out. */
void status_json(const struct board *b, struct strbuf *t);
