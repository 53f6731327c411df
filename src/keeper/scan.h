/*
 * scan: walks the trees, a portion at a time, breadth first; changes between walks come from
 * backlog. It gives new or changed files to the reader; the catalogue removes missing ones. It
 * enters directories on the root's own mount, not through symbolic links, on file systems that
 * cannot hang.
 */
#pragma once

#include <dirent.h>

#include "event/offload.h"
#include "keeper/catalog.h"
#include "keeper/tree_watch.h"

/*
 * warm_start: an earlier keeper's image, for the first walk of the next one: a file unchanged since
 * that image was made is taken over, with its variants, by reference to the sealed segments:
 * neither read nor compressed. The image is from another process and is checked as hostile data.
 */

struct warm_start {
	struct segments *store;
	struct image_index index;
	int fds[IMAGE_FDS + IMAGE_SEGMENTS]; /* -1: closed, or the store's */
	int nfds;
	struct segment
		*segments[IMAGE_SEGMENTS]; /* in the store; NULL: not yet needed, or refused */
	uint32_t *roots; /* per root of ours: the index of theirs plus one, 0: none */
	unsigned nwarm;
};

/* Takes the descriptors, also on failure (logged, except for an empty list). NULL: no image to take
 * over. */
struct warm_start *warm_start_new(struct catalog *c, const int *fds, int nfds);

/* Fills f, which is new, if the image has it. */
bool warm_start_file(struct warm_start *a, struct catalog *c, struct catalog_file *f,
	const struct file_id *file_id);

/* Frees *a; files taken over stay. */
void warm_start_free(struct warm_start **a);

/*
 * reader: reads files into the catalogue, one at a time and a piece at a time, so that the keeper's
 * loop keeps turning. It decides when: a found file at once, a changed one shortly after, one that
 * keeps changing ever later, one read too soon after its change once more.
 */

enum {
	READER_LEVELS = 8,             /* of changes: 20 ms, 40, … 2560 */
	READER_SETTLE = READER_LEVELS, /* read too soon after its last change to trust file_id */
	READER_RETRY,                  /* the machine was short of memory or descriptors */
	READER_WAITS,
	READER_STUCK, /* no segment has room until an image is freed */
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
	unsigned left_out; /* too large, or above max-size, since the last check */
	bool said_past;    /* the log has a line that max-size is reached */
	bool turn;         /* FOUND's or CHANGED's turn */
	int trouble;       /* the machine's -errno since the last check, 0: none */

	struct catalog_file *file; /* being read, NULL: none */
	bool touched;              /* it changed meanwhile */
	int fd;
	uint64_t got;
	int64_t wall_ns; /* when its reading began */
	struct file_id file_id;
};

/* 0, or -ENOMEM. */
int reader_init(struct reader *r, struct catalog *c);
void reader_fini(struct reader *r);

/* A scan found f, which is new, or changed. */
void reader_found(struct reader *r, struct catalog_file *f);

/* f changed, as reported by the kernel. */
void reader_changed(struct reader *r, struct catalog_file *f);

/* Names below d may be of other directories by now: also that of the file being read. */
void reader_changed_below(struct reader *r, const struct catalog_dir *d);

/* True if f is queued or being read: it must not be trusted unread. */
bool reader_has(const struct reader *r, const struct catalog_file *f);

/* f is about to be freed. */
void reader_gone(struct reader *r, struct catalog_file *f);

/* Counts a file that is too large, or above max-size, which is logged once. */
void reader_left_out(struct reader *r, bool past);

/* An image or a body was freed: retries stuck files. */
void reader_room(struct reader *r);

/* Queues changes that are due; returns the milliseconds to the next, -1: none. */
int reader_wait(struct reader *r);

/* Reads one piece. False if no file was due. */
bool reader_step(struct reader *r);

/* The number of files to be read before the catalogue is right, without settling ones. */
unsigned reader_pending(const struct reader *r);

struct scan {
	struct catalog *catalog;
	struct reader *reader;
	struct tree_watch *watch; /* NULL: only rescans find changes */
	bool said_full; /* the log has a line that there are more files than an index holds */
	struct warm_start *warm_start; /* of an earlier image; NULL: none */
	struct list todo;              /* directories to be listed */
	unsigned ntodo;
	struct catalog_dir *dir; /* being listed, NULL: none */
	DIR *stream;
	bool any_look; /* checks of roots' paths are due */
	int trouble;   /* the machine's -errno since the last check, 0: none */
};

/* watch may be NULL. All must be scanned then. */
void scan_init(struct scan *s, struct catalog *c, struct reader *r, struct tree_watch *watch);
void scan_fini(struct scan *s);

/* Marks all to be scanned, with root paths. */
void scan_all(struct scan *s);

/* Marks the root's path to be entered anew, with all below it. */
void scan_anew(struct scan *s, unsigned root);

/* Lists d, from its start if it is being listed already. */
void scan_again(struct scan *s, struct catalog_dir *d);

/* Makes a file for a new path. NULL: memory is out, which is retried, or the index is full. */
struct catalog_file *scan_add_file(struct scan *s, struct catalog_dir *parent, struct slice path);

/* d is about to be freed. */
void scan_gone_dir(struct scan *s, struct catalog_dir *d);

/* True if the root's path leads elsewhere since the last look, or may be read now, or no longer. */
bool scan_root_moved(const struct scan *s, unsigned root);

/* Renews roots that need it: then an image with their present state is due at once. */
void scan_roots(struct scan *s);

/* Lists a part of a directory. False if none was due. */
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
	/* Uploads, of which any client may send any number, have a fifth of one processor at
	 * most. */
	VARIANTS_UPLOADS_SHARE = 5,
	VARIANTS_UPLOADS_AHEAD_US = 200000, /* processor time for uploads after a pause */
};

struct variants {
	struct catalog *catalog;
	struct offload *offload;
	unsigned codings; /* bit set by enum coding */
	unsigned threads, running, waiting;
	bool stuck;   /* no segment has room until an image is freed */
	bool starved; /* no memory or descriptor: its owner steps again later */
	bool resting; /* uploads wait for their share: its owner steps again later */
	bool upload;  /* an upload is being compressed */
	struct list todo[VARIANTS_SIZES]; /* by the logarithm of their size */
	struct list uploads;              /* files in directories of uploads */
	int64_t allowance_us;             /* processor time that they may use now */
	uint64_t allowed_ms;              /* the time of that */
	uint64_t compressed;              /* number of compressions */
};

/* cpus: processors that h2d may use. 0, or -errno. */
int variants_init(struct variants *t, struct catalog *c, struct loop *loop, unsigned cpus);

/* Waits for running compressions: seconds, so not for a process that must exit. */
void variants_fini(struct variants *t);

/* f is fresh: compresses it, if useful, sooner or later. */
void variants_want(struct variants *t, struct catalog_file *f);

/* f is about to be freed. */
void variants_gone(struct variants *t, struct catalog_file *f);

/* An image or a body was freed. */
void variants_room(struct variants *t);

/* Gives idle threads work. */
void variants_step(struct variants *t);

/* Files queued or being compressed. */
unsigned variants_pending(const struct variants *t);
