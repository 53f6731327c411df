/*
 * pack: puts an image together: files go in one by one, sealed memfds come out. Used by the keeper's
 * build; knows nothing of where the files are.
 */
#ifndef H2D_CACHE_PACK_H
#define H2D_CACHE_PACK_H

#include "cache/etag.h"
#include "cache/image.h"

/* A finished image as its maker holds it. */
struct pack_image {
	int fds[2 + IMAGE_SEGMENTS];  /* index, marks, segments: for reading, sealed */
	int nfds;
	uint64_t number;
	uint64_t content;             /* bytes in bodies */
	uint32_t nentries;
	struct image_marks *marks;    /* the only writable mapping */
	size_t marks_size;
};

struct pack_file {
	uint32_t root;
	struct slice path;            /* "/dir/name" */
	struct slice type;            /* of content-type; the same bytes are stored once: they outlive p */
	struct ident ident;
	const struct etag *etag;      /* of content */
	const void *data;             /* ident.size bytes */
};

struct pack;

/* max_size: bytes of content. NULL when memory is out. */
struct pack *pack_new(uint64_t max_size);

/* Whether a file of n bytes still finds room. */
bool pack_has_room(const struct pack *p, uint64_t n);

/* Copies f into the image. 0, or -errno: the build is lost. */
int pack_add(struct pack *p, const struct pack_file *f);

/* Writes index and marks, seals everything. 0, or -errno. Afterwards p can only be freed. */
int pack_finish(struct pack *p, uint64_t number, struct pack_image *img);
void pack_free(struct pack **p);

/* Tells the readers of img that its maker lives. */
void pack_tick(const struct pack_image *img);

/* Closes and unmaps; readers keep what they have. */
void pack_image_close(struct pack_image *img);

#endif
