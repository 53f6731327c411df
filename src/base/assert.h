/*
 * assert: "cannot happen", always compiled in. A failed H2D_ASSERT is our bug: it writes its last
 * words to the buffer of the process (in its scoreboard slot), prints them, and aborts. Never for
 * bad input and never for a failing machine; those are errors (err.h).
 */
#pragma once

#include <stddef.h>

#define H2D_ASSERT(x) \
	(__builtin_expect(!!(x), 1) ? (void)0 : assert_fail(#x, __FILE__, __LINE__, __func__))

/* Sets a second place for the crash report (a NUL-terminated copy), besides stderr; buf must live
 * as long as the process. */
void assert_last_words_to(char *buf, size_t size);

/* Ends the process with this crash report. */
_Noreturn void assert_end(const char *text) __attribute__((cold, noinline));

_Noreturn void assert_fail(const char *what, const char *file, int line, const char *func)
	__attribute__((cold, noinline));
