/*
 * parcel: parts of bytes on their way from the master to workers that may not read the files they
 * are of, in memory that is sealed, so that a worker that was taken over cannot change what others
 * read. What a part means is decided by the caller.
 */
#ifndef H2D_NET_PARCEL_H
#define H2D_NET_PARCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An empty one, a descriptor that is the caller's, or -errno. */
int parcel_new(const char *name);

/* One more part, of at most UINT32_MAX bytes. 0 or -errno. */
int parcel_put(int fd, uint32_t part, const void *p, size_t n);

/*
 * Behind the last part, rc 0: fd, which nobody can write to any more, or -errno. Any other rc, that
 * of the part that failed: fd is closed, and it is the answer.
 */
int parcel_end(int fd, int rc);

/* One part; false: it cannot be used. The bytes stay until parcel_open() returns. */
typedef bool parcel_take(void *ctx, uint32_t part, const unsigned char *p, size_t n);

/* All parts in fd, which stays the caller's, in their order. False: it is no such parcel, memory is
 * out, or one was not taken. Bytes that were read are wiped. */
bool parcel_open(int fd, parcel_take *take, void *ctx);

#endif
