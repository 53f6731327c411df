/* files_private: what a worker's files are made of; for files.c and answer.c only. */
#ifndef H2D_CACHE_FILES_PRIVATE_H
#define H2D_CACHE_FILES_PRIVATE_H

#include "cache/disk.h"
#include "cache/files.h"
#include "cache/view.h"

struct files {
	struct loop *loop;
	struct offload *offload;
	const struct files_root *roots;
	unsigned nroots;
	struct slice *uploads;   /* per root: "/dir", the folder of uploads; n 0: none */
	struct disk *disk;
	struct view *view;       /* for new requests, NULL for none */
	struct list mapping;     /* views on their way */
	bool no_image;           /* draining: none any more */
};

#endif
