/*
 * launch: fills the place of a child with a process: takes the scoreboard slot that its kind
 * needs, starts it, and sends it the present image.
 */
#pragma once

#include "master/gen.h"

/* Gives each child of g its timers; before the first launch. */
void launch_init(struct gen *g, const struct child_env *env);

/* Starts c's process. 0, or -1 (logged): then it is tried again unless launch_cancel() is
 * called. */
int launch(struct child *c);

/* Starts c's process in ms. */
void launch_later(struct child *c, unsigned ms);
void launch_cancel(struct child *c);
