/*
 * multipart: parses the content of a multipart/form-data request (RFC 7578; RFC 2046, 5.1), piece
 * by piece. Pure: it never allocates, and its state has a constant size.
 *
 *	err = multipart_init(&m, content_type, parts_max);
 *	for each piece, last: the last one (it may be empty):
 *		while ((event = multipart_next(&m, &piece, last)) is none of MORE, DONE, BAD)
 *			use it, or stop and go on with the same piece later
 *
 * The events are (BEGIN DATA* END)* DONE, with MORE whenever a piece is used up, or BAD, which is
 * always the last one.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "http/multipart.h"

enum {
	MULTIPART_HEAD_MAX = 8192,   /* bytes of a header section, its blank line included */
	MULTIPART_BOUNDARY_MAX = 70, /* bytes (RFC 2046, 5.1.1) */
	MULTIPART_PADDING_MAX = 64,  /* blanks after a boundary that are always accepted */
};

enum multipart_event {
	MULTIPART_MORE,  /* *piece is used up, and the next one is needed */
	MULTIPART_BEGIN, /* a part begins: m->part */
	MULTIPART_DATA,  /* m->data, never empty, is the next of the part's content */
	MULTIPART_END,   /* the part is complete */
	MULTIPART_DONE,  /* the final boundary was seen; *piece is used up, as are later ones */
	MULTIPART_BAD,   /* the reason is in m->err; the current part will not be complete */
};

struct multipart_part {
	struct slice name;         /* of the form's field; may be empty */
	struct slice filename;     /* decoded, as the client sent it: unchecked */
	bool has_filename;         /* a file, perhaps with an empty name */
	struct slice content_type; /* as it came; empty: none */
};

/* The line of a boundary without its LF: CRLF "--" boundary "--" blanks CR. */
enum { MULTIPART_LINE_MAX = 2 + 2 + MULTIPART_BOUNDARY_MAX + 2 + MULTIPART_PADDING_MAX + 1 };

struct multipart {
	/* For the caller. */
	struct multipart_part part; /* from BEGIN until the call after END; points into head */
	struct slice data;          /* until the next call; points into the piece, or into m */
	const struct err *err;      /* of BAD */

	/* For multipart.c. */
	int state;
	bool in_part; /* after BEGIN, before END */
	unsigned parts_left;
	size_t nline, nhead, ndelimiter;
	size_t unreal; /* bytes of line that were not in the content: the CRLF before the first */
	char delimiter[2 + 2 + MULTIPART_BOUNDARY_MAX]; /* CRLF "--" boundary */
	char line[MULTIPART_LINE_MAX];                  /* held back: it may become a boundary */
	char head[MULTIPART_HEAD_MAX];
};

/*
 * content_type: the request's header; not needed afterwards. ERR_MULTIPART_TYPE if it is not
 * multipart/form-data, ERR_MULTIPART_BOUNDARY if its boundary is missing or invalid. More parts
 * than parts_max, files or not, are refused.
 */
const struct err *multipart_init(
	struct multipart *m, struct slice content_type, unsigned parts_max);

/*
 * Cuts the next event off *piece, whose bytes the caller keeps in place until the next call. last:
 * *piece ends the request's content. With last there is no MORE.
 */
enum multipart_event multipart_next(struct multipart *m, struct slice *piece, bool last);

/*
 * head: header lines, each with its CRLF, without the blank line. It is decoded in place: the
 * slices of part point into it. ERR_MULTIPART_HEAD: malformed; ERR_MULTIPART_DISPOSITION: there is
 * not one content-disposition of type form-data with a name; ERR_MULTIPART_CODING: the content is
 * coded (content-transfer-encoding; RFC 7578, 4.7 deprecates it).
 *
 * Names: of quoted-pairs only \" and \\ are decoded, as browsers do not escape a backslash; %22,
 * %0D and %0A are, which HTML uses for a quotation mark, CR and LF in names. filename* (RFC 8187,
 * UTF-8 alone) overrides filename. A duplicate parameter is malformed.
 */
const struct err *multipart_head_parse(char *head, size_t n, struct multipart_part *part);
