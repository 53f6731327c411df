/*
 * doc_root: the document roots as the keeper and the workers know them: each directory once, by a
 * number that both use, and what of the configuration decides what an image holds.
 */
#ifndef H2D_IMAGE_DOC_ROOT_H
#define H2D_IMAGE_DOC_ROOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/prefix_index.h"

struct escapes;    /* files/escape.h */
struct mime_types; /* http/mime.h */

/* One tree. Its strings are borrowed from the configuration, its types from struct trees. */
struct doc_root {
	const char *root;               /* directory */
	const char *charset;            /* of its text files, "" for none */
	const struct mime_types *types; /* of its files; NULL: those of mime.def alone */
	const struct slice *uploads;    /* "/files": folders that uploads go to; "": all of it */
	unsigned nuploads;
	bool precompressed; /* somewhere files beside others are sent for those */
};

struct doc_roots {
	const struct doc_root *roots;
	unsigned nroots;
	uint64_t max_size; /* of an image's content; 0: no image is built */
	uint64_t max_file_size;
	unsigned codings;   /* bit set by enum coding: which compressed variants are made */
	uint64_t rescan_ms; /* how often the keeper looks at everything */
	struct prefix_index uploads; /* folders of uploads, by their real paths */
	struct escapes *escapes;     /* links that the log has named; NULL: none is named */
};

/*
 * Whether path lies in a folder of uploads. There each file is one of its own, and none a variant
 * of another: who may add a file may not be who may change the other.
 */
static inline bool doc_root_is_upload(const struct doc_root *r, struct slice path)
{
	if (__builtin_expect(r->nuploads == 0, true))
		return false;
	for (const struct slice *dir = r->uploads; dir != r->uploads + r->nuploads; dir++)
		if (slice_starts(path, *dir) && (path.n == dir->n || path.p[dir->n] == '/'))
			return true;
	return false;
}

#endif
