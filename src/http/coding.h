/*
 * coding: which content codings a client takes, and the best of those there are (RFC 9110, 8.4.1
 * and 12.5.3); and how much it wants what it names in any accept field. Pure.
 */
#ifndef H2D_HTTP_CODING_H
#define H2D_HTTP_CODING_H

#include <limits.h>

#include "http/field.h"

/* In the order of preference among equals. */
enum coding {
	CODING_BR,
	CODING_ZSTD,
	CODING_GZIP,
	CODINGS,                   /* how many */
	CODING_IDENTITY = CODINGS, /* no coding; always to be had */
	CODING_NONE,               /* nothing that the client accepts: 406 */
};

/* "br", "zstd", "gzip" as accept-encoding and content-encoding say it. */
extern const struct slice coding_names[CODINGS];

/* "br", "zst", "gz": the extension of files that lie beside the one they are made of. */
extern const struct slice coding_extensions[CODINGS];

/* Cuts the extension of a coding off the last segment of path, if it has one and a name before it:
 * which coding; CODING_NONE: it has none. */
enum coding coding_beside(struct slice *path);

/* Path with the extension of a coding, in buf. Empty if it is too long for a path. */
struct slice coding_path_beside(struct slice path, enum coding coding, char buf[PATH_MAX]);

/*
 * The coding that the accept-encoding fields among fields choose out of available, a bit set by
 * enum coding (identity need not be in it): the highest weight; among equals the order of enum
 * coding; identity only if its weight, said for it or by "*", is higher than that of any coding, or
 * if no coding is left. "x-gzip" is gzip. A malformed element is skipped; of a name that comes
 * twice the last one counts. No such field: identity.
 */
enum coding coding_choose(const struct field *fields, unsigned n, unsigned available);

/* --- how much a client wants what it names in an accept field (RFC 9110, 12.4.2 and 12.5.1) --- */

enum { ACCEPT_MAX = 1000 };

/* Reads a qvalue, "0.5", and nothing but that: 0 to ACCEPT_MAX. -1 if it is malformed. */
int accept_qvalue(struct slice qvalue);

/*
 * Reads ";q=0.5", with white space where RFC 9110, 12.4.2 has it; nothing at all is ACCEPT_MAX.
 * -1 if it is malformed or something else.
 */
int accept_parameter(struct slice weight);

/*
 * How much the accept fields among fields want type, "text/html", in thousandths: the weight of the
 * most specific range that matches, whatever parameters it has; 0 if none does or it is refused. A
 * malformed range is skipped. No such field: ACCEPT_MAX.
 */
int accept_weight(const struct field *fields, unsigned n, struct slice type);

#endif
