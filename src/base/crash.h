/*
 * crash: last words of a process that a signal ends: which signal, where, and which request was
 * being handled. Each child has them written to its scoreboard slot, where the master finds them.
 * The one place in which code of h2d runs in a signal handler.
 */
#ifndef H2D_BASE_CRASH_H
#define H2D_BASE_CRASH_H

#include <stddef.h>

#include "base/slice.h"

/* From now on the last words go to words, unless there are some already; it must live as long as
 * the process. For the main thread, whose stack may have overflowed. */
void crash_words_to(char *words, size_t size);

/* What the main thread is about to do for a request, until crash_done(); the bytes stay the
 * caller's. */
void crash_doing(struct slice method, struct slice target);
void crash_done(void);

#endif
