/*
 * conf_unknown: what a key or a section may have been meant to be that is not known where it
 * stands: a word of another server, one that belongs elsewhere, a slip of the fingers.
 */
#ifndef H2D_CONF_CONF_UNKNOWN_H
#define H2D_CONF_CONF_UNKNOWN_H

#include "conf/parser.h"

/* A section as messages name it. */
const char *conf_unknown_place(const struct conf_section *section);

/* section has no such key. */
void conf_unknown_key(
	struct parser *p, const struct conf_section *section, const struct conf_tok *key);

/* "KEY WHAT: section \"title\" { ... }", as section is written. */
void conf_unknown_form(struct parser *p, const struct conf_tok *key, const char *what,
	const struct conf_section *section);

/* There is no section of that name; section is the one around it. Skips its block. */
void conf_unknown_section(
	struct parser *p, const struct conf_section *section, const struct conf_tok *key);

/* No handler of that name has keys. */
void conf_unknown_handler(struct parser *p, const struct conf_tok *key, const char *title);

#endif
