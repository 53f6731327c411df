/*
 * conf_path: whether what a key names is there, and is what it must be. Each reports at most one
 * fault at pos; paths that are NULL are reported already.
 */
#ifndef H2D_CONF_CONF_PATH_H
#define H2D_CONF_CONF_PATH_H

#include "conf/conf_fault.h"

/* A file that can be read; "" is none. After a fault *path is NULL. */
void conf_path_readable(
	const char *key, char **path, const struct conf_pos *pos, struct conf_faults *faults);

/* So each of a list, of which items may be ""; after a fault its v is NULL. */
void conf_path_readables(const char *key, struct conf_list *paths, const struct conf_pos *pos,
	struct conf_faults *faults);

/* Behind strerror(error) of path: the cure, " (...)", or "" where none is known. Leaves errno
 * alone. */
const char *conf_path_cure(int error, const char *path);

/* Anything at all. */
void conf_path_exists(
	const char *key, const char *path, const struct conf_pos *pos, struct conf_faults *faults);

/* A folder in which everything may lie: "/", and those directly in it. It is no one's to have. */
bool conf_path_is_wide(const char *folder);

void conf_path_directory(
	const char *key, const char *path, const struct conf_pos *pos, struct conf_faults *faults);

/* A file that may or may not exist, but can: its folder is there. */
void conf_path_folder(struct conf *conf, const char *key, const char *path,
	const struct conf_pos *pos, struct conf_faults *faults);

#endif
