/*
 * multipart_head: the header section of one part of multipart/form-data (RFC 7578, 4): its
 * content-disposition and content-type. Pure.
 */
#ifndef H2D_HTTP_MULTIPART_HEAD_H
#define H2D_HTTP_MULTIPART_HEAD_H

#include "base/err.h"
#include "base/slice.h"

enum { MULTIPART_HEAD_MAX = 8192 }; /* bytes of a header section, its blank line included */

struct multipart_part {
	struct slice name;         /* of the form's field; may be empty */
	struct slice filename;     /* decoded, as the client says it: nothing of it is checked */
	bool has_filename;         /* it is a file, if perhaps one with an empty name */
	struct slice content_type; /* as it came; empty: the part has none */
};

/*
 * head: field lines, each with its CRLF, without the blank line. It is decoded in place: the slices
 * of part point into it. ERR_MULTIPART_HEAD: malformed; ERR_MULTIPART_DISPOSITION: there is not one
 * content-disposition of type form-data with a name; ERR_MULTIPART_CODING: the content is coded
 * (content-transfer-encoding; RFC 7578, 4.7 deprecates it).
 *
 * Names: of quoted-pairs only \" and \\ are undone, as browsers send a backslash as it is; %22, %0D
 * and %0A are, as HTML writes a quotation mark, CR and LF in names. filename* (RFC 8187, UTF-8
 * alone) wins over filename. A parameter that is there twice is malformed.
 */
const struct err *multipart_head_parse(char *head, size_t n, struct multipart_part *part);

#endif
