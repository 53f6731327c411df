/*
 * warm_start: what an earlier keeper's image holds, for the first walk of the next one: a file that
 * is still what it was when that image was made is taken over, with its variants, by reference to
 * the sealed segments: neither read nor compressed. That image comes from another process and is
 * checked as hostile data.
 */
#ifndef H2D_KEEPER_WARM_START_H
#define H2D_KEEPER_WARM_START_H

#include "keeper/catalog.h"

struct warm_start {
	struct segments *store;
	const struct image_head *head;
	const struct image_marks *marks;
	size_t sizes[IMAGE_FDS];
	int fds[IMAGE_FDS + IMAGE_SEGMENTS]; /* -1: closed, or the store's */
	int nfds;
	struct segment *segments[IMAGE_SEGMENTS]; /* in the store; NULL: not yet needed */
	bool refused[IMAGE_SEGMENTS];
	uint32_t *roots; /* per root of ours: theirs plus one, 0: none */
	unsigned nwarm;
};

/* Takes the descriptors, also on failure (which is logged, but for an empty list). NULL: nothing
 * to take over. */
struct warm_start *warm_start_new(struct catalog *c, const int *fds, int nfds);

/* Fills f, which is new, if the image knows it. */
bool warm_start_file(struct warm_start *a, struct catalog *c, struct catalog_file *f,
	const struct file_id *file_id);

/* Frees *a; files that were taken over stay. */
void warm_start_free(struct warm_start **a);

#endif
