/*
 * files_private: the struct behind files.h, for the replies of files/ and the uploads of store/.
 * Nothing else may know its members.
 */
#ifndef H2D_FILES_FILES_PRIVATE_H
#define H2D_FILES_FILES_PRIVATE_H

#include "files/coding_memo.h"
#include "files/disk.h"
#include "files/doubt_client.h"
#include "files/files.h"
#include "files/listing.h"
#include "image/image_map.h"

struct files {
	struct loop *loop;
	struct offload *offload;
	const struct doc_root *roots;
	unsigned nroots;
	struct slice *charsets;  /* of roots: what the types of an image carry; n 0: none */
	unsigned codings;        /* of variants that the keeper makes */
	struct coding_memo memo; /* codings that clients take */
	struct disk *disk;
	struct listings listings;
	struct doubt_client doubts;
	struct segment_maps segments;
	struct image_map *image; /* for new requests, NULL for none */
	struct list mapping;     /* image maps on their way */
	bool no_image;           /* draining: none any more */
	uint64_t *shown;         /* where the number of image is kept, NULL for nowhere */
};

#endif
