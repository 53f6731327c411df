/*
 * conf_handlers: reads the sections handler "NAME" { … }: values, for handlers, and their paths,
 * for checks and for the sandbox.
 */
#pragma once

#include "base/conf_pos.h"
#include "conf/conf_fault.h"
#include "conf/conf_table.h"

/* The kind is KEY_NONE if there is no such section or key. */
key_value_fn conf_handlers_value;

/* A path that a handler reads or writes, absolute, and its line. */
typedef void conf_handlers_path_fn(
	void *ctx, const struct conf_row *row, const char *path, const struct conf_pos *at);

/* Calls fn for each of them that is not empty. */
void conf_handlers_paths(const struct conf *conf, conf_handlers_path_fn *fn, void *ctx);

/*
 * Writes the directory that a handler's writable path needs: path itself, or, if it is a file or
 * missing, its parent, in which a database has its journal. False: it is too long.
 */
bool conf_handlers_folder(const char *path, char *buf, size_t size);

/* Checks that paths exist, and that none lets workers write all over the machine. */
void conf_handlers_check(struct conf *conf, struct conf_faults *faults);
