/*
 * store_sweep: one job per directory. Called on the loop; it never touches the names of a live
 * upload, of any worker (store_dir.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/counters.h"
#include "base/log.h"
#include "store/store.h"

/* Seconds that a resumable upload stays when that is switched off: workers of the generation before
 * may still use it. */
enum { OFF_MAX_AGE = 86400, EVERY_MAX_S = 600 };

static unsigned under_way; /* sweeps of this worker */
static uint64_t waits_s;   /* until the next ones */

struct sweep {
	struct job job;
	const char *root;
	struct slice dir;
	uint64_t expires;
	unsigned depth;
	struct store_quota quota;
	int swept; /* or -errno */
};

/* Recomputes the sum, after the removals. */
static int renew(struct store_quota *q, const struct store_dir *d)
{
	int rc = store_quota_open(q, d);

	if (rc == 0 && q->max > 0)
		rc = store_quota_renew(q, d);
	store_quota_close(q);
	return rc;
}

static int sweep(struct sweep *s, struct store_dir *d)
{
	int left_over = store_dir_sweep(d), forgotten, rc;

	if (left_over < 0)
		return left_over;
	forgotten = store_ticket_sweep(d, s->expires);
	rc = renew(&s->quota, d);
	return forgotten < 0 ? forgotten : rc < 0 ? rc : left_over + forgotten;
}

static void sweep_work(struct job *j)
{
	struct sweep *s = LIST_ENTRY(j, struct sweep, job);
	struct disk_root *root = disk_root_look(s->root, NULL);
	struct store_dir d = { .fd = -1, .lock = -1, .depth = s->depth };
	char *path = strndup(s->dir.p, s->dir.n);

	s->swept = root == NULL || path == NULL ? -ENOMEM : 0;
	if (s->swept == 0)
		s->swept = root->fd < 0 ? -ENOENT : store_dir_open(&d, root->fd, path);
	if (s->swept == 0)
		s->swept = sweep(s, &d);
	store_dir_close(&d);
	if (root != NULL)
		ref_put(&root->ref);
	free(path);
}

static void sweep_done(struct job *j)
{
	struct sweep *s = LIST_ENTRY(j, struct sweep, job);

	if (s->swept > 0)
		log_notice("%s%.*s: removed %d left-over upload files", s->root, SLICE_ARG(s->dir),
			s->swept);
	else if (s->swept < 0)
		log_warn("%s%.*s: cannot remove left-over upload files: %s", s->root,
			SLICE_ARG(s->dir), strerror(-s->swept));
	COUNT(folders_walked, s->quota.walks);
	free(s);
	under_way--;
}

static const char *root_of(const struct files *f, const struct site *site)
{
	return f->roots[site->root].root;
}

/* Sites may share a directory, in which uploads have no owner: they stay as long as any site
 * allows. */
static uint64_t expires(
	const struct files *f, const struct sites *sites, const struct site *site, struct slice dir)
{
	uint64_t longest = 0;

	for (const struct site *s = sites->v; s != sites->v + sites->n; s++) {
		uint64_t one = s->resume_expires > 0 ? s->resume_expires : OFF_MAX_AGE;

		for (unsigned i = 0; s->has_root && i < s->nuploads; i++)
			if (one > longest && slice_eq(s->uploads[i].dir, dir) &&
				strcmp(root_of(f, s), root_of(f, site)) == 0)
				longest = one;
	}
	return longest;
}

static void begin_sweep(
	struct files *f, const struct sites *sites, const struct site *site, struct slice dir)
{
	struct sweep *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return;
	s->root = root_of(f, site);
	s->dir = dir;
	s->expires = expires(f, sites, site, dir);
	s->quota = (struct store_quota){ .fd = -1, .max = site->upload_quota };
	s->depth = site->uploads_depth;
	s->job.class = JOB_STORE;
	s->job.volume = s->root;
	s->job.work = sweep_work;
	s->job.done = sweep_done;
	under_way++;
	if (offload_submit(f->offload, &s->job) == 0)
		return;
	under_way--;
	free(s);
}

/* Seconds between two sweeps: so that no upload stays much longer than allowed. */
static uint64_t every(const struct sites *sites)
{
	uint64_t s = EVERY_MAX_S;

	for (unsigned i = 0; i < sites->n; i++) {
		uint64_t expires = sites->v[i].resume_expires;

		if (sites->v[i].nuploads > 0 && expires > 0 && expires / 4 < s)
			s = expires / 4;
	}
	return s;
}

void store_sweep(struct files *f, const struct sites *sites)
{
	waits_s = every(sites);
	for (const struct site *s = sites->v; s != sites->v + sites->n; s++)
		for (unsigned i = 0; s->has_root && i < s->nuploads; i++)
			begin_sweep(f, sites, s, s->uploads[i].dir);
}

void store_sweep_soon(void)
{
	waits_s = 0;
}

void store_sweep_look(struct files *f, const struct sites *sites)
{
	/* A directory that hangs is not tried again. */
	if (under_way > 0)
		return;
	if (waits_s == 0)
		store_sweep(f, sites);
	else
		waits_s--;
}
