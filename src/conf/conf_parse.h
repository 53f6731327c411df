/*
 * conf_parse: the grammar of h2d.conf. Called by conf_load with the text of each file; stores what
 * it finds through conf_value and conf_table. After a fault it goes on where the next statement
 * begins, so that one mistake is one message and every mistake has one.
 */
#ifndef H2D_CONF_CONF_PARSE_H
#define H2D_CONF_CONF_PARSE_H

#include "conf/parser.h"

enum { CONF_FILE_MAX = 1 << 20 }; /* bytes of one file */

void conf_parse(struct conf *conf, const struct conf_source *source, struct slice text,
	struct conf_faults *faults);

#endif
