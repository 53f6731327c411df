/*
 * doc_root: the document roots as the keeper and the workers know them: each directory once, by a
 * number that both use, and what of the configuration decides what an image holds.
 */
#ifndef H2D_IMAGE_DOC_ROOT_H
#define H2D_IMAGE_DOC_ROOT_H

#include <stdint.h>

struct escapes;    /* files/escape.h */
struct mime_types; /* http/mime.h */

/* One tree. Its strings are borrowed from the configuration, its types from struct trees. */
struct doc_root {
	const char *root;               /* directory */
	const char *charset;            /* of its text files, "" for none */
	const struct mime_types *types; /* of its files; NULL: those of mime.def alone */
};

struct doc_roots {
	const struct doc_root *roots;
	unsigned nroots;
	uint64_t max_size; /* of an image's content; 0: no image is built */
	uint64_t max_file_size;
	unsigned codings;        /* bit set by enum coding: which compressed variants are made */
	uint64_t rescan_ms;      /* how often the keeper looks at everything */
	struct escapes *escapes; /* links that the log has named; NULL: none is named */
};

#endif
