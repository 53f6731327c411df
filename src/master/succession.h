/*
 * succession: what a master gives to the program that is to replace it, and takes from the one that
 * it replaces; upgrade/upgrade.h says when. Until the new one has been told to go on nothing is its
 * own: it unlinks nothing, writes no file and tells the service manager nothing.
 */
#ifndef H2D_MASTER_SUCCESSION_H
#define H2D_MASTER_SUCCESSION_H

#include "upgrade/passed.h"

struct master;

void succession_init(struct master *m);

/* Begins an upgrade. What comes of it is in the log and the status file. */
void succession_begin(struct master *m);

/* The master leaves: an upgrade that is under way is given up. */
void succession_abort(struct master *m);

/*
 * Takes what this process was passed (p, and a variable), by an old master or by the service
 * manager. 0, or -1: m is not fit to start, and why was said.
 */
int succession_take(struct master *m, struct passed *p);

/* The first generation stands. True: an old master is told, and has the next word. */
bool succession_ready(struct master *m);

#endif
