/*
 * redirects_file: reads the files that `redirects` names, into what requests look up (struct
 * redirects of rules/redirect.h). For sites.c.
 */
#ifndef H2D_SITES_REDIRECTS_FILE_H
#define H2D_SITES_REDIRECTS_FILE_H

#include "conf/conf.h"
#include "rules/redirect.h"
#include "sites/site_maker.h"

/* The redirects of s, in m's memory. NULL: it has none, or after a fault, at a line of the file. */
const struct redirects *redirects_file_read(struct site_maker *m, const struct conf_server *s);

#endif
