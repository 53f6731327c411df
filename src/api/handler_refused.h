/*
 * handler_refused: tells the operator, once for each handler, what may have kept a handler from a
 * file, another server or a system call: the sandbox, and the keys that widen it. Called where a
 * handler's code has returned with errno set; on the loop.
 */
#ifndef H2D_API_HANDLER_REFUSED_H
#define H2D_API_HANDLER_REFUSED_H

/* The keys that may help against error, as the end of a line; "" where none does. */
const char *handler_refused_cure(int error);

/* The handler's work has left this errno behind; 0: none. Its name lives as long as the process. */
void handler_refused_look(const char *handler, int error);

#endif
