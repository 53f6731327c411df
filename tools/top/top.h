/*
 * top: `h2d top`, the status of running servers in a terminal. main calls it; it asks them
 * over an admin listener as any client does, and touches no process.
 */
#ifndef H2D_TOP_TOP_H
#define H2D_TOP_TOP_H

#include <stdbool.h>

#include "conf/conf.h"

/* True: h2d top is built in: it takes a library that reads JSON. */
bool top_built(void);

/*
 * where: http://HOST[:PORT] or unix:PATH of each server, NULL behind the last; none: the first
 * admin listener of the configuration that can be asked. once: one look is printed, as when
 * standard output is no terminal. The exit status of the program: of one look, a failure if any is
 * silent.
 */
int top_run(char *const *where, bool once, const struct conf_override *ov);

#endif
