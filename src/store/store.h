/*
 * store: one upload, or another change of the folder of uploads, on the loop: the state it is in,
 * the plan it follows, the request it is for. A plan's steps are jobs (store_work.h); every worker
 * answers with the files before the handler is told.
 */
#ifndef H2D_STORE_STORE_H
#define H2D_STORE_STORE_H

#include "base/states.h"
#include "files/files.h"
#include "request/req_body.h"
#include "store/store_part.h"

enum store_state {
#define STORE_STATE(name, next, help) STORE_##name,
#include "store/store_state.def"
	STORE_STATES
};
extern const struct states store_states;

struct store;

/* A plan: the step of each state in which a thread works, and what follows it. */
struct store_plan {
	struct {
		struct store_result (*run)(struct store_work *w); /* the step, in a thread */
		void (*then)(struct store *s); /* on the loop, after a step that succeeded */
	} steps[STORE_STATES];
	void (*close)(struct store_work *w); /* closes what is open; in a thread */
};

/* A question to the keepers: none of their images calls that file fresh once it is answered. */
struct store_doubt {
	struct doubt doubt;
	struct store *store;
};

/* An upload or a removal. It owns its memory: a thread may have it when its request goes. */
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
	bool takes_104;               /* the client understands 104 */
	uint64_t told;                /* the offset that the client knows */
	struct place place;
	struct holding *holding; /* by which account has it counted; NULL: it does not count */
	struct account *account;
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
/* Goes to state and has a thread take its step. s->job.done() follows, even when no thread can be
 * had. */
void store_submit(struct store *s, enum store_state state);
/* Lets go of the request, which is answered or gone. */
void store_leave(struct store *s);
/* Has a thread keep and close what is open, then frees s, which no request and no thread has. */
void store_retire(struct store *s);

/* --- store_end.c ------------------------------------------------------------------------------ */

/* Logs why the request failed, and answers it. */
void store_fail(struct store *s, struct store_result r);
/* Tells keepers that names changed, then the handler: every worker answers with the new files. */
void store_tell(struct store *s);
/* Calls the handler and lets go of the request. */
void store_answer(struct store *s, int status, const struct h2d_stored *files, unsigned n);
/* Paths of the file of that name, in s->arena: below the root, and where clients ask for it. n 0:
 * memory is out. */
struct slice store_own_path(struct store *s, const char *name);
struct slice store_public_path(struct store *s, const char *name);

/* --- store_gate.c ----------------------------------------------------------------------------- */

/* Whether the configuration says who may write the file of that name; "": any file. */
bool store_gate_has_writers(struct store *s, const char *name);
/* Asks who may write, and for a place among the open files; then the first step is taken. */
void store_gate(struct store *s);
/* Asks who may write the files of a form; then they are placed. */
void store_gate_files(struct store *s);

/* --- store_resume.c --------------------------------------------------------------------------- */

/* Makes s->work.part if the upload is to be one that can be resumed. */
const struct err *store_resume_offered(struct store *s);
/* Reads what the request asks of the upload of that token. */
const struct err *store_resume_asked(struct store *s, struct slice token);
/* Interim responses (104): the upload can be resumed from here on; so much of it is on the disk. */
void store_resume_begun(struct store *s);
void store_resume_progress(struct store *s);
/* Adds the fields of an answer to a request that created an upload, continued it, asked for it. */
void store_resume_tell_created(struct store *s);
void store_resume_tell_offset(struct store *s);
void store_resume_tell_all(struct store *s);
/* Adds what a failed request is told of its upload. True: that is the answer; else the handler
 * gives one. */
bool store_resume_failed(struct store *s, const struct err *err);

/* --- store_plan.c ----------------------------------------------------------------------------- */

extern const struct store_plan store_whole, store_form, store_resumable;
extern const struct store_plan store_look, store_cancel, store_remove;

/* Takes s back from its thread and continues by the plan. */
void store_came_back(struct job *j);
/* Hands a thread what the body has, once that is enough or all. */
void store_pump(struct store *s);
/* Hands a thread what the body has: no more came in time. */
void store_gathered(struct timer *gather);

#endif
