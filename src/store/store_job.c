/*
 * store_job: the steps of an upload on the disk, one job after the other, fed from the request's
 * queue. Credit for a piece is given when the disk has it, so that a slow disk slows the client and
 * costs no memory. What runs in a thread touches the job's part of struct store alone.
 */
#include <errno.h>

#include "base/clock.h"
#include "store/store.h"

/*
 * A job has two changes of threads, so a fast client's pieces gather: no more of them than half of
 * what a client may send ahead (H1_WINDOW, and the first of h2_window.c), or it would wait.
 */
enum { GATHER = 256 << 10, GATHER_MS = 1 };

/* --- in a thread ------------------------------------------------------------------------------ */

static int place(struct store *s)
{
	s->step = STORE_PLACE;
	return job_unwanted(&s->job) ? -ECANCELED : store_work_place(&s->work);
}

static int seal(struct store *s)
{
	int rc = store_work_take(&s->work, s->pieces);

	if (rc == 0)
		rc = store_work_seal(&s->work);
	/* Who may write the files of a form is asked first. */
	if (rc != 0 || s->work.form != NULL || !store_work_is_whole(&s->work))
		return rc;
	return place(s);
}

static int read_part(struct store *s)
{
	int rc = store_part_read(&s->work);

	return rc == 0 && store_work_is_whole(&s->work) ? place(s) : rc;
}

static int take(struct store *s)
{
	int rc = store_work_take(&s->work, s->pieces);

	if (rc == 0 && s->work.part != NULL)
		rc = store_part_sync(&s->work);
	s->progress = rc == 1;
	return s->progress ? 0 : rc;
}

/* For a client that went away while these were on their way: as much as can be. */
static int keep(struct store *s)
{
	int rc = store_work_take(&s->work, s->pieces);

	return rc == 0 ? store_work_take(&s->work, s->rest) : rc;
}

/* In what the root's path names now. */
static int open_root(struct store *s)
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
	return 0;
}

static int begin_step(struct store *s)
{
	int rc = open_root(s);

	if (rc != 0)
		return rc;
	switch (s->step) {
	case STORE_REMOVE:
		return store_work_remove(&s->work);
	case STORE_LOOK:
	case STORE_CANCEL:
		rc = store_work_open(&s->work);
		if (rc < 0)
			return rc;
		return s->step == STORE_LOOK ? store_part_look(&s->work)
					     : store_part_cancel(&s->work);
	default:
		return store_work_begin(&s->work);
	}
}

static int run(struct store *s)
{
	switch (s->step) {
	case STORE_BEGIN:
	case STORE_REMOVE:
	case STORE_LOOK:
	case STORE_CANCEL:
		return begin_step(s);
	case STORE_TAKE:
		return take(s);
	case STORE_SEAL:
		return seal(s);
	case STORE_READ:
		return read_part(s);
	case STORE_PLACE:
		return store_work_place(&s->work);
	case STORE_KEEP:
		return keep(s);
	case STORE_DROP:
		break;
	}
	return -ECANCELED;
}

static void work(struct job *j)
{
	struct store *s = LIST_ENTRY(j, struct store, job);

	s->result = run(s);
	/* Of what can be resumed there may be more to keep. */
	if (s->result == 0 && s->step < STORE_PLACE && (s->work.part != NULL || !job_unwanted(j)))
		return;
	/* Else what is left is done behind the answer. */
	s->closed = store_work_close(&s->work);
}

/* --- on the loop ------------------------------------------------------------------------------ */

/* The body has its end, and its files are not in their places. */
static void sealed(struct store *s)
{
	if (s->work.part == NULL)
		store_gate_files(s);
	else if (s->work.part->last)
		store_submit(s, STORE_READ);
	else
		store_resume_answer(s);
}

static void go_on(struct store *s)
{
	switch (s->step) {
	case STORE_BEGIN:
		if (s->work.part != NULL)
			store_resume_begun(s);
		req_body_draw(s->req);
		store_pump(s);
		break;
	case STORE_TAKE:
		if (s->progress)
			store_resume_progress(s);
		store_pump(s);
		break;
	case STORE_SEAL:
	case STORE_READ:
		sealed(s);
		break;
	case STORE_LOOK:
	case STORE_CANCEL:
		store_resume_answer(s);
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
			store_submit(s, s->rest != NULL ? STORE_KEEP : STORE_DROP);
		if (!s->busy)
			store_free(s);
		return;
	}
	if (n > 0)
		s->req->stream->consume(s->req, n);
	/* What changed is said to the keepers first, though a power cut may undo it. */
	if (s->result != 0 && !s->work.changed)
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
	while (!store_work_close(&s->work))
		continue;
	s->closed = true;
	if (s->req != NULL)
		store_fail(s, 503);
}

static bool may_take(const struct store *s)
{
	return !s->busy && req_body_flows(s->req) && s->step <= STORE_TAKE;
}

bool store_waits(const struct store *s)
{
	return s->req != NULL && may_take(s) && !s->req->body_queue.ended;
}

static void take_all(struct store *s)
{
	struct body_queue *q = &s->req->body_queue;

	timer_disarm(&s->files->loop->wheel, &s->gather);
	s->pieces = body_queue_take_all(q, &s->taken);
	store_submit(s, q->ended ? STORE_SEAL : STORE_TAKE);
}

void store_gathered(struct timer *gather)
{
	struct store *s = LIST_ENTRY(gather, struct store, gather);

	if (may_take(s))
		take_all(s);
}

void store_pump(struct store *s)
{
	const struct body_queue *q = &s->req->body_queue;

	if (!may_take(s))
		return;
	if (q->ended || q->n >= GATHER)
		take_all(s);
	else if (q->first != NULL && !timer_armed(&s->gather))
		timer_arm(&s->files->loop->wheel, &s->gather, clock_ms() + GATHER_MS);
}
