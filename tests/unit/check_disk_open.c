/*
 * check_disk_open: a file on another mount is opened in two tries, the second by a thread of its
 * own, however early or late that is. The threads are this file's: offload.c is not linked.
 */
#include "files_unit.h"
#include "unit.h"

/* When the work of a job is done: when it is submitted; or once the loop goes on. */
static enum { AT_ONCE, LATER } speed;

struct offload {
	struct loop *loop;
	struct task turn;
	struct list jobs; /* done() comes */
	unsigned pending;
};

static void turn(struct task *t)
{
	struct offload *o = LIST_ENTRY(t, struct offload, turn);
	struct list jobs, *node;

	list_init(&jobs);
	list_splice(&jobs, &o->jobs);
	while ((node = list_pop(&jobs)) != NULL) {
		struct job *j = LIST_ENTRY(node, struct job, node);

		if (speed == LATER)
			j->work(j);
		o->pending--;
		j->done(j);
	}
}

struct offload *offload_new(struct loop *l, unsigned nthreads)
{
	struct offload *o = calloc(1, sizeof(*o));

	o->loop = l;
	list_init(&o->jobs);
	task_init(&o->turn, turn);
	return o;
}

int offload_submit(struct offload *o, struct job *j)
{
	list_init(&j->node);
	list_append(&o->jobs, &j->node);
	o->pending++;
	loop_ready(o->loop, &o->turn);
	if (speed == AT_ONCE)
		j->work(j);
	return 0;
}

bool offload_cancel(struct offload *o, struct job *j)
{
	if (speed == AT_ONCE)
		return false;
	list_remove(&j->node);
	o->pending--;
	return true;
}

unsigned offload_pending(const struct offload *o)
{
	return o->pending;
}

void offload_free(struct offload **o)
{
	ck_assert_uint_eq((*o)->pending, 0);
	loop_cancel(&(*o)->turn);
	free(*o);
	*o = NULL;
}

/* /proc is a mount of its own below "/". */
UNIT_SETUP(start)
{
	files_free(&unit_files);
	unit_root.root = "/";
	unit_files = files_new(&unit_loop, unit_offload, &unit_conf);
	ck_assert_ptr_nonnull(unit_files);
	unit_env.files = unit_files;
}

static const struct {
	const char *path;
	int status;
} asked[] = {
	{ "/proc/version", 200 },
	{ "/proc/none", 404 },
	{ "/proc", 301 },
};

TEST_EACH(on_another_mount, 2 * sizeof(asked) / sizeof(asked[0]))
{
	struct h2d_req *req;

	speed = _i % 2 == 0 ? AT_ONCE : LATER;
	req = unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, asked[_i / 2].path, NULL, NULL);
	for (int turns = 0; turns < 20 && !req->reply.ready; turns++)
		ck_assert_int_eq(loop_turn(&unit_loop, 0), 0);
	ck_assert(req->reply.ready);
	ck_assert_int_eq(req->reply.status, asked[_i / 2].status);
	unit_end(req);
	while (offload_pending(unit_offload) > 0)
		ck_assert_int_eq(loop_turn(&unit_loop, 0), 0);
}
