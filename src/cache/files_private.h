/* files_private: what a worker's files are made of; for files.c and answer.c only. */
#ifndef H2D_CACHE_FILES_PRIVATE_H
#define H2D_CACHE_FILES_PRIVATE_H

#include "cache/disk.h"
#include "cache/files.h"
#include "cache/view.h"
#include "http/coding_memo.h"

struct files {
	struct loop *loop;
	struct offload *offload;
	const struct files_root *roots;
	unsigned nroots;
	unsigned codings;        /* of twins that the keeper makes */
	struct coding_memo memo; /* what clients take */
	struct disk *disk;
	struct view *view;       /* for new requests, NULL for none */
	struct list mapping;     /* views on their way */
	bool no_image;           /* draining: none any more */
	uint64_t *shown;         /* where the number of view is kept, NULL for nowhere */
};

#endif
