/*
 * top_machine: a server that h2d top looks at: where it is, what it said last, and what is wrong
 * now. Looks at several go on side by side.
 */
#ifndef H2D_TOP_TOP_MACHINE_H
#define H2D_TOP_TOP_MACHINE_H

#include <stdbool.h>

#include "tools/top/top_ask.h"
#include "tools/top/top_status.h"

struct top_machine {
	struct top_source source;
	struct top_ask ask;
	struct top_status *status; /* the status that was heard last; NULL: none */
	char error[TOP_ERROR];     /* "": it was heard just now */
};

/* source is there. It stays where it is until top_machine_fini(). */
void top_machine_init(struct top_machine *m);
void top_machine_fini(struct top_machine *m);

/* Begins a look, unless one is under way. */
void top_machine_look(struct top_machine *m);

bool top_machine_is_looking(const struct top_machine *m);

/* Goes on with a look, if there is one. True: it has ended just now, with a status or an error. */
bool top_machine_go(struct top_machine *m);

#endif
