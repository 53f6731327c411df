/*
 * store: one upload, or another change of the directory of uploads, on the loop: its state, plan
 * and request. A plan's steps are jobs (store_work.h); every worker answers with the files before
 * the handler is told.
 */
#pragma once

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

/* A plan: the step of each state with a thread, and the function after it. */
struct store_plan {
	struct {
		struct store_result (*run)(struct store_work *w); /* the step, in a thread */
		void (*then)(struct store *s); /* on the loop, after a step that succeeded */
	} steps[STORE_STATES];
	bool walks; /* may take long: leaves most threads to uploads */
	bool drive; /* exists on drives only */
};

/* The arguments of a handler's call; borrowed. */
struct store_call {
	const struct store_plan *plan;
	struct slice path, token;
	struct slice destination; /* URL of a copy; else n 0 */
	unsigned how;             /* enum h2d_copy */
	h2d_stored_fn *done;
	h2d_listed_fn *listed; /* in place of done, for a list; NULL: none */
};

/* An upload or a removal. It owns its memory: a thread may have it when its request ends. */
struct store {
	struct h2d_req *req; /* NULL: ended, or answered */
	struct files *files; /* until then */
	struct disk *disk;   /* held */
	h2d_stored_fn *done;
	h2d_listed_fn *listed; /* in place of done, for a list; NULL: none */
	const struct store_plan *plan;
	enum store_state state; /* store_go() alone writes it */

	struct job job;
	struct store_result result;   /* of the job */
	const char *tree;             /* path of the root */
	struct disk_root *root, *old; /* one reference each is held */
	struct store_work work;       /* the job's, while a thread has it */
	size_t taken;                 /* bytes of work.pieces whose credit is due */
	size_t below;                 /* length of the path below its directory's */
	bool takes_104;               /* the client supports 104 */
	uint64_t told;                /* the offset that the client knows */
	struct place place;
	struct holding *holding; /* of the account that counts it; NULL: not counted */
	struct account *account;
	struct h2d_listing listing; /* being sent; n 0: none */
	struct task pump;           /* reads the body's queue, at the end of a turn */
	struct timer gather;        /* armed while pieces wait for more */

	struct slice to_own, to_public; /* paths of the destination; n 0: none */
	unsigned gated;                 /* number of checked paths */
	struct doubt *asked;            /* of the keepers, about each changed name */
	unsigned nasked, nwaits;        /* keepers without an answer */
	struct arena arena; /* copies of the request for the job, and texts about its files */
};

/* --- store_path.c ----------------------------------------------------------------------------- */

/* Checks "a/b/name", or of a plan for a directory "a/b". */
const struct err *store_path_check(const struct store *s, struct slice path);
/* Reads the destination (n 0: none) and finds the rules of the paths, for a request on a drive that
 * is set up. */
const struct err *store_path_ask(struct store *s, struct slice destination);

/* --- store_job.c ------------------------------------------------------------------------------ */

/* The only writer of s->state: asserts the predecessor. */
void store_go(struct store *s, enum store_state state);
/* Goes to state and makes a thread take its step. s->job.done() follows, even if no thread can
 * start. */
void store_submit(struct store *s, enum store_state state);
/* Releases the request, which is answered or ended. */
void store_leave(struct store *s);
/* Makes a thread keep and close open files, then frees s, which no request and no thread has. */
void store_retire(struct store *s);

/* --- store_end.c ------------------------------------------------------------------------------ */

/* Logs why the request failed, and answers it. */
void store_fail(struct store *s, struct store_result r);
/* Tells keepers that names changed, then the handler: every worker answers with the new files. */
void store_tell(struct store *s);
/* Calls the handler and releases the request. */
void store_answer(struct store *s, int status, const struct h2d_stored *files, unsigned n);
/* Calls the handler with a list. */
void store_listed(struct store *s);
/* Paths of the file of that name, in s->arena: below the root, and in the URL. n 0: memory is
 * out. */
struct slice store_own_path(struct store *s, const char *name);
struct slice store_public_path(struct store *s, const char *name);

/* --- store_gate.c ----------------------------------------------------------------------------- */

/* True if the configuration names writers for the file of that name; "": any file. */
bool store_gate_has_writers(struct store *s, const char *name);
/* Checks the writer, and gets a place among the open files; then takes the first step. In FILES:
 * checks the writer of a form's files; then places them. */
void store_gate(struct store *s);

/* --- store_resume.c --------------------------------------------------------------------------- */

/* Makes s->work.part if the upload of path, "a/b/name", is to be resumable. */
const struct err *store_resume_offered(struct store *s, struct slice path);
/* Reads the request's headers for the upload of that token. */
const struct err *store_resume_asked(struct store *s, struct slice path, struct slice token);
/* Interim responses (104): the upload is resumable from here on; so much of it is on the disk. */
void store_resume_begun(struct store *s);
void store_resume_progress(struct store *s);
/* Adds headers to the answer of a request that created, continued or queried an upload. */
void store_resume_tell_created(struct store *s);
void store_resume_tell_offset(struct store *s);
void store_resume_tell_all(struct store *s);
/* Adds the error's facts about the upload. True: that is the answer; else the handler gives one. */
bool store_resume_failed(struct store *s, const struct err *err);

/* --- store_sweep.c -----------------------------------------------------------------------------
 */

/* Sweeps the directories of uploads of all sites, whose strings stay: removes remains of dead
 * workers' uploads, and uploads not resumed for resume-expires seconds, and scans for the sums
 * (store_quota.h). A thread does it, and logs failures. */
void store_sweep(struct files *f, const struct sites *sites);
/* Requests it at the next look: a sum must be recomputed. */
void store_sweep_soon(void);
/* Called about once a second by a worker: sweeps again when uploads may have expired. */
void store_sweep_look(struct files *f, const struct sites *sites);

/* --- store_plan.c ----------------------------------------------------------------------------- */

extern const struct store_plan store_whole, store_form, store_resumable;
extern const struct store_plan store_look, store_cancel, store_remove;
extern const struct store_plan store_make, store_copy, store_move, store_clear, store_list;

static inline bool store_takes_body(const struct store_plan *plan)
{
	return plan->steps[STORE_TAKE].run != NULL;
}

/* s works on its request from now on. */
void store_hook(struct store *s);
