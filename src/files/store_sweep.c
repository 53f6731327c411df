/*
 * store_sweep: one job for each folder. Called on the loop; it never touches the names of an upload
 * that lives, of whatever worker (store_dir.h).
 */
#include "files/store_sweep.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "files/files_private.h"
#include "files/store_dir.h"

struct sweep {
	struct job job;
	const char *root;
	struct slice dir;
	int swept; /* or -errno */
};

static void work(struct job *j)
{
	struct sweep *s = LIST_ENTRY(j, struct sweep, job);
	struct disk_root *root = disk_root_look(s->root, NULL);
	struct store_dir d = { .fd = -1, .lock = -1 };
	char *path = strndup(s->dir.p, s->dir.n);

	s->swept = root == NULL || path == NULL ? -ENOMEM : 0;
	if (s->swept == 0)
		s->swept = root->fd < 0 ? -ENOENT : store_dir_open(&d, root->fd, path);
	if (s->swept == 0)
		s->swept = store_dir_sweep(&d);
	store_dir_close(&d);
	if (root != NULL)
		ref_put(&root->ref);
	free(path);
}

static void done(struct job *j)
{
	struct sweep *s = LIST_ENTRY(j, struct sweep, job);

	if (s->swept > 0)
		log_notice("%s%.*s: %d left-overs of uploads removed", s->root, SLICE_ARG(s->dir),
			s->swept);
	else if (s->swept < 0)
		log_warn("%s%.*s: not looked at for left-overs of uploads: %s", s->root,
			SLICE_ARG(s->dir), strerror(-s->swept));
	free(s);
}

static void begin(struct files *f, const char *root, struct slice dir)
{
	struct sweep *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return;
	s->root = root;
	s->dir = dir;
	s->job.class = JOB_STORE;
	s->job.place = root;
	s->job.work = work;
	s->job.done = done;
	if (offload_submit(f->offload, &s->job) < 0)
		free(s);
}

void store_sweep(struct files *f, const struct sites *sites)
{
	for (unsigned i = 0; i < sites->n; i++)
		if (sites->v[i].uploads.n > 0 && sites->v[i].has_root)
			begin(f, f->roots[sites->v[i].root].root, sites->v[i].uploads);
}
