/*
 * crash: last words of a process that a signal ends: which signal, where, and in which handler of
 * which request. Each child has them written to its scoreboard slot, where the master finds them.
 * Code of h2d runs in a signal handler here and in ipc/ctl.c, and nowhere else.
 */
#ifndef H2D_BASE_CRASH_H
#define H2D_BASE_CRASH_H

#include <signal.h>
#include <stddef.h>

#include "base/slice.h"

/* From now on the last words go to words, unless there are some already; it must live as long as
 * the process. Also gives the main thread, whose stack may have overflowed, another for them. */
void crash_words_to(char *words, size_t size);

/*
 * For a thread beside the main one, so that its end has words, too: the stack to write them on,
 * which must live as long as the thread, and the signals of its faults, taken out of those that it
 * blocks.
 */
enum { CRASH_STACK = 16 << 10 };
void crash_stack(char stack[CRASH_STACK]);
void crash_unblock(sigset_t *blocked);

/* A call of a handler; the bytes stay the caller's. */
struct crash_call {
	const char *handler;
	struct slice method, target; /* of its request; empty: it is called for none */
	const struct crash_call *outer;
};

/* The call begins, in this thread. Calls nest; call must live until the crash_end() that belongs to
 * it. */
void crash_begin(struct crash_call *call);
void crash_end(void);

/* The innermost call that this thread is in; NULL: none. */
const struct crash_call *crash_doing(void);

/* Puts ", in handler NAME, in the request METHOD TARGET" behind the n bytes of words, as far as
 * size goes, if this thread is in a call. words end in NUL, before and after. For signal handlers,
 * too. */
void crash_tell(char *words, size_t n, size_t size);

#endif
