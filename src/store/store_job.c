/*
 * store_job: the states of an upload, and its steps in threads, one job after the other, down to
 * its last one. A thread touches only the job's part of struct store.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/counters.h"
#include "share/tally.h"
#include "store/store.h"

const struct states store_states = {
	.of = "upload",
	.rows = {
#define STORE_STATE(name, next, help) { #name, next },
#include "store/store_state.def"
	},
};

void store_go(struct store *s, enum store_state state)
{
	STATES_STEP(&store_states, s->state, state);
}

/* --- in a thread ------------------------------------------------------------------------------ */

/* Opens the directory below the present root. */
static int open_folder(struct store *s)
{
	struct disk_root *newer = disk_root_look(s->tree, s->root);

	if (newer != NULL) {
		s->old = s->root;
		s->root = newer;
	}
	if (s->root->fd < 0)
		return -ENOENT;
	s->work.root = s->root->fd;
	return store_work_open(&s->work);
}

/* True if later steps need the open files. A resumable upload may have more to keep. */
static bool goes_on(const struct store *s)
{
	return s->state != STORE_KEEP && store_takes_body(s->plan) && store_ok(s->result) &&
	       !s->work.changed && (s->work.part != NULL || !job_unwanted(&s->job));
}

static void close_all(struct store *s)
{
	if (s->work.at.fd < 0)
		return;
	if (s->work.part != NULL)
		store_part_close(&s->work);
	store_tree_close(&s->work);
	store_work_close(&s->work);
}

static void step_work(struct job *j)
{
	struct store *s = LIST_ENTRY(j, struct store, job);

	if (s->state == STORE_DROP) {
		close_all(s);
		store_work_free_replaced(&s->work);
		return;
	}
	s->result = store_errno(s->state == STORE_BEGIN ? open_folder(s) : 0);
	if (store_ok(s->result))
		s->result = s->plan->steps[s->state].run(&s->work);
	if (!goes_on(s))
		close_all(s);
}

/* --- on the loop ------------------------------------------------------------------------------ */

void store_submit(struct store *s, enum store_state state)
{
	int rc;

	store_go(s, state);
	s->job.work = step_work;
	s->job.owner = s->req != NULL ? s->req->conn : NULL;
	/* A thread may have it, or have done it, on return. */
	rc = offload_submit(s->disk->offload, &s->job);
	if (rc == 0)
		return;
	/* No thread: the loop closes open files, as no other will. */
	close_all(s);
	store_work_free_replaced(&s->work);
	s->result = store_errno(rc);
	s->job.done(&s->job);
}

static void free_all(struct store *s)
{
	COUNT(folders_walked, s->work.quota.walks);
	if (s->listing.n > 0)
		budget_give(&s->files->lists, s->place.turn.account,
			s->work.tree.entries.n + s->work.tree.names.n);
	if (s->work.quota.doubted)
		store_sweep_soon();
	store_work_free(&s->work);
	if (s->old != NULL)
		ref_put(&s->old->ref);
	if (s->root != NULL)
		ref_put(&s->root->ref);
	places_give(&s->disk->places, &s->place);
	if (s->holding != NULL)
		holding_give(s->holding, s->account);
	ref_put(&s->disk->ref);
	free(s->asked);
	arena_reset(&s->arena);
	free(s);
	COUNT(uploads_live, -1);
}

void store_retire(struct store *s)
{
	const struct store_work *w = &s->work;
	bool keeps =
		s->plan->steps[STORE_KEEP].run != NULL && (w->pieces != NULL || w->rest != NULL);

	if (store_work_is_open(w)) {
		store_submit(s, keeps ? STORE_KEEP : STORE_DROP);
		return;
	}
	store_go(s, STORE_OVER);
	free_all(s);
}

void store_leave(struct store *s)
{
	s->req = NULL;
	loop_cancel(&s->pump);
	timer_disarm(&s->files->loop->wheel, &s->gather);
	for (unsigned i = 0; i < s->nasked; i++)
		doubt_client_cancel(&s->asked[i]);
	places_leave(&s->disk->places, &s->place);
	/* Else a thread has it. */
	if ((s->state != STORE_DROP && s->plan->steps[s->state].run == NULL) ||
		offload_cancel(s->disk->offload, &s->job))
		store_retire(s);
}
