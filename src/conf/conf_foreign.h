/*
 * conf_foreign: what operators of other servers write: their words, and whole files of theirs. The
 * parser calls it for what it does not know; it is pure and knows h2d's keys by conf_foreign.def
 * alone.
 */
#ifndef H2D_CONF_CONF_FOREIGN_H
#define H2D_CONF_CONF_FOREIGN_H

#include <stdbool.h>

#include "base/slice.h"

/*
 * Writes h2d's key for a word of another server, or for a former name of a key: "ssl_certificate is
 * certificate in section tls". A word with several rows takes that of section. false: the word has
 * no row, and buf is unchanged.
 */
bool conf_foreign_word(const char *section, struct slice word, char *buf, size_t size);

/* The cure for a value of one of h2d's keys that is another server's; NULL: it is none. */
const char *conf_foreign_value(const char *key, const char *value);

/*
 * The server in whose language text is written, and the first line that tells: most of the
 * statements must be, and two at least, so that one slip does not make a file foreign. NULL: none.
 */
const char *conf_foreign_file(struct slice text, unsigned *line);

#endif
