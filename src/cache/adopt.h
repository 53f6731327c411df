/*
 * adopt: what an earlier keeper's image holds, for the first walk of the next one: a file that is still
 * what it was when that image was made is taken over, with its twins, by reference to the sealed
 * segments: neither read nor compressed. The image is another process's word and checked like it.
 */
#ifndef H2D_CACHE_ADOPT_H
#define H2D_CACHE_ADOPT_H

#include "cache/catalog.h"

struct adopt {
	struct segments *store;
	const struct image_head *head;
	const struct image_marks *marks;
	size_t sizes[IMAGE_FDS];
	int fds[IMAGE_FDS + IMAGE_SEGMENTS];  /* -1: closed, or the store's */
	int nfds;
	struct segment *segments[IMAGE_SEGMENTS]; /* in the store; NULL: not yet needed */
	bool refused[IMAGE_SEGMENTS];
	uint32_t *roots;                      /* per root of ours: theirs plus one, 0: none */
	unsigned nadopted;
};

/* Takes the descriptors, also on failure (which is logged, but for an empty list). NULL: nothing to adopt. */
struct adopt *adopt_new(struct catalog *c, const int *fds, int nfds);

/* Fills f, which is new, if the image knows it. */
bool adopt_file(struct adopt *a, struct catalog *c, struct catalog_file *f, const struct ident *ident);

/* What was taken over stays. */
void adopt_free(struct adopt **a);

#endif
