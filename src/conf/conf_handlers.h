/*
 * conf_handlers: what is asked of the sections handler "NAME" { … }: values, for handlers, and the
 * paths that these open, for checks and for the sandbox.
 */
#ifndef H2D_CONF_CONF_HANDLERS_H
#define H2D_CONF_CONF_HANDLERS_H

#include "base/conf_pos.h"
#include "conf/conf_fault.h"
#include "conf/conf_table.h"

/* The kind is KEY_NONE where there is no such section or key. */
key_value_fn conf_handlers_value;

/* A path that a handler reads or writes, absolute, and where it is set. */
typedef void conf_handlers_path_fn(
	void *ctx, const struct conf_row *row, const char *path, const struct conf_pos *at);

/* Calls fn for each of them that is not empty. */
void conf_handlers_paths(const struct conf *conf, conf_handlers_path_fn *fn, void *ctx);

/*
 * Writes the folder that path, which a handler writes, takes: path itself, or, where it is a file
 * or nothing yet, the folder around it, in which a database has its journal. False: it is too long.
 */
bool conf_handlers_folder(const char *path, char *buf, size_t size);

/* Paths are there, and none of them lets workers write all over the machine. */
void conf_handlers_check(struct conf *conf, struct conf_faults *faults);

#endif
