/*
 * handler_refused: tells the operator, once for each handler, what may have kept a handler from a
 * file, another server or a system call: the sandbox, and the keys that widen it. Called where a
 * handler's code has returned with errno set; on the loop.
 *
 * Its open() has the place of the C library's, also for libraries that handlers use (SQLite):
 * Landlock tells no process which path it refused. It calls that one.
 */
#ifndef H2D_API_HANDLER_REFUSED_H
#define H2D_API_HANDLER_REFUSED_H

/* The keys that may help against error, as the end of a line; "" where none does. */
const char *handler_refused_cure(int error);

/* A call of a handler begins in this thread; and what open() has refused it since, last: a path,
 * cut if it is long; "": nothing. */
enum { HANDLER_REFUSED_PATH = 128 };
void handler_refused_begin(void);
const char *handler_refused_path(void);

/* The handler's work has left this errno behind; 0: none; path: what it was refused, or "". Its
 * name lives as long as the process. */
void handler_refused_look(const char *handler, int error, const char *path);

#endif
