/*
 * sidecar: names of files that lie beside another: NAME.br, NAME.zst and NAME.gz beside NAME. Which
 * of them are there, and of use as its variants, the catalogue knows.
 */
#ifndef H2D_KEEPER_SIDECAR_H
#define H2D_KEEPER_SIDECAR_H

#include <limits.h>

#include "http/coding.h"

/* The coding that path's extension names, and *base: path without it, into path. CODING_NONE: it
 * names none. */
enum coding sidecar_coding(struct slice path, struct slice *base);

/* What lies beside path in that coding: in buf. Empty if it is too long for a path. */
struct slice sidecar_name(struct slice path, enum coding coding, char buf[PATH_MAX]);

#endif
