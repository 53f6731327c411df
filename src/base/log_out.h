/*
 * log_out: writes whole lines to a descriptor, never waiting for its reader. The error log and the
 * access log are written with it. A descriptor may be shared with other processes (a terminal, the
 * pipe of a supervisor), and O_NONBLOCK belongs to the open file description that all of them
 * have, so it is never set on one that was inherited: log_out_own() opens another one.
 */
#ifndef H2D_BASE_LOG_OUT_H
#define H2D_BASE_LOG_OUT_H

#include <stdbool.h>
#include <stddef.h>

struct log_out {
	bool torn; /* the last write ended inside a line: the next one begins a line of its own */
};

/*
 * Writes of the lines p[0..n), which end with a newline, as many as fit now: the bytes of those
 * lines. Less than n: errno says why, and nothing is half written, or o->torn says that it is.
 */
size_t log_out_write(struct log_out *o, int fd, const char *p, size_t n);

/*
 * Replaces a standard stream that is a pipe or a terminal by a non-blocking description of this
 * process and its children alone. Where the system refuses, the stream stays as it is.
 */
void log_out_own(int fd);

#endif
