/*
 * store_job: the steps of an upload on the disk, one job after the other, fed from the request's
 * queue. Credit for a piece is given when the disk has it, so that a slow disk slows the client and
 * costs no memory. What runs in a thread touches the job's part of struct store alone.
 */
#include <errno.h>

#include "files/store.h"

/* --- in a thread ------------------------------------------------------------------------------ */

static int seal(struct store *s)
{
	int rc = store_work_take(&s->work, s->pieces);

	if (rc == 0)
		rc = store_work_seal(&s->work);
	/* Who may write the files of a form is asked first. */
	if (rc != 0 || s->work.form != NULL)
		return rc;
	s->step = STORE_PLACE;
	return job_unwanted(&s->job) ? -ECANCELED : store_work_place(&s->work);
}

/* In what the root's path names now. */
static int begin(struct store *s)
{
	struct disk_root *newer = disk_root_look(s->tree, s->root);

	if (newer != NULL) {
		s->old = s->root;
		s->root = newer;
	}
	if (s->root->fd < 0)
		return -ENOENT;
	s->work.root = s->root->fd;
	s->closed = false;
	return s->work.removes ? store_work_remove(&s->work) : store_work_begin(&s->work);
}

static int run(struct store *s)
{
	switch (s->step) {
	case STORE_BEGIN:
	case STORE_REMOVE:
		return begin(s);
	case STORE_TAKE:
		return store_work_take(&s->work, s->pieces);
	case STORE_SEAL:
		return seal(s);
	case STORE_PLACE:
		return store_work_place(&s->work);
	case STORE_DROP:
		break;
	}
	return -ECANCELED;
}

static void work(struct job *j)
{
	struct store *s = LIST_ENTRY(j, struct store, job);

	s->result = run(s);
	if (s->result == 0 && s->step < STORE_PLACE && !job_unwanted(j))
		return;
	store_work_close(&s->work);
	s->closed = true;
}

/* --- on the loop ------------------------------------------------------------------------------ */

static void go_on(struct store *s)
{
	switch (s->step) {
	case STORE_BEGIN:
		req_await_body(s->req);
		store_pump(s);
		break;
	case STORE_TAKE:
		store_pump(s);
		break;
	case STORE_SEAL:
		store_gate_files(s);
		break;
	default:
		store_succeed(s);
	}
}

static void came_back(struct job *j)
{
	struct store *s = LIST_ENTRY(j, struct store, job);
	size_t n = s->taken;

	s->busy = false;
	s->taken = 0;
	body_pieces_free(s->pieces);
	s->pieces = NULL;
	if (s->req == NULL) {
		if (!s->closed)
			store_submit(s, STORE_DROP);
		if (!s->busy)
			store_free(s);
		return;
	}
	if (n > 0)
		s->req->stream->consume(s->req, n);
	if (s->result != 0)
		store_fail(s, store_status(s));
	else
		go_on(s);
}

void store_submit(struct store *s, enum store_step step)
{
	s->step = step;
	s->job.class = JOB_STORE;
	s->job.work = work;
	s->job.done = came_back;
	s->job.owner = s->req != NULL ? s->req->conn : NULL;
	s->job.place = s->tree;
	/* A thread may have it, and have done it, when this returns. */
	s->busy = offload_submit(s->disk->offload, &s->job) == 0;
	if (s->busy)
		return;
	/* Without a thread; it is all that can be done. */
	store_work_close(&s->work);
	s->closed = true;
	if (s->req != NULL)
		store_fail(s, 503);
}

void store_pump(struct store *s)
{
	struct body_queue *q = &s->req->body_queue;

	if (s->busy || !s->req->body_awaited || s->step > STORE_TAKE)
		return;
	if (q->first == NULL && !q->ended)
		return;
	s->pieces = body_queue_take_all(q, &s->taken);
	store_submit(s, q->ended ? STORE_SEAL : STORE_TAKE);
}
