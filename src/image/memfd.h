/*
 * memfd: anonymous files that processes share and nobody can change any more. The keeper makes and
 * seals them, workers ask whether they are sealed before they map and trust a size.
 */
#ifndef H2D_IMAGE_MEMFD_H
#define H2D_IMAGE_MEMFD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* An empty one, writable. The descriptor, or -errno. */
int memfd_new(const char *name);

/* Writes all n bytes at offset at. 0, or -errno. */
int memfd_write(int fd, const void *p, size_t n, off_t at);

/*
 * Seals content and size for good and answers a descriptor for reading; fd is closed, also on
 * failure. keep_writer: the content stays writable through the mapping that exists. -errno.
 */
int memfd_seal(int fd, bool keep_writer);

/* Its size if it is sealed (content too, or size only); -1 if it is not what it should be. */
off_t memfd_sealed_size(int fd, bool content);

#endif
