/*
 * disk: files read from the disk for one response each. Steps that could block happen on offload
 * threads: a step returns its result at once, or DISK_LATER, and calls back. An open file is a body
 * source; a request that ends leaves its running step to end by itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/prefix_index.h"
#include "base/ref.h"
#include "base/states.h"
#include "event/offload.h"
#include "files/places.h"
#include "http/coding.h"
#include "image/beneath.h"
#include "image/doc_root.h"
#include "image/etag.h"
#include "request/req.h"

/*
 * disk_root: the directory of a root's path at the last look. It is shared by all files opened
 * below it and lives until the last of them is closed, so that a thread never uses a closed
 * descriptor when the path names another one. The loop counts references; a thread looks.
 */

struct disk_root {
	struct ref ref;
	int fd; /* -1: no directory at the path */
	enum beneath_kind kind;
	uint64_t dev, ino; /* 0, 0 without one */
};

/*
 * Looks at path: returns its directory, with one reference for the caller. NULL if that is still
 * now's (NULL: none was looked at yet), if memory is out, or for an error other than the path's
 * own: then the caller keeps now. May block.
 */
struct disk_root *disk_root_look(const char *path, const struct disk_root *now);

enum {
	DISK_LATER = 1,
	DISK_SMALL = 64 << 10,  /* bytes read at once */
	DISK_LARGE = 256 << 10, /* bytes read at once of large files, while few are being sent */
	DISK_LARGE_MAX = 64,
	DISK_TINY = 8 << 10,          /* bytes read at once when many are read and unsent */
	DISK_BUFFERED_MAX = 64 << 20, /* bytes read and unsent: the limit of that */
	DISK_EXACT = 16 << 10,        /* a stream that may send less gets just that */
	DISK_EXTENSION = 8,           /* room after a path for an extension and NUL */
	DISK_LOOK_MS = 400,           /* how long the look at a root is valid */
	DISK_SAMPLE = 64,
};

/*
 * escapes: symbolic links on the way to a file that lead out of the root, which the configuration
 * does not follow. A thread finds one, the loop logs it: once in a generation, whichever worker
 * meets it, because its author wonders why the file is missing. In memory shared by all processes
 * made later. NULL when memory is out.
 */
struct escapes *escapes_new(void);
void escapes_free(struct escapes **e);

/* A root: its path, and the directory found by the last look. */
struct disk_tree {
	const char *path;       /* "": none */
	struct disk_root *root; /* one reference held */
	uint64_t looked_ms;     /* time of the look that found root */
};

/* The owner has a reference, and each file and upload: those need the places and the roots. */
struct disk {
	struct ref ref;
	struct offload *offload;
	uint64_t max_file_size; /* largest file whose entity tag is of its content */
	struct disk_tree *trees;
	unsigned ntrees;
	struct pool tiny, small, large;
	struct escapes *escapes;
	const struct prefix_index *uploads; /* directories of uploads, by their real paths */
	struct places places;
	struct disk_tag *tags;  /* entity tags made; disk_etag.c's */
	unsigned next_tag;      /* disk_etag.c's, too */
	unsigned waiting;       /* files with a request */
	struct disk_warm *warm; /* DISK_WARM of them, or NULL; disk_body.c's */
	uint32_t range_look;    /* selects the next bytes to look at; disk_body.c's */
	bool range_told;        /* the log has the reason why no file is sent by sendfile */
};

/* Bytes read, shared with the connections that send them. */
struct disk_buf {
	struct ref ref;
	struct disk *disk;
	uint32_t size;
	char data[];
};

/* Sampled bytes, to distinguish a file that grew from a rewritten one. */
struct disk_sample {
	uint64_t at;
	size_t n; /* 0: none */
	char bytes[DISK_SAMPLE];
};

/* Pieces sent from the file itself, as ranges of a queue: see disk_body.c. */
struct disk_range {
	struct ref_file file;
	bool wanted; /* by the configuration and the connection: set before reading */
};

/* A piece of a file that was in memory at the last check. */
struct disk_warm {
	uint64_t dev, ino, piece, ms;
};

enum { DISK_WARM = 512 };

enum disk_state {
#define DISK_STATE(name, next, help) DISK_##name,
#include "files/disk_state.def"
	DISK_STATES,
};

extern const struct states disk_states;

struct disk_file;

/* The step of a state in a thread, and its end on the loop, with the result in f->result. */
struct disk_step {
	void (*run)(struct job *j);
	void (*then)(struct disk_file *f);
};

struct disk_file {
	struct disk *disk;
	struct h2d_req *req; /* NULL: the request has ended */
	enum disk_state state;
	const struct disk_step *steps; /* by state */
	/* The results of steps that returned DISK_LATER: of disk_file_open(), and of its turn; of
	 * disk_file_etag(). */
	void (*opened)(struct disk_file *f, int rc);
	void (*tagged)(struct disk_file *f, int rc);
	void *ctx;              /* of the two */
	struct file_id file_id; /* once open: of the file sent; while it is sent, as last seen */
	int64_t mtime;          /* seconds; of the requested file */
	struct etag etag;       /* n 0: none now */

	/* Files beside it: requested by disk_file_beside(), found by disk_file_open(). */
	enum coding beside[CODINGS];
	unsigned nbeside, nwanted; /* beside[nwanted] and later ones are not sent */
	enum coding coding; /* coding of the file sent: one beside it, or CODING_IDENTITY: itself */
	bool has_beside;    /* at least one exists */

	unsigned spelled; /* segments of path whose spelling is checked */
	struct place place;
	struct job job;
	bool busy;      /* a thread has it */
	bool counted;   /* in files_open */
	bool no_nowait; /* its file system has no RWF_NOWAIT */
	char *escape;   /* the link that leads out, see escapes; NULL: none found */
	unsigned links; /* BENEATH_LEAVE, BENEATH_NO_LINKS or 0; set before opening */
	bool asks; /* likewise: on file systems that other machines write, refreshes the directories
		    * first; else only for a name unknown to this kernel */
	bool uploaded; /* opened in a directory of uploads, by any links */
	struct disk_tree *tree;
	const char *look_at;     /* a root for the thread to look at, too; NULL: none */
	struct disk_root *root;  /* one reference held */
	struct disk_root *newer; /* the other directory that the look found */
	uint64_t asked_ms;       /* clock_ms() of the order to the thread */
	int fd;                  /* -1: only its facts are known */
	int result;
	enum beneath_kind kind;
	int64_t seen_ns; /* coarse wall clock before file_id was taken */
	struct disk_buf *buf;
	size_t at, have; /* bytes of buf not emitted yet */
	size_t piece;    /* bytes for the thread to read */
	uint64_t off;    /* of the next byte to read */
	struct disk_sample first, last;
	struct disk_range range;
	char path[]; /* below root, NUL-terminated */
};

/* Looks at the roots; a missing one may come later. NULL with errno. */
struct disk *disk_new(struct loop *l, struct offload *o, const struct doc_roots *conf);

/* Called after the last request; completes when the last thread is done. */
void disk_free(struct disk **d);

/* For req; path is copied; the two functions and their context are the caller's. NULL when memory
 * is out. */
struct disk_file *disk_file_new(
	struct disk *d, struct h2d_req *req, unsigned root, struct slice path);

/*
 * Called before opening: a regular file beside it, of the same name with the extension of that
 * coding and not older, is sent instead (wanted; the first call wins), or only looked for (!wanted;
 * after all wanted ones).
 */
void disk_file_beside(struct disk_file *f, enum coding coding, bool wanted);

/*
 * Looks for it, and leaves it open if there is a place. 0: found; -EISDIR; -ENOENT: also for other
 * than regular files; another -errno; DISK_LATER.
 */
int disk_file_open(struct disk_file *f);

/* Looks for it again, when it has a place: then it is open, if it still exists. */
int disk_file_open_in_turn(struct disk_file *f);

/* Finds f->etag, or makes it. 0, -errno or DISK_LATER. */
int disk_file_etag(struct disk_file *f);

/* The response begins: others may take its place between reads; it is reopened for the next piece.
 */
void disk_file_begin(struct disk_file *f);

/* The request needs it no more; no callback will come. */
void disk_file_close(struct disk_file **f);

/* Makes f the source of b: closing b closes f. Also before it is open: the end of a request closes
 * b. */
void disk_file_attach(struct disk_file *f, struct body *b);

/* Steps. */
void disk_open_run(struct job *j);
void disk_open_then(struct disk_file *f);
void disk_tag_run(struct job *j);
void disk_tag_then(struct disk_file *f);
void disk_close_run(struct job *j);
void disk_close_then(struct disk_file *f);
void disk_reopen_run(struct job *j);
void disk_reopen_then(struct disk_file *f);

/* For the files of this module. */
static inline struct disk_file *disk_file_of(struct job *j)
{
	return LIST_ENTRY(j, struct disk_file, job);
}

/* The class of jobs with the file once it is open. */
static inline enum job_class disk_file_class(const struct disk_file *f)
{
	return f->kind == BENEATH_REMOTE ? JOB_REMOTE : JOB_FILE;
}

/* The one writer of f->state. */
void disk_file_go(struct disk_file *f, enum disk_state state);
/* Goes to that state, and makes a thread take its step. DISK_LATER, or -errno. */
int disk_file_submit(struct disk_file *f, enum disk_state state, enum job_class class);
void disk_file_lend(struct disk_file *f);
void disk_file_try_place(struct disk_file *f);
bool disk_file_take_place(struct disk_file *f, void (*granted)(struct place *p));
/* Opens the file of f->file_id, if its name still names it: else -EAGAIN; flags: of beneath.h. */
int disk_file_reopen(struct disk_file *f, unsigned flags);
/* Appends a coding's extension to f->path, until it is cut to the returned length. */
size_t disk_file_extend(struct disk_file *f, enum coding coding);
void disk_file_cut(struct disk_file *f, size_t n);
/* True: it is open. False: it failed, or a step is under way that resumes the request. */
bool disk_file_regain(struct disk_file *f);
void disk_file_fail(struct disk_file *f, int rc);
/* Called before its response's head is sent with the entity tag: samples the first bytes of a long
 * file, if they are in memory. */
void disk_file_sample_first(struct disk_file *f);
/* Reads those of the bytes that are in memory; 0 if a thread must read; or -errno. */
ssize_t disk_file_read_now(struct disk_file *f, char *to, size_t n, uint64_t at);
