/* worker_conns: the worker's connections on the scoreboard, for GET /status/connections. */
#ifndef H2D_SERVER_WORKER_CONNS_H
#define H2D_SERVER_WORKER_CONNS_H

struct worker;

/* Writes the worker's table (board/board_conns.h). The master asks for it: CTL_SHOW. */
void worker_conns_show(struct worker *w);

/* Does so for an admin page of this worker, and asks the master to have the other workers do it. */
void worker_conns_ask(struct worker *w);

#endif
