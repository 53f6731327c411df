/*
 * conf_foreign: words and whole files of other servers' configurations. The parser calls it for
 * unknown words; it is pure and knows h2d's keys by conf_foreign.def alone.
 */
#pragma once

#include <stdbool.h>

#include "base/slice.h"

/* Writes h2d's key for a word of another server: "ssl_certificate is certificate in section tls". A
 * word with several rows takes that of section. false: the word has no row, and buf is unchanged.
 */
bool conf_foreign_word(const char *section, struct slice word, char *buf, size_t size);

/* The cure for another server's value of one of h2d's keys; NULL: none. */
const char *conf_foreign_value(const char *key, const char *value);

/*
 * The server whose language text is in, and the first line that shows it: most statements must, and
 * at least two, so that one slip does not make a file foreign. NULL: none.
 */
const char *conf_foreign_file(struct slice text, unsigned *line);
