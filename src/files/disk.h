/*
 * disk: files read from the disk for one response each. Steps that could block happen on offload
 * threads: a step answers its result at once, or DISK_LATER; then its plan says what comes behind
 * it. What is open is a body source; a request that goes away leaves its running step to end by
 * itself.
 */
#ifndef H2D_FILES_DISK_H
#define H2D_FILES_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/prefix_index.h"
#include "base/ref.h"
#include "base/states.h"
#include "event/offload.h"
#include "files/doubt_client.h"
#include "files/places.h"
#include "http/coding.h"
#include "image/beneath.h"
#include "image/doc_root.h"
#include "image/etag.h"
#include "request/req.h"

/*
 * disk_root: a directory that the path of a root named when it was looked at. It is shared by all
 * files opened below it and lives until the last of them is closed, so that a thread never meets a
 * closed descriptor when the path names another one. References are the loop's; looking is a
 * thread's.
 */

struct disk_root {
	struct ref ref;
	int fd; /* -1: the path named no directory */
	enum beneath_kind kind;
	uint64_t dev, ino; /* 0, 0 without one */
};

/*
 * Looks at path: the directory it names now, one reference held by the caller. NULL if that is
 * still the one of now (NULL: none was looked at yet), if memory is out, or if something but the
 * path itself is in the way: then the caller goes on with now. May block.
 */
struct disk_root *disk_root_look(const char *path, const struct disk_root *now);

enum {
	DISK_LATER = 1,
	DISK_SMALL = 64 << 10,  /* bytes read at once */
	DISK_LARGE = 256 << 10, /* bytes read at once of large files, while few are being sent */
	DISK_LARGE_MAX = 64,
	DISK_TINY = 8 << 10,          /* bytes read at once when much is read and not sent */
	DISK_BUFFERED_MAX = 64 << 20, /* bytes read and not sent: that is much */
	DISK_EXACT = 16 << 10,        /* a stream that may send less gets what it may send */
	DISK_EXTENSION = 8,           /* room behind a path for that of a file beside it, and NUL */
	DISK_LOOK_MS = 400,           /* how long a root is taken for what its path names */
	DISK_SAMPLE = 64,
};

/* One root: its path, and what that named when it was last looked at. */
struct disk_tree {
	const char *path;       /* "": none is configured */
	struct disk_root *root; /* one reference held */
	uint64_t looked_ms;     /* when the look began that made it so */
	bool doubted;           /* look again before the next use */
};

struct disk {
	struct offload *offload;
	struct doubt_client *doubts;
	uint64_t max_file_size; /* up to here a file's entity tag is of its content */
	struct disk_tree *trees;
	unsigned ntrees;
	struct pool tiny, small, large;
	struct escapes *escapes;
	const struct prefix_index *uploads; /* folders of uploads, by their real paths */
	struct places places;
	struct disk_tag *tags; /* entity tags that were made; disk_etag.c's */
	unsigned next_tag;     /* likewise */
	uint64_t silent_ms;    /* until then no shortage is logged */
	unsigned waiting;      /* files with a request */
	unsigned live;         /* files in all */
	bool ending;
	struct disk_warm *warm; /* DISK_WARM of them, once one is there; disk_body.c's */
	uint32_t range_look;    /* tells which bytes are looked at next; disk_body.c's */
	bool range_told;        /* the log has said why none goes out from the file itself */
};

/* Bytes read, shared with the connections that send them. */
struct disk_buf {
	struct ref ref;
	struct disk *disk;
	uint32_t size;
	char data[];
};

/* Bytes of it, by which a file that grew is told from one that was written anew. */
struct disk_sample {
	uint64_t at;
	size_t n; /* 0: none was taken */
	char bytes[DISK_SAMPLE];
};

/* Pieces that go out from the file itself, as ranges of a queue: see disk_body.c. */
struct disk_range {
	struct ref_file file;
	bool wanted; /* the configuration and the connection: set before it is read */
};

/* A piece of a file that was in memory, as the kernel said then. */
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

/* The step that a thread takes in a state, and its end on the loop, while somebody waits
 * for it: f->result is how it went. */
struct disk_plan {
	struct {
		void (*run)(struct job *j); /* NULL: no thread does anything */
		void (*then)(struct disk_file *f);
	} steps[DISK_STATES];
};

struct disk_file {
	struct disk *disk;
	struct h2d_req *req; /* NULL: it went away */
	enum disk_state state;
	const struct disk_plan *plan;
	void *ctx;
	struct file_id file_id; /* once open: of the file that is sent; while it is, as last seen */
	int64_t mtime;          /* seconds; of the file that was asked for */
	struct etag etag;       /* n 0: it has none now */

	/* Files beside it: asked for in disk_file_beside(), found by disk_file_open(). */
	enum coding beside[CODINGS];
	unsigned nbeside, nwanted; /* beside[nwanted] and what follows are not to be sent */
	enum coding coding; /* coding of the file that is sent: one beside it, or CODING_IDENTITY:
			       itself */
	bool has_beside;    /* there is one of them */

	unsigned spelled; /* segments of path whose spelling matters */
	struct place place;
	struct job job;
	bool busy;      /* a thread has it */
	bool counted;   /* in files_open */
	bool no_nowait; /* its file system does not know RWF_NOWAIT */
	char *escape;   /* the one that leads out of it, see escape.h; NULL: none was found */
	unsigned links; /* BENEATH_LEAVE, BENEATH_NO_LINKS or 0; set before it is opened */
	bool asks; /* likewise: where other machines write, its directories are asked for the name
		      first; else only for one that this machine's kernel does not know */
	bool uploaded; /* it was opened in a folder of uploads, by whatever links */
	struct disk_tree *tree;
	const char *look_at;     /* a root for the thread to look at, too; NULL: none */
	struct disk_root *root;  /* one reference held */
	struct disk_root *newer; /* the directory that the look found instead */
	uint64_t asked_ms;       /* clock_ms() when the thread was asked */
	int fd, result;
	enum beneath_kind kind;
	int64_t seen_ns; /* coarse wall clock before file_id was taken */
	struct disk_buf *buf;
	size_t at, have; /* bytes of buf not emitted yet */
	size_t piece;    /* bytes that a thread is to read */
	uint64_t off;    /* of the next byte to read */
	struct disk_sample first, last;
	struct disk_range range;
	char path[]; /* below root, NUL-terminated */
};

/* Looks at the roots; one that is not there may come. NULL with errno. */
struct disk *disk_new(struct loop *l, struct offload *o, const struct doc_roots *conf,
	struct doubt_client *doubts);

/* Gives back the buffers that are kept. */
void disk_trim(struct disk *d);

/* After the last request is gone; ends when the last thread comes back. */
void disk_free(struct disk **d);

/* Something of its own keeps it, its places and its roots, until it lets go; see disk_free(). */
void disk_hold(struct disk *d);
void disk_let_go(struct disk *d);

/* The directory of root is known to be (dev, ino) now, 0, 0 for none: if ours differs, it is looked
 * for. */
void disk_doubt(struct disk *d, unsigned root, uint64_t dev, uint64_t ino);

/* For req; path is copied. ctx: of the plan. NULL when memory is out. */
struct disk_file *disk_file_new(struct disk *d, struct h2d_req *req, unsigned root,
	struct slice path, const struct disk_plan *plan, void *ctx);

/*
 * Before opening: a regular file beside it, of the same name with the extension of that coding and
 * not older, is to be sent instead (wanted; the first one asked for wins), or only looked for
 * (!wanted; after all those that are).
 */
void disk_file_beside(struct disk_file *f, enum coding coding, bool wanted);

/*
 * Looks for it, and leaves it open if there is a place. 0: found; -EISDIR; -ENOENT: also whatever
 * is no regular file; another -errno; DISK_LATER.
 */
int disk_file_open(struct disk_file *f);

/* Behind the step of DISK_OPEN: as disk_file_open(). */
int disk_file_opened(struct disk_file *f);

/* True: the file is open. Otherwise it can be told what was found, and nothing be sent. */
static inline bool disk_file_is_open(const struct disk_file *f)
{
	return f->fd >= 0;
}

/* Looks for it once more, when it has a place: then it is open, if it is still there. */
int disk_file_open_in_turn(struct disk_file *f);

/* Finds f->etag, or makes it. 0, -errno or DISK_LATER. */
int disk_file_etag(struct disk_file *f);

/* Behind the step of DISK_TAG: as disk_file_etag(). */
int disk_file_tagged(struct disk_file *f);

/* Its response begins: whoever needs its place may have it while nothing is read, and it is opened
 * again for the next piece. */
void disk_file_begin(struct disk_file *f);

/* The request needs it no more; from now on nothing is called back. */
void disk_file_close(struct disk_file **f);

/* Makes f the source of b: closing b closes f. Before it is open, too: b is how a request that goes
 * away says so. */
void disk_file_attach(struct disk_file *f, struct body *b);

/* Steps for plans. */
void disk_open_run(struct job *j);
void disk_tag_run(struct job *j);
void disk_read_run(struct job *j);
void disk_read_then(struct disk_file *f);
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
/* Goes to that state, and has a thread take its step. DISK_LATER, or -errno. */
int disk_file_submit(struct disk_file *f, enum disk_state state, enum job_class class);
void disk_file_lend(struct disk_file *f);
void disk_file_try_place(struct disk_file *f);
bool disk_file_take_place(struct disk_file *f, void (*granted)(struct place *p));
/* Opens the file of f->file_id, if its name still leads to it: else -EAGAIN; flags: of beneath.h.
 */
int disk_file_reopen(struct disk_file *f, unsigned flags);
/* Adds the extension of a coding to f->path, until it is cut to the length that is answered. */
size_t disk_file_extend(struct disk_file *f, enum coding coding);
void disk_file_cut(struct disk_file *f, size_t n);
/* True: it is open. False: it has failed, or something is under way; then the request is resumed.
 */
bool disk_file_regain(struct disk_file *f);
void disk_file_fail(struct disk_file *f, int rc);
/* The head of its response is about to say its entity tag: takes a sample of the first bytes of a
 * long one, if they are in memory. */
void disk_file_sample_first(struct disk_file *f);
/* Reads as many of these bytes as are in memory; 0 if a thread must read; or -errno. */
ssize_t disk_file_read_now(struct disk_file *f, char *to, size_t n, uint64_t at);

#endif
