/*
 * memfd: anonymous files that processes share and none can change. The keeper makes and seals them,
 * workers check the seals before they map and trust a size.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Makes an empty one, writable. The descriptor, or -errno. */
int memfd_new(const char *name);

/* Makes one of that size, zeroed, with its memory, mapped for writing at *map. The descriptor, or
 * -errno. */
int memfd_map(const char *name, size_t size, void **map);

/* Write and read all n bytes at offset at, of any file. 0; -EAGAIN: there are fewer to read;
 * -errno. */
int memfd_write(int fd, const void *p, size_t n, off_t at);
int memfd_read(int fd, void *p, size_t n, off_t at);

/*
 * Seals content and size for good and returns a descriptor for reading, or -errno; fd is closed,
 * also on failure. keep_writer: the content stays writable through the existing mapping.
 */
int memfd_seal(int fd, bool keep_writer);

/* The size if it is sealed (content too, or size only); else -1. */
off_t memfd_sealed_size(int fd, bool content);
