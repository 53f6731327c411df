/*
 * catalog: what the keeper knows of the trees: every directory, every file that is or shall be in
 * the images, what of it is known to be true, and where it lies in images that workers may hold.
 * scan, reader and variants report to it; it reads no file itself. All changes go through here, so
 * that no live image is left unmarked.
 */
#ifndef H2D_KEEPER_CATALOG_H
#define H2D_KEEPER_CATALOG_H

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
 * pause: what a long step of the keeper calls now and then, so that ticks are written and changes
 * marked meanwhile. The function called may look at the catalogue and mark files in images, and
 * changes nothing else.
 */

enum { PAUSE_STEPS = 256 };

struct pause {
	void (*fn)(void *ctx); /* NULL: nobody wants it */
	void *ctx;
	unsigned steps;
};

/* After each of the small steps; p may be NULL. */
static inline void pause_step(struct pause *p)
{
	if (p != NULL && ++p->steps % PAUSE_STEPS == 0 && p->fn != NULL)
		p->fn(p->ctx);
}

/*
 * segment: the memfds that bodies lie in, and which of their bytes still count. A segment is
 * written to its end, sealed, and never changed: other bytes go into another segment. It goes when
 * neither a body of the catalogue nor an image is left in it. One thread of the keeper calls it.
 */

struct segment {
	struct list node;   /* of the store */
	struct list bodies; /* bodies that count */
	int fd;             /* for reading once it is sealed, until then for both */
	bool sealed;
	uint64_t used;   /* bytes written */
	uint64_t live;   /* bytes of bodies that count, each rounded up to IMAGE_ALIGN */
	unsigned images; /* images with it that workers may hold */
	uint32_t number; /* in the image that is being made: image_build.c's own */
};

/* Bytes in a segment; it may be moved to another one. */
struct segment_body {
	struct list node;
	struct segment *segment;
	uint32_t at, n;
	char etag[IMAGE_ETAG];
};

struct segments {
	struct list all;
	struct segment *open; /* the one that is written; NULL: none */
	unsigned n;
	uint64_t bytes;   /* of all of them */
	uint64_t indexes; /* bytes of the indexes of all images alive: image_build.c's to count */
	uint64_t index_next; /* bytes that the next index takes at most: catalog.c's to count */
	uint64_t bytes_max;  /* of segments and indexes: past it nothing is written */
	uint64_t spare;      /* of them: for what is moved, or a full store could never be moved */
	uint64_t size;       /* a larger one holds a single body */
};

/* The room that n bytes take in a segment. */
static inline uint64_t segment_room(uint64_t n)
{
	return (n + IMAGE_ALIGN - 1) & ~(uint64_t)(IMAGE_ALIGN - 1);
}

/*
 * Bytes that the segments of one image hold for certain, when each has that many bytes and bodies
 * have up to max_body: a segment ends where the next body does not fit.
 */
uint64_t segments_hold(uint64_t segment, uint64_t max_body);

/* How much of max_size that is. */
uint64_t segments_max_size(uint64_t max_size, uint64_t max_body);

/* For bodies and an index that take max_size bytes: twice that may be alive. */
void segments_init(struct segments *s, uint64_t max_size);

/* No body may be left. Readers keep what they have. */
void segments_fini(struct segments *s);

/* Whether n bytes more leave room for what is moved, for the next index and for the one after it.
 */
bool segments_have_room(const struct segments *s, uint64_t n);

/* Whether the next index fits beside the live bytes and those that are moved for it. */
bool segments_fit_index(const struct segments *s);

/*
 * Writes n bytes of data: *out is the new body. -EAGAIN: the bytes alive are at their maximum, or
 * there are too many segments, until something goes. Another -errno: the machine is short of
 * something.
 */
int segments_put(struct segments *s, const void *data, size_t n, const struct etag *etag,
	struct segment_body **out);

/* The body counts no more; sets it NULL. */
void segments_drop(struct segments *s, struct segment_body **b);

/* All n bytes of b to the memory at to. 0, or -errno. */
int segments_read(const struct segment_body *b, void *to);

/*
 * Moves the bodies of a segment that is a quarter dead, or small beside what was written last, to
 * the one that is being written: so there are never many. A part at a time: at most about s->size
 * bytes are moved, in a long step. buf has room for the largest body; pause may be NULL. 0, or
 * -errno; what could not be moved stays.
 */
int segments_compact(struct segments *s, void *buf, struct pause *pause);

/* True: segments_compact() would free something now. */
bool segments_can_compact(const struct segments *s);

/* Seals the segment that is written, before an image refers to it. 0, or -errno. */
int segments_seal(struct segments *s);

/*
 * A sealed segment that another keeper made, for a body of n bytes in it; if there is room, and if
 * what is left of it could be moved. Takes fd, also on failure. NULL with errno.
 */
struct segment *segments_take_over(struct segments *s, int fd, size_t n);

/* Bytes of a segment that was taken over, that lie in it. NULL when memory is out. */
struct segment_body *segments_take_body(struct segment *g, const struct image_body *from);

/* An image refers to g, or does no more. */
void segment_hold(struct segment *g);
void segment_release(struct segments *s, struct segment *g);

/*
 * chains: a hash table of members of its owners' structs, doubled when it is full. It owns the
 * table alone: who enters a member takes it out before its memory goes.
 */

struct chain {
	struct chain *next;
	uint64_t hash;
};

struct chains {
	struct chain **heads;
	uint32_t size, n;
	uint64_t seed; /* of hashes: keeps who chooses names from choosing collisions */
};

/* 0, or -ENOMEM: chains_fini() is right after that, too. */
int chains_init(struct chains *t);

/* Members that are still in it are left to their owners. */
void chains_fini(struct chains *t);

/* The first that may have that hash; others follow by next. */
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
	CATALOG_IMAGES = 4, /* alive at a time */
	CATALOG_NEVER = INT32_MAX,
};

/* A content-type of a root. */
struct catalog_type {
	struct catalog_type *next;
	const struct mime *mime;
	struct slice value;
	struct image_string at; /* in the image that is being made: image_build.c's own */
};

/* Files and directories, whose paths end in a slash, are found by the same names. */
struct catalog_dir {
	struct name node;
	struct catalog_dir *parent; /* NULL: it is the root's */
	struct list sibling;        /* of the parent's dirs */
	struct list dirs, files;
	struct list queue; /* scan's */
	uint8_t pass;      /* number of its newest listing; what it met has the same as seen */
	uint8_t seen;
	bool uploads; /* it is one of uploads, or lies in one: nothing in it is a variant */
	char path[];
};

struct catalog_file {
	struct name node;
	struct catalog_dir *dir;
	struct list sibling; /* of dir->files */
	uint32_t at;         /* in the catalogue's list of files */
	bool fresh;          /* has a body, which is what the disk has as far as is known */
	bool settled; /* read so long after its last change that file_id tells every later one */
	uint8_t seen;
	uint8_t beside; /* bit set by enum coding: files that lie beside it */
	uint8_t tried;  /* a bit set, too: codings that there is no need to compress it in */
	struct file_id file_id;
	struct catalog_type *type;
	struct segment_body *body, *variants[CODINGS];
	struct {
		uint32_t number; /* of the image; its place there is at */
		uint32_t at;
	} in[CATALOG_IMAGES];

	struct list queue; /* reader's, as are the next four */
	uint64_t due_ms;
	uint64_t read_ms; /* when it was last read, 0: never */
	uint8_t level;    /* how restless it is */
	uint8_t waits;
	struct list idle; /* variants.c's */
	struct variant_job *job;
	char path[];
};

struct catalog_root {
	const char *path, *charset; /* as configured */
	int fd;                     /* of the directory, -1: none is there, or it is not cached */
	bool looked;                /* at the path, at least once */
	bool missing;               /* and that was said */
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
	uint32_t files_max; /* as many as an index holds */
	uint32_t nfresh;
	uint64_t content; /* bytes of all bodies */
	/* Bytes that bodies take in segments, and all files in an index: max-size is for both. */
	uint64_t room, index_room;
	struct arena memory; /* of types */
	struct {
		struct image_marks *marks; /* NULL: no image is here */
		uint32_t number;
	} images[CATALOG_IMAGES];
	struct pause pause; /* of long steps */
	int32_t news_ms;    /* the next image is wanted in so many; CATALOG_NEVER: nothing is new */
	void (*news)(void *ctx); /* news_ms was lowered */
	/* f is fresh, and what it may be coded with, or what lies beside it, may be new. */
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

/* path is copied; there is none yet. NULL when memory is out, or too many are known. */
struct catalog_file *catalog_add(struct catalog *c, struct catalog_dir *dir, struct slice path);
struct catalog_dir *catalog_add_dir(
	struct catalog *c, uint32_t root, struct catalog_dir *parent, struct slice path);

/* Whether no more files can be known: catalog_add() would refuse any. */
static inline bool catalog_full(const struct catalog *c)
{
	return c->nfiles >= c->files_max;
}

/* It is not cached any more; a directory with all that is below it, and many files one after the
 * other, are a long step. */
void catalog_remove(struct catalog *c, struct catalog_file *f);
void catalog_remove_dir(struct catalog *c, struct catalog_dir *d);

/* It may have changed: no image answers for it until it was looked at. */
void catalog_doubt(struct catalog *c, struct catalog_file *f);
void catalog_doubt_below(struct catalog *c, struct catalog_dir *d);

/*
 * Only marks, and changes nothing of what is known: the file or directory called path (with all
 * that is below it), and the file that it lies beside of. Good in the middle of a long step.
 */
void catalog_mark(struct catalog *c, uint32_t root, struct slice path);

/* It was looked at, and is what it was but for file_id. */
void catalog_trust(
	struct catalog *c, struct catalog_file *f, const struct file_id *file_id, bool settled);

/* Bytes that a file takes in an index and its marks, at most. */
static inline uint64_t catalog_index_room(size_t path_n)
{
	return sizeof(struct image_entry) + 4 * sizeof(struct image_slot) + path_n + 1;
}

/*
 * Whether n bytes more of a file find room below max-size, and index bytes more for one that is not
 * known yet. An eighth is not for the index: twice max-size has room for two of them, and for
 * bodies that are replaced and moved, only then.
 */
static inline bool catalog_has_room(const struct catalog *c, uint64_t index, uint64_t n)
{
	uint64_t max = c->conf->max_size;

	return n <= IMAGE_SEGMENT_MAX && c->index_room + index <= max - max / 8 &&
	       c->room + segment_room(n) + c->index_room + index <= max;
}

/*
 * It was read: file_id->size bytes of data. The same bytes as before keep their variants. 0,
 * -EAGAIN as of segments_put(), -ENOSPC past max-size, or -errno; it has no body then.
 */
int catalog_fill(struct catalog *c, struct catalog_file *f, const struct file_id *file_id,
	bool settled, const struct etag *etag, const void *data);

/* As if just read; takes b, also on failure. */
int catalog_fill_warm(struct catalog *c, struct catalog_file *f, const struct file_id *file_id,
	struct segment_body *b);

/* Takes b as f's variant; NULL: it has none any more. */
void catalog_set_variant(
	struct catalog *c, struct catalog_file *f, enum coding coding, struct segment_body *b);

/* The file that lies beside f in coding: fresh, not empty and not older than f; NULL: there is
 * none.
 */
struct catalog_file *catalog_sidecar(
	const struct catalog *c, const struct catalog_file *f, enum coding coding);

/* Bit set by enum coding: files that lie beside f and have yet to be read. */
unsigned catalog_unread(const struct catalog *c, const struct catalog_file *f);

/* Bit set by enum coding: codings of that set which f is to be compressed in now. */
unsigned catalog_wants(const struct catalog *c, const struct catalog_file *f, unsigned codings);

/* True: there may be forms of f in content codings. */
static inline bool catalog_codes(const struct catalog_file *f)
{
	return f->type != NULL && f->type->mime->compressible;
}

/* Something of the next image is new: it is wanted within ms. */
static inline void catalog_news(struct catalog *c, int32_t ms)
{
	if (ms >= c->news_ms)
		return;
	c->news_ms = ms;
	if (c->news != NULL)
		c->news(c->ctx);
}

#endif
