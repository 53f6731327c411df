/*
 * history: how many requests there were in each of the last seconds, all workers together, on the
 * scoreboard for the status page. The master has it looked at once a second.
 */
#ifndef H2D_MASTER_HISTORY_H
#define H2D_MASTER_HISTORY_H

struct master;

void history_start(struct master *m);
void history_stop(struct master *m);

#endif
