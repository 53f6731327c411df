/*
 * supervise: what the reports about processes mean for their generation: that all are up puts it
 * into service, a death before that fails the reload, a later one starts another process, and the
 * last death of a generation that drains ends it. All of that is decided here and nowhere else.
 */
#ifndef H2D_MASTER_SUPERVISE_H
#define H2D_MASTER_SUPERVISE_H

#include "master/child.h"

extern const struct child_ops supervise_ops;

#endif
