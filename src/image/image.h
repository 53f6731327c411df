/*
 * image: the format shared by keeper and workers. An index memfd (head, entries, hash slots,
 * strings; no pointers), body segments, and the marks, which the keeper keeps writing; and life,
 * the write end of a pipe: a process with the image holds it open, and its maker sees when the last
 * one closes it. A worker maps them read-only, runs image_check() once, and then trusts every
 * offset: all except the marks is sealed. Made by keeper/image_build.c.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/file_id.h"
#include "base/slice.h"

#define IMAGE_MAGIC       "h2dimage"
#define IMAGE_MARKS_MAGIC "h2dmarks"

enum {
	IMAGE_VERSION = 5,
	IMAGE_SEGMENT_MAX = 64 << 20, /* bytes of one segment */
	IMAGE_FDS = 3,                /* descriptors before the segments: index, marks, life */
	IMAGE_SEGMENTS = 61,          /* as many as fit into a control message beside those */
	IMAGE_ENTRIES_MAX = 1 << 20,
	IMAGE_ROOTS_MAX = 1 << 16,
	IMAGE_ALIGN = 64,   /* of bodies in their segment */
	IMAGE_VARIANTS = 3, /* by enum coding: br, zstd, gzip */
	IMAGE_ETAG = 16,
	IMAGE_DATE = 29,
	IMAGE_TICK_MS = 250,      /* interval of the keeper's tick */
	IMAGE_TICK_MAX_MS = 1000, /* older: the keeper is dead, the image not used */
};

/* A part of the strings. */
struct image_string {
	uint32_t at, n;
};

/* Bytes in a segment; n 0 of a variant: none. */
struct image_body {
	uint32_t segment, at, n;
	char etag[IMAGE_ETAG]; /* of these bytes, with its quotes */
};

enum {
	IMAGE_VARIES = 1,  /* accept-encoding may select the content: send vary */
	IMAGE_SETTLED = 2, /* settled: file_id shows every later change */
	IMAGE_SIDECAR = 4, /* shifted by the coding: that variant was a file beside it */
	IMAGE_TRIED = 32,  /* shifted by the coding: it was compressed, useful or not */
	IMAGE_FLAGS = 256, /* the end of the flags */
};

struct image_entry {
	struct image_string path; /* "/dir/name", decoded */
	struct image_string type; /* value of content-type, with the root's charset */
	uint32_t root;
	uint32_t flags;         /* IMAGE_VARIES, … */
	struct file_id file_id; /* of the file it was read from */
	int64_t mtime;          /* seconds */
	struct image_body body;
	struct image_body variants[IMAGE_VARIANTS];
	char last_modified[IMAGE_DATE];
};

struct image_root {
	struct image_string path; /* as configured */
};

/* Open addressing with linear probing; at least one slot is free, so that every search ends. */
struct image_slot {
	uint32_t tag;   /* upper half of the hash */
	uint32_t entry; /* number plus one; 0: free */
};

/* Begins the index; entries, slots, roots and strings follow without gaps. */
struct image_head {
	char magic[8];
	uint32_t version;
	uint32_t nentries;
	uint32_t nslots; /* a power of two */
	uint32_t nsegments;
	uint32_t nstrings; /* bytes of strings */
	uint32_t nroots;
	uint64_t number;
	uint64_t seed; /* of the hash */
};

/* The marks: the keeper writes, workers read, both atomically. */
struct image_marks {
	char magic[8];
	uint64_t number;
	uint64_t tick_ms; /* CLOCK_MONOTONIC of the keeper's last sign of life */
	uint64_t nentries;
	uint8_t stale[]; /* per entry; not 0: the file changed, read the disk */
};

static inline const struct image_entry *image_entries(const struct image_head *h)
{
	return (const struct image_entry *)(h + 1);
}

static inline const struct image_slot *image_slots(const struct image_head *h)
{
	return (const struct image_slot *)(image_entries(h) + h->nentries);
}

static inline const struct image_root *image_roots(const struct image_head *h)
{
	return (const struct image_root *)(image_slots(h) + h->nslots);
}

static inline const char *image_strings(const struct image_head *h)
{
	return (const char *)(image_roots(h) + h->nroots);
}

static inline uint64_t image_load(const char *p, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, p, n);
	return v;
}

static inline uint64_t image_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* Hashes (root, path), eight bytes per step; the last step may overlap the one before. */
static inline uint64_t image_hash(uint64_t seed, uint32_t root, struct slice path)
{
	uint64_t h = seed ^ ((uint64_t)root << 32 | path.n) * 0x9e3779b97f4a7c15u;
	const char *p = path.p;
	size_t n = path.n;

	for (; n > 8; p += 8, n -= 8)
		h = image_mix(h ^ image_load(p, 8), 0xd6e8feb86659fd93u) + h;
	if (path.n >= 8)
		h ^= image_load(p + n - 8, 8);
	else if (n >= 4)
		h ^= image_load(p, 4) | image_load(p + n - 4, 4) << 32;
	else if (n > 0)
		h ^= (uint64_t)(uint8_t)p[0] | (uint64_t)(uint8_t)p[n / 2] << 8 |
		     (uint64_t)(uint8_t)p[n - 1] << 16;
	return image_mix(h ^ 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu);
}

/*
 * Checks that an index of size bytes, bodies in segments of these sizes, and marks of marks_size
 * bytes fit together; they may be hostile. NULL, or the fault.
 */
const char *image_check(const void *index, size_t size, const uint64_t *segments,
	unsigned nsegments, const void *marks, size_t marks_size);

/* The index and the marks of an image of another process. */
struct image_index {
	const struct image_head *head; /* NULL: not mapped, as the marks */
	const struct image_marks *marks;
	size_t size, marks_size;
};

/*
 * Maps those of fds, and checks them with image_check(). Their pages are present, so that no reader
 * faults. NULL, or the fault; image_close() follows in any case. May block.
 */
const char *image_open(
	struct image_index *x, const int *fds, const uint64_t *segments, unsigned nsegments);
void image_close(struct image_index *x);

/* The entry of path in a checked index; NULL: none. */
const struct image_entry *image_find(const struct image_head *h, uint32_t root, struct slice path);
