/*
 * etag: the entity tag of a file (RFC 9110, 8.8.3): the hash of its content; for a file too long
 * for an image its size and time, weak while a further write might not change the time. One thread
 * per hash.
 */
#pragma once

#include <stddef.h>

#include "base/file_id.h"
#include "base/slice.h"

enum {
	ETAG_CONTENT_LEN = 16, /* 12 characters of base64url in braces and quotes */
	ETAG_MAX = 48,
};

struct etag {
	unsigned n;          /* 0: none */
	char text[ETAG_MAX]; /* with its quotes */
};

static inline struct slice etag_slice(const struct etag *e)
{
	return slice_of(e->text, e->n);
}

/* By its size and time; seen_ns: file_id_clock_ns() just before id was taken. form: of several of
 * one file, each with its own tag. */
void etag_of_file(const struct file_id *id, int64_t seen_ns, struct slice form, struct etag *e);

enum { ETAG_SHA256 = 32 };

/* By the SHA-256 of the content. */
void etag_of_sha256(const unsigned char sum[ETAG_SHA256], struct etag *e);

/* Hashing content, in pieces; reusable after each etag_hash_end(). */
struct etag_hash;

/* NULL when memory is out. */
struct etag_hash *etag_hash_new(void);
void etag_hash_free(struct etag_hash **h);
/* 0, or -ENOMEM when the library fails. */
int etag_hash_begin(struct etag_hash *h);
int etag_hash_add(struct etag_hash *h, const void *p, size_t n);
int etag_hash_end(struct etag_hash *h, struct etag *e);

/* The tag of n bytes in memory. 0, or -ENOMEM. */
int etag_of_bytes(const void *p, size_t n, struct etag *e);

/* The tag of the first n bytes of fd. 0, -EAGAIN if there are fewer, -errno. May block. */
int etag_of_fd(int fd, uint64_t n, struct etag *e);
