/*
 * store: the calls of h2d/handler.h that store and remove files (h2d_store…): from a request's body
 * in its queue to files in the folder of uploads, which every worker answers with before the
 * handler is told. On the loop; all that may block is a job of store_work.
 */
#ifndef H2D_STORE_STORE_H
#define H2D_STORE_STORE_H

#include "files/files_private.h"
#include "request/req_body.h"
#include "store/store_part.h"
#include "store/store_work.h"

/* In the order in which an upload takes them, as far as STORE_PLACE. */
enum store_step {
	STORE_BEGIN,  /* open the folder */
	STORE_TAKE,   /* write what came */
	STORE_SEAL,   /* check what came, and wait for the disk */
	STORE_READ,   /* what earlier requests brought, to hash it */
	STORE_PLACE,  /* give the files their names */
	STORE_REMOVE, /* the file goes */
	STORE_LOOK,   /* how much of an upload is there */
	STORE_CANCEL, /* remove what is there of an upload */
	STORE_KEEP,   /* write what came, for a client that went away */
	STORE_DROP,   /* nobody wants it any more */
};

struct store;

/* A keeper that was asked to look at one of the files again; its images know of it from then on. */
struct store_doubt {
	struct doubt doubt;
	struct store *store;
};

/* One upload, or removal; it is its own memory, as a thread may have it when its request goes. */
struct store {
	struct h2d_req *req; /* NULL: it went away */
	struct files *files; /* until then */
	struct disk *disk;   /* held */
	h2d_stored_fn *done;

	struct job job;
	enum store_step first;        /* what the request is for */
	enum store_step step;         /* of the job, or of the one before */
	bool busy;                    /* a thread has it */
	bool closed;                  /* store_work_close() has nothing more to do */
	int result;                   /* of the job */
	const char *tree;             /* path of the root */
	struct disk_root *root, *old; /* a reference each is held */
	struct store_work work;       /* the job's, while it is busy */
	struct body_piece *pieces;    /* likewise: what it writes */
	size_t taken;                 /* bytes of pieces, whose credit is to be given */
	struct body_piece *rest;      /* more of them, of a client that has gone: to be kept */
	size_t below;                 /* bytes of the path behind that of the file */
	bool takes_104;               /* the client knows what that means */
	bool progress;                /* the job made some that it may be told of */
	struct place place;
	struct task pump;    /* looks at the body's queue, at the end of a turn */
	struct timer gather; /* armed while pieces wait for more of them */

	unsigned gated; /* paths of its files that the client may write to */
	struct store_doubt *asked;
	unsigned nasked, nwaits; /* keepers that have not answered */
	struct arena arena; /* what the job reads of the request, and what is said of its files */
};

/* store.c: lets the gate decide on the files of a form, then takes the next step. */
void store_gate_files(struct store *s);

/* store_job.c */

/* Has a thread do step; what comes of it goes on by itself. */
void store_submit(struct store *s, enum store_step step);
/* The body has more, or its end. */
void store_pump(struct store *s);
/* It is its client that it waits for. */
bool store_waits(const struct store *s);
/* The body has no more for now: a thread takes what there is. */
void store_gathered(struct timer *gather);

/* store_end.c */

/* The upload is over: the handler is told. */
void store_fail(struct store *s, int status);
/* The files are in their places: the handler is told once every worker answers with them. */
void store_succeed(struct store *s);
/* The request is answered, or gone: s is freed when its job comes back. */
void store_leave(struct store *s);
/* Frees s, after store_leave(): no thread has it. */
void store_free(struct store *s);
/* Logs what the peer did wrong. The status that says so. */
int store_wrong(const struct store *s, const struct err *err);
/* The status for the result of a step that failed; the log has the reason. */
int store_status(const struct store *s);
/* The handler is told, and the request is over. */
void store_answer(struct store *s, int status, const struct h2d_stored *files, unsigned n);
/* Where the file of that name lies below the root; where clients ask for it. In s->arena, n 0
 * without memory. */
struct slice store_own_path(struct store *s, const char *name);
struct slice store_public_path(struct store *s, const char *name);

/* store_resume.c */

/* Finds whether s, of a request that stores, can be resumed. 0, or the status that refuses it. */
int store_resume_offered(struct store *s);
/* Finds what a request to the upload of that token asks. 0, or the status that refuses it. */
int store_resume_asked(struct store *s, struct slice token);
/* Behind the gate: whose it is. False: memory is out. */
bool store_resume_user(struct store *s);
/* An upload can be resumed from here on; so much of it is on the disk: the client is told. */
void store_resume_begun(struct store *s);
void store_resume_progress(struct store *s);
/* Answers a request that is done and leaves no file in its place yet. */
void store_resume_answer(struct store *s);
/* The answer will say that the file is in its place. */
void store_resume_placed(struct store *s);
/* Answers that the request failed. True: it is answered, else the handler does that. */
bool store_resume_failed(struct store *s, int status);

#endif
