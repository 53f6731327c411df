/* top_table: the page of h2d top for several servers: their sums, and a line for each. */
#pragma once

#include "tools/top/top_machine.h"
#include "tools/top/top_page.h"

/* Draws n machines; one without a status has an error. */
void top_table(struct top_page *p, const struct top_machine *m, unsigned n);
