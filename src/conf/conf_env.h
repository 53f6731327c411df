/*
 * conf_env: variables of the environment in the texts of a configuration: ${NAME}, and
 * ${NAME:default} where it is not set, or empty. For parser.c.
 */
#ifndef H2D_CONF_CONF_ENV_H
#define H2D_CONF_CONF_ENV_H

#include "base/slice.h"
#include "conf/conf_fault.h"

/* Stands for the host of a request, in root and other keys of a server: it is no variable of the
 * environment. */
#define CONF_ENV_HOST "${host}"

/*
 * A copy of text in arena with its variables replaced and, if it is a string's, its escapes
 * resolved. NULL after a fault at pos.
 */
char *conf_env_expand(struct arena *arena, struct slice text, bool is_string,
	const struct conf_pos *pos, struct conf_faults *faults);

#endif
