/*
 * top_machine: a server of h2d top: its address, its last status, and its present error. Looks at
 * several run in parallel.
 */
#pragma once

#include <stdbool.h>

#include "tools/top/top_ask.h"
#include "tools/top/top_status.h"

struct top_machine {
	struct top_source source;
	struct top_ask ask;
	struct top_status *status; /* the last status received; NULL: none */
	char error[TOP_ERROR];     /* "": it answered just now */
};

/* source is set. It must not move until top_machine_fini(). */
void top_machine_init(struct top_machine *m);
void top_machine_fini(struct top_machine *m);

/* Begins a look, unless one is under way. */
void top_machine_look(struct top_machine *m);

bool top_machine_is_looking(const struct top_machine *m);

/* Continues a look, if there is one. True: it has just ended, with a status or an error. */
bool top_machine_go(struct top_machine *m);
