/*
 * reload: puts a generation into service: it is read, checked, given its sockets and started, and
 * replaces the one before only when all of its workers are up. The first start is the same, without
 * one before. Reload drains the replaced or failed generation.
 */
#pragma once

#include "master/gen.h"

void reload_init(struct master *m);

/* Begins to build a generation. The log, the status file and the board have the outcome. */
void reload_begin(struct master *m);

/* The starting g is up: it serves from now on, and the one before drains. reload_finish(m, true) is
 * due. */
void reload_commit(struct gen *g);

/* Ends the request. */
void reload_finish(struct master *m, bool ok);

/* The starting g has failed: it ends, and the one before stays. */
void reload_fail(struct gen *g, const char *why);
