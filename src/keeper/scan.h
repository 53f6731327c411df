/*
 * scan: walks the trees, a portion at a time, breadth first, and takes the word of tree_watch on
 * what changed between walks. What is new or different it gives to the reader; what is gone, the
 * catalogue forgets. Entered are directories on the root's own mount, not through symbolic links,
 * on file systems that cannot hang.
 */
#ifndef H2D_KEEPER_SCAN_H
#define H2D_KEEPER_SCAN_H

#include <dirent.h>

#include "event/offload.h"
#include "keeper/catalog.h"
#include "keeper/tree_watch.h"

/*
 * warm_start: what an earlier keeper's image holds, for the first walk of the next one: a file that
 * is still what it was when that image was made is taken over, with its variants, by reference to
 * the sealed segments: neither read nor compressed. That image comes from another process and is
 * checked as hostile data.
 */

struct warm_start {
	struct segments *store;
	const struct image_head *head;
	const struct image_marks *marks;
	size_t sizes[IMAGE_FDS];
	int fds[IMAGE_FDS + IMAGE_SEGMENTS]; /* -1: closed, or the store's */
	int nfds;
	struct segment *segments[IMAGE_SEGMENTS]; /* in the store; NULL: not yet needed */
	bool refused[IMAGE_SEGMENTS];
	uint32_t *roots; /* per root of ours: theirs plus one, 0: none */
	unsigned nwarm;
};

/* Takes the descriptors, also on failure (which is logged, but for an empty list). NULL: nothing
 * to take over. */
struct warm_start *warm_start_new(struct catalog *c, const int *fds, int nfds);

/* Fills f, which is new, if the image knows it. */
bool warm_start_file(struct warm_start *a, struct catalog *c, struct catalog_file *f,
	const struct file_id *file_id);

/* Frees *a; files that were taken over stay. */
void warm_start_free(struct warm_start **a);

/*
 * reader: reads files into the catalogue, one at a time and a piece at a time, so that the keeper's
 * loop goes on turning. It decides when: at once what a walk found, shortly after its change what
 * changed, ever later what will not hold still, once more what was read too soon after its last
 * change.
 */

enum {
	READER_LEVELS = 8,             /* of restlessness: 20 ms, 40, … 2560 */
	READER_SETTLE = READER_LEVELS, /* read too soon after its last change to trust file_id */
	READER_RETRY,                  /* the machine was short of something */
	READER_WAITS,
	READER_STUCK, /* no segment has room until an image goes */
	READER_FOUND, /* in the next steps */
	READER_CHANGED,
	READER_QUEUES,
};

struct reader {
	struct catalog *catalog;
	struct etag_hash *hash;
	char *buf; /* max_file_size bytes */
	struct list queues[READER_QUEUES];
	unsigned n[READER_QUEUES];
	unsigned left_out; /* too large, or past max-size, since the last look */
	bool said_past;    /* the log has said that max-size is reached */
	bool turn;         /* the line that has its turn: FOUND's or CHANGED's */
	int trouble;       /* -errno of the machine since the last look, 0: none */

	struct catalog_file *file; /* being read, NULL for none */
	bool touched;              /* it changed meanwhile */
	int fd;
	uint64_t got;
	int64_t wall_ns; /* when reading it began */
	struct file_id file_id;
};

/* 0, or -ENOMEM. */
int reader_init(struct reader *r, struct catalog *c);
void reader_fini(struct reader *r);

/* A walk found f, which is not known, or not what it was. */
void reader_found(struct reader *r, struct catalog_file *f);

/* f changed, as the kernel tells. */
void reader_changed(struct reader *r, struct catalog_file *f);

/* Names below d may be another directory's by now: so may that of the file that is being read. */
void reader_changed_below(struct reader *r, const struct catalog_dir *d);

/* Whether f is to be read, or being read: nobody else may say what it is. */
bool reader_has(const struct reader *r, const struct catalog_file *f);

/* f is about to be freed. */
void reader_gone(struct reader *r, struct catalog_file *f);

/* A file is not cached: it is too large, or past max-size, which is said once. */
void reader_left_out(struct reader *r, bool past);

/* An image or a body went: what was stuck is tried again. */
void reader_room(struct reader *r);

/* Moves on the changes that are due; returns the milliseconds to the next, -1: none. */
int reader_wait(struct reader *r);

/* Reads one piece. False if there was nothing to read. */
bool reader_step(struct reader *r);

/* How many files have yet to be read before the catalogue is right; settling is not among them. */
unsigned reader_pending(const struct reader *r);

struct scan {
	struct catalog *catalog;
	struct reader *reader;
	struct tree_watch *watch; /* NULL: only rescans find what changes */
	bool said_full; /* the log has said that there are more files than an index holds */
	struct warm_start *warm_start; /* of an earlier image; NULL: none */
	struct list todo;              /* directories to be listed */
	unsigned ntodo;
	struct catalog_dir *dir; /* being listed, NULL for none */
	DIR *stream;
	uint8_t *looks; /* per root: what its path names is to be looked at */
	bool any_look;
	int trouble; /* -errno of the machine since the last look, 0: none */
};

/* watch may be NULL. Everything is to be looked at then. 0, or -ENOMEM. */
int scan_init(struct scan *s, struct catalog *c, struct reader *r, struct tree_watch *watch);
void scan_fini(struct scan *s);

/* Everything is to be looked at, root paths included. */
void scan_all(struct scan *s);

/* As tree_change_fn, but for its context. */
void scan_change(struct scan *s, enum tree_change what, unsigned root, const char *path);

/* d is about to be freed. */
void scan_gone_dir(struct scan *s, struct catalog_dir *d);

/* Takes the roots anew that have to be: then an image with what they are now is due at once. */
void scan_roots(struct scan *s);

/* Lists a part of a directory. False if there was nothing to list. */
bool scan_step(struct scan *s);

/* Directories still to be listed. */
unsigned scan_pending(const struct scan *s);

/*
 * variants: compressed forms of the files in the catalogue, made in threads of the keeper that run
 * only when the processor is idle. Small files come first. A thread takes one file at a time, its
 * bytes copied out of the segment.
 */

enum {
	VARIANTS_SIZES = 33,
	/* Uploads, of which anybody may send any number, have a fifth of one processor at most. */
	VARIANTS_UPLOADS_SHARE = 5,
	VARIANTS_UPLOADS_AHEAD_US = 200000, /* processor time of uploads after a rest */
};

struct variants {
	struct catalog *catalog;
	struct offload *offload;
	unsigned codings; /* bit set by enum coding */
	unsigned threads, running, waiting;
	bool stuck;   /* no segment has room until an image goes */
	bool starved; /* no memory or descriptor: its owner steps again later */
	bool resting; /* uploads wait for their share: its owner steps again later */
	bool upload;  /* an upload is being compressed */
	struct list todo[VARIANTS_SIZES]; /* by the logarithm of their size */
	struct list uploads;              /* files in folders of uploads */
	int64_t allowance_us;             /* processor time that they may take now */
	uint64_t allowed_ms;              /* when it was that */
	uint64_t compressed;              /* so many times in all */
};

/* cpus: processors that h2d may use. 0, or -errno. */
int variants_init(struct variants *t, struct catalog *c, struct loop *loop, unsigned cpus);

/* Waits for what is being compressed: seconds, so not for a process that is to leave. */
void variants_fini(struct variants *t);

/* f is fresh: compresses what there is to compress, sooner or later. */
void variants_want(struct variants *t, struct catalog_file *f);

/* f is about to be freed. */
void variants_gone(struct variants *t, struct catalog_file *f);

/* An image or a body went. */
void variants_room(struct variants *t);

/* Gives idle threads something to do. */
void variants_step(struct variants *t);

/* Files that wait or are being compressed. */
unsigned variants_pending(const struct variants *t);

#endif
