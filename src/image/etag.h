/*
 * etag: the entity tag of a file (RFC 9110, 8.8.3), always strong. It belongs to the file, not to
 * where it was read: up to max-file-size the hash of its content, above it size and mtime. The memo
 * remembers hashes of files read from disk. One thread per hash, one for the memo.
 */
#ifndef H2D_IMAGE_ETAG_H
#define H2D_IMAGE_ETAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file_id.h"
#include "base/slice.h"

enum {
	ETAG_CONTENT_LEN = 14, /* 12 characters of base64url in quotes */
	ETAG_MAX = 40,
};

struct etag {
	unsigned n;          /* 0: none */
	char text[ETAG_MAX]; /* with its quotes */
};

static inline struct slice etag_slice(const struct etag *e)
{
	return slice_of(e->text, e->n);
}

/* Of a file above max-file-size. */
void etag_of_size(const struct file_id *id, struct etag *e);

enum { ETAG_SHA256 = 32 };

/* Of a smaller one, by the SHA-256 of its content. */
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

/* Bounded memory of content hashes, by identity; what was not asked for long is overwritten. */
enum { ETAG_MEMO_SETS = 1024, ETAG_MEMO_WAYS = 4 };

struct etag_memo;

struct etag_memo *etag_memo_new(void);
void etag_memo_free(struct etag_memo **m);
bool etag_memo_get(struct etag_memo *m, const struct file_id *id, struct etag *e);

/*
 * Remembers e. Not for a file changed less than two seconds before wall_ns, when it was hashed: a
 * further write could leave the same time stamps.
 */
void etag_memo_put(
	struct etag_memo *m, const struct file_id *id, const struct etag *e, int64_t wall_ns);

#endif
