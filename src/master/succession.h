/*
 * succession: the master's part in an upgrade, on either side. Until the new one is told to serve
 * it owns nothing: it unlinks and writes no file and sends the service manager no message.
 */
#pragma once

#include "upgrade/passed.h"

struct master;

void succession_init(struct master *m);

/* Begins an upgrade. The log and the status file have the outcome. */
void succession_begin(struct master *m);

/* The master ends: gives up an upgrade under way. */
void succession_abort(struct master *m);

/*
 * Takes the descriptors and the variable passed to this process (p), by an old master or by the
 * service manager. 0, or -1: m cannot start, and why was logged.
 */
int succession_take(struct master *m, struct passed *p);

/* The first generation is up. True: an old master is told, and has the next word. */
bool succession_ready(struct master *m);
