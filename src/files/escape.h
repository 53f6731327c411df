/*
 * escape: a symbolic link on the way to a file that leads out of the root, which the configuration
 * does not follow. A thread finds it, the loop logs it: once in a generation, whichever worker
 * meets it, because its author wonders why the file is missing.
 */
#pragma once

#include <stdbool.h>

enum { ESCAPES_MAX = 128 }; /* names in the log of a generation */

/* Logged links: in memory shared by all processes made later. */
struct escapes;

struct escapes *escapes_new(void);
void escapes_free(struct escapes **e);

/*
 * The first one on the way to path, below the directory root: '/d to "../x"', for free(3); NULL:
 * none, or memory is out. May block.
 */
char *escape_find(int root, const char *path);

/* Logs the result of escape_find() below the tree of that path. e may be NULL. */
void escapes_say(struct escapes *e, const char *root, const char *escape);
