/*
 * crash: the report of a process that a signal ends: the signal, the place, and the handler and
 * request. Each child writes them to its scoreboard slot, where the master finds them. Only here
 * and in ipc/ctl.c does code of h2d run in a signal handler.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>

#include "base/slice.h"

/* Directs the crash report to words, unless words has one; words must live as long as the
 * process. Also gives the main thread a second stack for it, because its own may have overflowed.
 */
void crash_words_to(char *words, size_t size);

/*
 * Last words of another thread than the main one: gives it the stack to write them on, which must
 * live as long as the thread.
 */
enum { CRASH_STACK = 16 << 10 };
void crash_stack(char stack[CRASH_STACK]);

/*
 * Starts a thread with a stack of that many bytes. The loop takes all signals: the thread takes
 * only those of its own faults. 0, or -errno.
 */
int crash_thread(pthread_t *thread, size_t stack, void *(*run)(void *arg), void *arg);

/* A call of a handler; the caller owns the bytes. */
struct crash_call {
	const char *handler;
	struct slice method, target; /* of its request; empty: without a request */
	const struct crash_call *outer;
};

/* Begins a call in this thread. Calls nest; call must live until the crash_end() of it. */
void crash_begin(struct crash_call *call);
void crash_end(void);

/* The innermost call of this thread; NULL: none. */
const struct crash_call *crash_doing(void);

/* Appends ", in handler NAME, in the request METHOD TARGET" to the n bytes of words, cut to size,
 * if this thread is in a call. words end in NUL, before and after. For signal handlers, too. */
void crash_tell(char *words, size_t n, size_t size);
