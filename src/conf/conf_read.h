/*
 * conf_read: brings configuration files to the parser: opens them, follows include, refuses loops.
 * Called by conf_load and, for include, by the parser.
 */
#ifndef H2D_CONF_CONF_READ_H
#define H2D_CONF_CONF_READ_H

#include <sys/types.h>

#include "conf/conf_fault.h"

enum {
	CONF_FILE_MAX = 1 << 20, /* bytes of one file */
	CONF_INCLUDE_MAX = 16,   /* files that include each other */
};

/* A file that is being read, and the chain of those that include it. */
struct conf_source {
	const char *name; /* lives as long as the conf: positions point to it */
	const struct conf_source *from;
	dev_t dev;
	ino_t ino;
	unsigned depth;
};

/* Reads path into conf, which has its defaults. Faults are all there is of an answer. */
void conf_read_file(struct conf *conf, const char *path, struct conf_faults *faults);

/* include("pattern") at pos in source. */
void conf_read_include(struct conf *conf, const struct conf_source *source,
	const struct conf_pos *pos, const char *pattern, struct conf_faults *faults);

#endif
