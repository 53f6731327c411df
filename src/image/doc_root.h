/*
 * doc_root: the document roots for the keeper and the workers: each directory once, by a number
 * that both use, and the settings that decide an image's content.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/prefix_index.h"

struct escapes;    /* files/disk.h */
struct mime_types; /* http/mime.h */

/* One tree. Its strings are borrowed from the configuration, its types from struct trees. */
struct doc_root {
	const char *root;               /* the directory */
	const char *charset;            /* of its text files, "": none */
	const struct mime_types *types; /* of its files; NULL: mime.def alone */
	const struct slice *uploads;    /* "/files": directories of uploads; "": all of it */
	unsigned nuploads;
	bool precompressed;        /* files beside others are sent for those in some location */
	unsigned refused_codings;  /* bit set by enum coding: variants that no location sends */
	unsigned nowners;          /* servers, and locations with a root of their own */
	struct prefix_index parts; /* an only owner's locations; of: refused_codings of each */
};

struct doc_roots {
	const struct doc_root *roots;
	unsigned nroots;
	uint64_t max_size; /* of an image's content; 0: no image */
	uint64_t max_file_size;
	unsigned codings;            /* bit set by enum coding: compressed variants to make */
	uint64_t rescan_ms;          /* interval of the keeper's full scans */
	struct prefix_index uploads; /* directories of uploads, by their real paths */
	struct escapes *escapes;     /* logged links; NULL: none is logged */
};

/*
 * True if path is in a directory of uploads. There no file is a variant of another: a client that
 * may add a file may not be allowed to change the other.
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

/* The variants of the file at path that its location does not send, as far as the path tells. */
static inline unsigned doc_root_refused(const struct doc_root *r, struct slice path)
{
	const struct prefix_entry *e = r->parts.n > 0 ? prefix_index_find(&r->parts, path) : NULL;

	while (e != NULL && path.n > e->prefix.n && path.p[e->prefix.n - 1] != '/' &&
		path.p[e->prefix.n] != '/')
		e = prefix_index_outer(&r->parts, e);
	return e != NULL ? e->of : r->refused_codings;
}
