/*
 * catalog: the keeper's knowledge of the trees: every directory, every file for the images, its
 * verified facts, and its place in images that workers may hold. scan, reader and variants report
 * to it; it reads no file itself. All changes pass here, so that every live image is marked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/file_id.h"
#include "base/list.h"
#include "base/slice.h"
#include "http/coding.h"
#include "http/mime.h"
#include "image/doc_root.h"
#include "image/etag.h"
#include "image/image.h"

/*
 * pause: a function that a long step of the keeper calls regularly, so that ticks are written and
 * changes marked meanwhile. It may read the catalogue and mark files in images only.
 */

enum { PAUSE_STEPS = 256 };

struct pause {
	void (*fn)(void *ctx); /* NULL: none */
	void *ctx;
	unsigned steps;
};

/* Called after each small step; p may be NULL. */
static inline void pause_step(struct pause *p)
{
	if (p != NULL && ++p->steps % PAUSE_STEPS == 0 && p->fn != NULL)
		p->fn(p->ctx);
}

/*
 * segment: the memfds of bodies, and their bytes in use. A segment is written to its end, sealed,
 * and never changed: further bytes go into another segment. It is freed when no body of the
 * catalogue and no image is left in it. One thread of the keeper calls it.
 */

struct segment {
	struct list node;   /* of the store */
	struct list bodies; /* bodies in use */
	int fd;             /* read-only once it is sealed, until then read-write */
	bool sealed;
	uint64_t used;   /* bytes written */
	uint64_t live;   /* bytes of bodies in use, each rounded up to IMAGE_ALIGN */
	unsigned images; /* its images that workers may hold */
	uint32_t number; /* in the image being made: image_build.c's own */
};

/* Bytes in a segment; may be moved to another one. */
struct segment_body {
	struct list node;
	struct segment *segment;
	uint32_t at, n;
	char etag[IMAGE_ETAG];
};

struct segments {
	struct list all;
	struct segment *open; /* the one being written; NULL: none */
	unsigned n;
	uint64_t bytes;      /* of all of them */
	uint64_t indexes;    /* bytes of the indexes of all live images: image_build.c counts */
	uint64_t index_next; /* most bytes of the next index: catalog.c counts */
	uint64_t bytes_max;  /* of segments and indexes: the limit for writing */
	uint64_t spare;      /* of those: reserved for moves, or a full store could never be
			      * compacted */
	uint64_t size;       /* a larger one contains a single body */
};

/* The room of n bytes in a segment. */
static inline uint64_t segment_room(uint64_t n)
{
	return (n + IMAGE_ALIGN - 1) & ~(uint64_t)(IMAGE_ALIGN - 1);
}

/*
 * Bytes that fit for certain into the segments of one image, of that size each, when bodies have up
 * to max_body: a segment ends if the next body does not fit.
 */
uint64_t segments_hold(uint64_t segment, uint64_t max_body);

/* The part of max_size that fits. */
uint64_t segments_max_size(uint64_t max_size, uint64_t max_body);

/* For bodies and an index of max_size bytes: twice that may be live. */
void segments_init(struct segments *s, uint64_t max_size);

/* No body may be left. Readers keep theirs. */
void segments_fini(struct segments *s);

/* True if n bytes more leave room for moves, for the next index and for the one after it. */
bool segments_have_room(const struct segments *s, uint64_t n);

/* True if the next index fits beside the live bytes and those moved for it. */
bool segments_fit_index(const struct segments *s);

/*
 * Writes n bytes of data: *out is the new body. -EAGAIN: too many live bytes or segments, until
 * some are freed. Another -errno: the machine is short of memory or descriptors.
 */
int segments_put(struct segments *s, const void *data, size_t n, const struct etag *etag,
	struct segment_body **out);

/* Drops the body and sets it NULL. */
void segments_drop(struct segments *s, struct segment_body **b);

/* Copies all n bytes of b to to. 0, or -errno. */
int segments_read(const struct segment_body *b, void *to);

/*
 * Moves the bodies of a segment that is a quarter unused, or small beside the last one, to the one
 * being written: so there are never many. A part at a time: at most about s->size bytes are moved,
 * in a long step. buf has room for the largest body; pause may be NULL. 0, or -errno; unmoved
 * bodies stay.
 */
int segments_compact(struct segments *s, void *buf, struct pause *pause);

/* True: segments_compact() would free memory now. */
bool segments_can_compact(const struct segments *s);

/* Seals the segment being written, before an image refers to it. 0, or -errno. */
int segments_seal(struct segments *s);

/*
 * A sealed segment that another keeper made, for a body of n bytes in it; if there is room, and if
 * the rest could be moved. Takes fd, also on failure. NULL with errno.
 */
struct segment *segments_take_over(struct segments *s, int fd, size_t n);

/* Takes bytes of a taken-over segment, if inside it. NULL when memory is out. */
struct segment_body *segments_take_body(struct segment *g, const struct image_body *from);

/* Counts the images that refer to g. */
void segment_hold(struct segment *g);
/* Holds all with bodies, for IMAGE_SEGMENTS of an image, and numbers them. Returns how many. */
unsigned segments_hold_used(struct segments *s, struct segment **held);
void segment_release(struct segments *s, struct segment *g);

/*
 * chains: a hash table of members of its owners' structs, doubled when it is full. It owns the
 * table alone: the owner of a member removes it before freeing it.
 */

struct chain {
	struct chain *next;
	uint64_t hash;
};

struct chains {
	struct chain **heads;
	uint32_t size, n;
	uint64_t seed; /* of hashes: a chooser of names cannot choose collisions */
};

/* 0, or -ENOMEM: chains_fini() is allowed then, too. */
int chains_init(struct chains *t);

/* Members are left to their owners. */
void chains_fini(struct chains *t);

/* The first candidate for that hash; others follow by next. */
static inline struct chain *chains_first(const struct chains *t, uint64_t hash)
{
	return t->heads[hash & (t->size - 1)];
}

void chains_enter(struct chains *t, struct chain *c, uint64_t hash);
void chains_leave(struct chains *t, struct chain *c);

/* A file or directory of the catalogue, by root and path. */
struct name {
	struct chain chain;
	uint32_t root, n;
	const char *path; /* of n bytes, NUL-terminated */
};

enum {
	CATALOG_IMAGES = 4, /* live at a time */
	CATALOG_NEVER = INT32_MAX,
};

/* A content-type of a root. */
struct catalog_type {
	struct catalog_type *next;
	const struct mime *mime;
	bool packs; /* its files may have variants */
	struct slice value;
	struct image_string at; /* in the image being made: image_build.c's own */
};

/* Directories, whose paths end in a slash, are found by the same names. */
struct catalog_dir {
	struct name node;
	struct catalog_dir *parent; /* NULL: the root's */
	struct list sibling;        /* of the parent's dirs */
	struct list dirs, files;
	struct list queue; /* scan's */
	uint8_t pass;      /* number of its newest listing; its entries have the same as seen */
	uint8_t seen;
	bool uploads; /* of uploads, or in one of them: without variants */
	char path[];
};

struct catalog_file {
	struct name node;
	struct catalog_dir *dir;
	struct list sibling; /* of dir->files */
	uint32_t at;         /* in the catalogue's list of files */
	bool fresh;          /* has a body, up to date as far as is known */
	bool settled; /* read so long after its last change that file_id shows every later one */
	uint8_t seen;
	uint8_t beside; /* bit set by enum coding: files beside it */
	uint8_t tried;  /* a bit set, too: codings that it need not be compressed in */
	struct file_id file_id;
	struct catalog_type *type;
	struct segment_body *body, *variants[CODINGS];
	struct {
		uint32_t number; /* of the image; its index there is at */
		uint32_t at;
	} in[CATALOG_IMAGES];

	struct list queue; /* reader's, like the next four */
	uint64_t due_ms;
	uint64_t read_ms; /* time of its last reading, 0: never */
	uint8_t level;    /* how often it changes */
	uint8_t waits;
	struct list idle; /* variants.c's */
	struct variant_job *job;
	char path[];
};

struct catalog_root {
	const char *path, *charset; /* as configured */
	int fd;                     /* of the directory, -1: none, or not cached */
	uint8_t look;               /* scan's: check due for the path */
	bool missing;               /* and logged */
	bool readable;              /* and searchable, at the last look */
	uint64_t dev, ino;          /* 0, 0: none */
	struct catalog_dir *top;
	struct catalog_type *types;
};

struct catalog {
	struct segments *segments;
	const struct doc_roots *conf;
	struct catalog_root *roots;
	unsigned nroots;
	struct chains names;         /* struct name */
	struct catalog_file **files; /* all of them, in no order */
	uint32_t nfiles, files_cap;
	uint32_t files_max; /* limit of an index */
	uint32_t nfresh;
	uint64_t content; /* bytes of all bodies */
	/* Bytes of bodies in segments, and of all files in an index: max-size is for both. */
	uint64_t room, index_room;
	struct arena memory; /* of types */
	struct {
		struct image_marks *marks; /* NULL: a free place */
		uint32_t number;
	} images[CATALOG_IMAGES];
	struct pause pause;      /* for long steps */
	int32_t news_ms;         /* time until the next image is needed; CATALOG_NEVER: no news */
	void (*news)(void *ctx); /* called when news_ms was lowered */
	/* f is fresh, and its codings or sidecars may have changed. */
	void (*renewed)(void *ctx, struct catalog_file *f);
	/* A file or directory is about to be freed. */
	void (*gone)(void *ctx, struct catalog_file *f);
	void (*gone_dir)(void *ctx, struct catalog_dir *d);
	void *ctx;
};

/* conf is borrowed. 0, or -ENOMEM. */
int catalog_init(struct catalog *c, const struct doc_roots *conf, struct segments *segments);
void catalog_fini(struct catalog *c);

struct catalog_file *catalog_find(const struct catalog *c, uint32_t root, struct slice path);
struct catalog_dir *catalog_find_dir(const struct catalog *c, uint32_t root, struct slice path);

/* path is copied; must be new. NULL when memory is out, or too many are known. */
struct catalog_file *catalog_add(struct catalog *c, struct catalog_dir *dir, struct slice path);
struct catalog_dir *catalog_add_dir(
	struct catalog *c, uint32_t root, struct catalog_dir *parent, struct slice path);

/* True if catalog_add() would refuse any file. */
static inline bool catalog_full(const struct catalog *c)
{
	return c->nfiles >= c->files_max;
}

/* Removes it; a directory with all that is below it, and many files in turn, are a long step. */
void catalog_remove(struct catalog *c, struct catalog_file *f);
void catalog_remove_dir(struct catalog *c, struct catalog_dir *d);

/* Doubts it: no image has it as fresh until it is checked. */
void catalog_doubt(struct catalog *c, struct catalog_file *f);
void catalog_doubt_below(struct catalog *c, struct catalog_dir *d);

/*
 * Only marks, without other changes: the file or directory called path (with all below it), and the
 * file it is beside. Allowed during a long step.
 */
void catalog_mark(struct catalog *c, uint32_t root, struct slice path);

/* Checked and found unchanged, except for file_id. */
void catalog_trust(
	struct catalog *c, struct catalog_file *f, const struct file_id *file_id, bool settled);

/* The most bytes of a file in an index and its marks. */
static inline uint64_t catalog_index_room(size_t path_n)
{
	return sizeof(struct image_entry) + 4 * sizeof(struct image_slot) + path_n + 1;
}

/*
 * True if n bytes more of a file fit below max-size, and index bytes more for a new one. An eighth
 * is not for the index: only so has twice max-size room for two of them, and for bodies being
 * replaced and moved.
 */
static inline bool catalog_has_room(const struct catalog *c, uint64_t index, uint64_t n)
{
	uint64_t max = c->conf->max_size;

	return n <= IMAGE_SEGMENT_MAX && c->index_room + index <= max - max / 8 &&
	       c->room + segment_room(n) + c->index_room + index <= max;
}

/*
 * Stores the content read: file_id->size bytes of data. Unchanged bytes keep their variants. 0,
 * -EAGAIN of segments_put(), -ENOSPC above max-size, or -errno; it has no body then.
 */
int catalog_fill(struct catalog *c, struct catalog_file *f, const struct file_id *file_id,
	bool settled, const struct etag *etag, const void *data);

/* catalog_fill() without reading; takes b, also on failure. */
int catalog_fill_warm(struct catalog *c, struct catalog_file *f, const struct file_id *file_id,
	struct segment_body *b);

/* Takes b as f's variant; NULL: none any more. */
void catalog_set_variant(
	struct catalog *c, struct catalog_file *f, enum coding coding, struct segment_body *b);

/* The sidecar of f in coding: fresh, not empty and not older than f; NULL: none. */
struct catalog_file *catalog_sidecar(
	const struct catalog *c, const struct catalog_file *f, enum coding coding);

/* Bit set by enum coding: files beside f that are unread. */
unsigned catalog_unread(const struct catalog *c, const struct catalog_file *f);

/* Bit set by enum coding: variants of f that are not sent. */
static inline unsigned catalog_refused(const struct catalog *c, const struct catalog_file *f)
{
	return doc_root_refused(&c->conf->roots[f->node.root], slice_of(f->path, f->node.n));
}

/* Bit set by enum coding: codings of that set in which f must be compressed now. */
unsigned catalog_wants(const struct catalog *c, const struct catalog_file *f, unsigned codings);

/* True: f may have variants. */
static inline bool catalog_codes(const struct catalog_file *f)
{
	return f->type != NULL && f->type->packs;
}

/* Requests the next image within ms, because of a change. */
static inline void catalog_news(struct catalog *c, int32_t ms)
{
	if (ms >= c->news_ms)
		return;
	c->news_ms = ms;
	if (c->news != NULL)
		c->news(c->ctx);
}
