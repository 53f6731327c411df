/*
 * conf_path: checks that the file of a key exists, with the right type. Each reports at most one
 * fault at pos; NULL paths are reported already.
 */
#pragma once

#include <sys/stat.h>

#include "conf/conf_fault.h"

/* A file that can be read; "": none. After a fault *path is NULL. */
void conf_path_readable(
	const char *key, char **path, const struct conf_pos *pos, struct conf_faults *faults);

/* Does so for each of a list, whose items may be ""; after a fault its v is NULL. */
void conf_path_readables(const char *key, struct conf_list *paths, const struct conf_pos *pos,
	struct conf_faults *faults);

/* The cure after strerror(error) of path, " (...)", or "" if unknown. Keeps errno. */
const char *conf_path_cure(int error, const char *path);

/* Any file, or a directory. False after a fault. */
bool conf_path_look(const char *key, const char *path, struct stat *st, const struct conf_pos *pos,
	struct conf_faults *faults);

/* True for a directory of many uses: "/", and those directly in it. It is never one handler's. */
bool conf_path_is_wide(const char *folder);

void conf_path_directory(
	const char *key, const char *path, const struct conf_pos *pos, struct conf_faults *faults);

/* A file that may be missing, in an existing directory. */
void conf_path_folder(struct conf *conf, const char *key, const char *path,
	const struct conf_pos *pos, struct conf_faults *faults);
