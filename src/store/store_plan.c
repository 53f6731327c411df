/*
 * store_plan: the plans of requests: the step in each state, and its successor; and the body, which
 * feeds them. Credit for a piece is given when the disk has it, so that a slow disk slows the
 * client and costs no memory.
 */
#include "base/clock.h"
#include "request/gate.h"
#include "store/store.h"

/*
 * A job has two changes of threads, so a fast client's pieces gather: at most half of what a client
 * may send ahead (H1_WINDOW, and AHEAD_FIRST), or it would wait.
 */
enum { GATHER = 256 << 10, GATHER_MS = 1 };

/* --- the body --------------------------------------------------------------------------------- */

/* True if the body is this upload's: a handler that has replied meanwhile gave it up. */
static bool may_take(const struct store *s)
{
	return s->state == STORE_BODY && req_body_flows(s->req);
}

static void take_all(struct store *s)
{
	struct body_queue *q = &s->req->body_queue;

	timer_disarm(&s->files->loop->wheel, &s->gather);
	s->work.pieces = body_queue_take_all(q, &s->taken);
	store_submit(s, q->ended ? STORE_SEAL : STORE_TAKE);
}

static void store_gathered(struct timer *gather)
{
	struct store *s = LIST_ENTRY(gather, struct store, gather);

	if (may_take(s))
		take_all(s);
}

static void store_pump(struct store *s)
{
	const struct body_queue *q = &s->req->body_queue;

	if (!may_take(s))
		return;
	if (q->ended || q->n >= GATHER)
		take_all(s);
	else if (q->first != NULL && !timer_armed(&s->gather))
		timer_arm(&s->files->loop->wheel, &s->gather, clock_ms() + GATHER_MS);
}

static void store_came_back(struct job *j)
{
	struct store *s = LIST_ENTRY(j, struct store, job);
	size_t n = s->taken;

	s->taken = 0;
	body_pieces_free(s->work.pieces);
	s->work.pieces = NULL;
	if (s->req == NULL) {
		store_retire(s);
		return;
	}
	if (n > 0)
		s->req->stream->consume(s->req, n);
	/* The keepers get a change first, though a power cut may undo it. */
	if (!store_ok(s->result) && !s->work.changed)
		store_fail(s, s->result);
	else
		s->plan->steps[s->state].then(s);
}

static void pump_task(struct task *t)
{
	store_pump(LIST_ENTRY(t, struct store, pump));
}

/* Reads the body when the turn ends: pieces that come together are written together. */
static void on_body(struct h2d_req *req)
{
	struct store *s = req->hook_state;

	loop_at_turn_end(s->files->loop, &s->pump);
}

static void on_gone(struct h2d_req *req)
{
	struct store *s = req->hook_state;
	size_t n;

	/* Refused, say for its body, before its writers are known: the gate's answer would find s
	 * freed. */
	if (req->gate != NULL)
		gate_leave(req);
	if (s->taken > 0)
		req->stream->consume(req, s->taken);
	if (s->plan->steps[STORE_KEEP].run != NULL) {
		s->work.rest = body_queue_take_all(&req->body_queue, &n);
		req->stream->consume(req, n);
	}
	store_leave(s);
}

void store_hook(struct store *s)
{
	static const struct req_hook upload = { .body = on_body, .gone = on_gone },
				     removal = { .gone = on_gone };

	task_init(&s->pump, pump_task);
	timer_init(&s->gather, store_gathered);
	s->job = (struct job){ .class = s->plan->walks ? JOB_LISTING : JOB_STORE,
		.done = store_came_back,
		.volume = s->tree };
	req_hook(s->req, store_takes_body(s->plan) ? &upload : &removal, s);
}

/* --- after a step ----------------------------------------------------------------------------- */

static void begun(struct store *s)
{
	store_go(s, STORE_BODY);
	if (s->work.part != NULL)
		store_resume_begun(s);
	req_body_draw(s->req);
	store_pump(s);
}

static void piece_taken(struct store *s)
{
	store_go(s, STORE_BODY);
	if (s->work.part != NULL)
		store_resume_progress(s);
	store_pump(s);
}

static void form_sealed(struct store *s)
{
	store_go(s, STORE_FILES);
	store_gate(s);
}

static void part_sealed(struct store *s)
{
	const struct store_part *p = s->work.part;

	if (s->work.changed) {
		store_tell(s);
	} else if (p->last) {
		store_submit(s, STORE_READ);
	} else if (p->goes_on) {
		store_resume_tell_offset(s);
		store_answer(s, 204, NULL, 0);
	} else {
		store_resume_tell_created(s);
		store_answer(s, 201, NULL, 0);
	}
}

static void looked(struct store *s)
{
	store_resume_tell_all(s);
	store_answer(s, 204, NULL, 0);
}

static void cancelled(struct store *s)
{
	store_answer(s, 204, NULL, 0);
}

/* --- the plans -------------------------------------------------------------------------------- */

const struct store_plan store_whole = {
	.steps = {
		[STORE_BEGIN] = { store_work_begin, begun },
		[STORE_TAKE] = { store_work_take, piece_taken },
		[STORE_SEAL] = { store_work_seal, store_tell },
	},
};

const struct store_plan store_form = {
	.steps = {
		[STORE_BEGIN] = { store_work_add_folders, begun },
		[STORE_TAKE] = { store_form_take, piece_taken },
		[STORE_SEAL] = { store_form_seal, form_sealed },
		[STORE_PLACE] = { store_work_place, store_tell },
	},
};

const struct store_plan store_resumable = {
	.steps = {
		[STORE_BEGIN] = { store_part_begin, begun },
		[STORE_TAKE] = { store_part_take, piece_taken },
		[STORE_SEAL] = { store_part_seal, part_sealed },
		[STORE_READ] = { store_part_read, part_sealed },
		[STORE_KEEP] = { store_part_keep, NULL },
	},
};

const struct store_plan store_look = {
	.steps = { [STORE_BEGIN] = { store_part_look, looked } },
};

const struct store_plan store_cancel = {
	.steps = { [STORE_BEGIN] = { store_part_cancel, cancelled } },
};

const struct store_plan store_remove = {
	.steps = { [STORE_BEGIN] = { store_work_remove, store_tell } },
};

const struct store_plan store_clear = {
	.walks = true,
	.steps = { [STORE_BEGIN] = { store_tree_remove, store_tell } },
};

const struct store_plan store_make = {
	.drive = true,
	.steps = { [STORE_BEGIN] = { store_tree_make, store_tell } },
};

const struct store_plan store_copy = {
	.drive = true,
	.walks = true,
	.steps = { [STORE_BEGIN] = { store_tree_copy, store_tell } },
};

const struct store_plan store_move = {
	.drive = true,
	.walks = true,
	.steps = { [STORE_BEGIN] = { store_tree_move, store_tell } },
};

const struct store_plan store_list = {
	.drive = true,
	.walks = true,
	.steps = { [STORE_BEGIN] = { store_tree_list, store_listed } },
};
