/*
 * store: one upload, or another change of the folder of uploads, on the loop: the state it is in,
 * the plan it follows, the request it is for. A plan's steps are jobs (store_work.h); every worker
 * answers with the files before the handler is told.
 */
#ifndef H2D_STORE_STORE_H
#define H2D_STORE_STORE_H

#include "base/states.h"
#include "files/files_private.h"
#include "request/req_body.h"
#include "store/store_part.h"

enum store_state {
#define STORE_STATE(name, next, help) STORE_##name,
#include "store/store_state.def"
	STORE_STATES
};
extern const struct states store_states;

struct store;

/* One kind of request, as what it does in each state. */
struct store_plan {
	struct {
		struct store_result (*run)(struct store_work *w); /* in a thread */
		void (*then)(struct store *s); /* on the loop, when that was done */
	} steps[STORE_STATES];
	void (*close)(struct store_work *w); /* in a thread, at the end */
};

/* A keeper that was asked to look at one of the files again; its images know of it from then on. */
struct store_doubt {
	struct doubt doubt;
	struct store *store;
};

/* One upload, or removal; it is its own memory, as a thread may have it when its request goes. */
struct store {
	struct h2d_req *req; /* NULL: it went away, or has its answer */
	struct files *files; /* until then */
	struct disk *disk;   /* held */
	h2d_stored_fn *done;
	const struct store_plan *plan;
	enum store_state state; /* store_go() alone writes it */

	struct job job;
	struct store_result result;   /* of the job */
	const char *tree;             /* path of the root */
	struct disk_root *root, *old; /* a reference each is held */
	struct store_work work;       /* the job's, while a thread has it */
	size_t taken;                 /* bytes of work.pieces, whose credit is to be given */
	size_t below;                 /* bytes of the path behind that of the file */
	bool takes_104;               /* the client knows what that means */
	uint64_t told;                /* the offset that it knows of */
	struct place place;
	struct task pump;    /* looks at the body's queue, at the end of a turn */
	struct timer gather; /* armed while pieces wait for more of them */

	unsigned gated; /* paths of its files that the client may write to */
	struct store_doubt *asked;
	unsigned nasked, nwaits; /* keepers that have not answered */
	struct arena arena;      /* copies of the request for the job, and words about its files */
};

/* --- store_job.c ------------------------------------------------------------------------------ */

/* The only writer of s->state: asserts the predecessor. */
void store_go(struct store *s, enum store_state state);
/* Goes to state, and has a thread take the plan's step; s->job.done comes, also without a thread.
 */
void store_submit(struct store *s, enum store_state state);
/* The request is answered, or gone. */
void store_leave(struct store *s);
/* No request and no thread has s any more: has what is left kept, closed, and freed. */
void store_retire(struct store *s);

/* --- store_end.c ------------------------------------------------------------------------------ */

/* It failed: says why in the log, and answers. */
void store_fail(struct store *s, struct store_result r);
/* Names changed: the handler is told once every worker answers with what they stand for. */
void store_tell(struct store *s);
/* The handler is told, and the request is over. */
void store_answer(struct store *s, int status, const struct h2d_stored *files, unsigned n);
/* The path of the file of that name, below the root; where clients ask for it. In s->arena, n 0
 * without memory. */
struct slice store_own_path(struct store *s, const char *name);
struct slice store_public_path(struct store *s, const char *name);

/* --- store_gate.c ----------------------------------------------------------------------------- */

/* Whether anything says who may write the file of that name; "": any. */
bool store_gate_has_writers(struct store *s, const char *name);
/* Asks who may write, and for a place among the open files; then the first step is taken. */
void store_gate(struct store *s);
/* Asks who may write the files of a form; then they are placed. */
void store_gate_files(struct store *s);

/* --- store_resume.c --------------------------------------------------------------------------- */

/* Finds whether s, of a request that stores, can be resumed: s->work.part is there then. */
const struct err *store_resume_offered(struct store *s);
/* Finds what a request to the upload of that token asks. */
const struct err *store_resume_asked(struct store *s, struct slice token);
/* An upload can be resumed from here on; so much of it is on the disk: the client is told early. */
void store_resume_begun(struct store *s);
void store_resume_progress(struct store *s);
/* Adds the fields of an answer: an upload was created, went on, was looked at. */
void store_resume_tell_created(struct store *s);
void store_resume_tell_offset(struct store *s);
void store_resume_tell_all(struct store *s);
/* Answers that the request failed. True: it is answered, else the handler does that. */
bool store_resume_failed(struct store *s, const struct err *err);

/* --- store_plan.c ----------------------------------------------------------------------------- */

extern const struct store_plan store_whole, store_form, store_resumable;
extern const struct store_plan store_look, store_cancel, store_remove;

/* The job is back: goes on by the plan. */
void store_came_back(struct job *j);
/* The body has more, or its end. */
void store_pump(struct store *s);
/* The body has no more for now: a thread takes what there is. */
void store_gathered(struct timer *gather);

#endif
