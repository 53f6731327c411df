/*
 * disk_root: a directory that the path of a root named when it was looked at. It is shared by all
 * files opened below it and lives until the last of them is closed, so that a thread never meets a
 * closed descriptor when the path names another one. References are the loop's; looking is a
 * thread's.
 */
#ifndef H2D_FILES_DISK_ROOT_H
#define H2D_FILES_DISK_ROOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ref.h"
#include "image/beneath.h"

struct disk_root {
	struct ref ref;
	int fd; /* -1: the path named no directory */
	enum beneath_kind kind;
	uint64_t dev, ino; /* 0, 0 without one */
};

/*
 * Looks at path: the directory it names now, one reference held by the caller. NULL if that is
 * still the one of now (NULL: none was looked at yet), if memory is out, or if something but the
 * path itself is in the way: then the caller goes on with now. May block.
 */
struct disk_root *disk_root_look(const char *path, const struct disk_root *now);

#endif
