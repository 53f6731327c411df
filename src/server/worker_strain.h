/*
 * worker_strain: how hard a worker has it: which share of a processor it takes, and how late its
 * loop is. Only where a listener tells a balancer of it (haproxy-agent).
 */
#ifndef H2D_SERVER_WORKER_STRAIN_H
#define H2D_SERVER_WORKER_STRAIN_H

struct worker;

/* Measures from now on, and shows it on the scoreboard, if there is such a listener. */
void worker_strain_start(struct worker *w);
void worker_strain_stop(struct worker *w);

/* Tells who connected to such a listener, and closes fd. */
void worker_strain_answer(struct worker *w, int fd);

#endif
