/*
 * mapping: sealed memfds, mapped once per process however many image maps share them: the segments
 * that a new image has in common with the one before cost nothing. Any thread may call; a mapping
 * goes with its last user.
 */
#ifndef H2D_IMAGE_MAPPING_H
#define H2D_IMAGE_MAPPING_H

#include <stddef.h>
#include <stdint.h>

struct mapping;

/*
 * The mapping of fd, which stays the caller's; its pages are there, so that no reader faults. May
 * block. NULL: *fault says why.
 */
struct mapping *mapping_get(int fd, const char **fault);

/* May block. */
void mapping_put(struct mapping *m);

const uint8_t *mapping_bytes(const struct mapping *m);
uint64_t mapping_size(const struct mapping *m);

/* How many there are: for tests. */
unsigned mapping_count(void);

#endif
