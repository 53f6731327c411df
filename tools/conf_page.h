/*
 * conf_page: what people read about the keys of conf.def: conf/h2d.conf, and the list of keys in
 * h2d.conf(5).
 */
#pragma once

#include <stdio.h>

/* Writes the commented example file, and the option list of h2d.conf(5) in mdoc. */
void conf_page_example(FILE *out);
void conf_page_manual(FILE *out);
