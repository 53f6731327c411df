/*
 * conf_read: brings configuration files to the parser: opens them, follows include, refuses loops.
 * Called by conf_load.
 */
#ifndef H2D_CONF_CONF_READ_H
#define H2D_CONF_CONF_READ_H

#include "conf/conf_fault.h"

enum {
	CONF_FILE_MAX = 1 << 20, /* bytes of one file */
	CONF_INCLUDE_MAX = 16,   /* files that include each other */
};

/* Reads path into conf, which has its defaults. Faults are all there is of an answer. */
void conf_read_file(struct conf *conf, const char *path, struct conf_faults *faults);

#endif
