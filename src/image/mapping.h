/*
 * mapping: sealed memfds, mapped once per process however many image maps share them: the segments
 * that a new image has in common with the one before cost nothing. Any thread may call; a mapping
 * goes with its last user.
 */
#ifndef H2D_IMAGE_MAPPING_H
#define H2D_IMAGE_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping;

enum {
	MAPPING_PAGE = 4096
}; /* the unit that mapping_copy() copies by, whatever the machine's pages are */

/*
 * The mapping of fd, which stays the caller's; its pages are there, so that no reader faults. May
 * block. NULL: *fault says why.
 */
struct mapping *mapping_get(int fd, const char **fault);

/* May block. */
void mapping_put(struct mapping *m);

const uint8_t *mapping_bytes(const struct mapping *m);
uint64_t mapping_size(const struct mapping *m);

/*
 * From now on mapping_get() finds m no more, and maps the same memfd a second time. False: somebody
 * else uses it, and it is as it was. True also if that was so before.
 */
bool mapping_detach(struct mapping *m);

/*
 * Copies the pages of a detached mapping whose bit in pages is set, and lets the memfd go; the
 * copies are where the pages were, the other bytes read as zeros. Other threads may read the copied
 * pages meanwhile. 0, or -errno: it is as it was.
 */
int mapping_copy(struct mapping *m, const uint64_t *pages);

/* How many can be found: for tests. */
unsigned mapping_count(void);

#endif
