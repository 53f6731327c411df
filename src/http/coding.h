/*
 * coding: the content codings a client accepts, and the best available one (RFC 9110, 8.4.1 and
 * 12.5.3); and the weights of any accept header. Pure.
 */
#pragma once

#include <limits.h>

#include "http/field.h"

/* Ordered by preference among equal weights. */
enum coding {
	CODING_BR,
	CODING_ZSTD,
	CODING_GZIP,
	CODINGS,                   /* number of codings */
	CODING_IDENTITY = CODINGS, /* no coding; always available */
	CODING_NONE,               /* none that the client accepts: 406 */
};

/* "br", "zstd", "gzip": names in accept-encoding and content-encoding. */
extern const struct slice coding_names[CODINGS];

/* "br", "zst", "gz": extensions of files beside their originals. */
extern const struct slice coding_extensions[CODINGS];

/* Cuts a coding's extension off the last segment of path, if it has one and a name before it: the
 * coding; CODING_NONE: none. */
enum coding coding_beside(struct slice *path);

/* Path with the extension of a coding, in buf. Empty if it is too long for a path. */
struct slice coding_path_beside(struct slice path, enum coding coding, char buf[PATH_MAX]);

/*
 * The coding that the accept-encoding headers among fields select from available, a bit set by enum
 * coding (identity need not be in it): the highest weight; among equals the order of enum coding;
 * identity only if its weight, its own or by "*", is higher than that of any coding, or if no
 * coding is left. "x-gzip" is gzip. An element with a malformed weight is skipped; of duplicate
 * names the last one counts. Without the header: identity.
 */
enum coding coding_choose(const struct field *fields, unsigned n, unsigned available);

/* --- weights in accept headers (RFC 9110, 12.4.2 and 12.5.1) --- */

enum { ACCEPT_MAX = 1000 };

/* Reads a qvalue, "0.5", and no more: 0 to ACCEPT_MAX. -1 if it is malformed. */
int accept_qvalue(struct slice qvalue);

/*
 * The weight of type, "text/html", by the accept headers among fields, in thousandths: that of the
 * most specific range that matches, with any parameters; 0 if none does or it is refused. A
 * malformed range is skipped. Without the header: ACCEPT_MAX.
 */
int accept_weight(const struct field *fields, unsigned n, struct slice type);
