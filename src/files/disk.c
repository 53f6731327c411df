/*
 * disk: opens and closes the roots, counts files in use, and hands their steps to offload threads.
 * disk_open.c, disk_etag.c and disk_body.c work on the files. It never blocks the loop.
 */
#include "files/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"

const struct states disk_states = {
	.of = "download",
	.rows = {
#define DISK_STATE(name, next, help) { #name, next },
#include "files/disk_state.def"
	},
};

/* --- a root ----------------------------------------------------------------------------------- */

static void release_root(struct ref *ref)
{
	struct disk_root *r = (struct disk_root *)ref;

	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

struct disk_root *disk_root_look(const char *path, const struct disk_root *now)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st = { 0 };
	struct disk_root *r;

	/* Other errors are of the machine, not of the path. */
	if (fd < 0 && now != NULL && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
		return NULL;
	if ((fd >= 0 && fstat(fd, &st) < 0) ||
		(now != NULL && st.st_dev == now->dev && st.st_ino == now->ino) ||
		(r = malloc(sizeof(*r))) == NULL) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	ref_init(&r->ref, release_root);
	r->fd = fd;
	r->kind = fd >= 0 ? beneath_kind(fd) : BENEATH_MEMORY;
	r->dev = st.st_dev;
	r->ino = st.st_ino;
	return r;
}

/* --- its life --------------------------------------------------------------------------------- */

enum { TINY_KEEP = 64, SMALL_KEEP = 32, LARGE_KEEP = 8 };

static void destroy(struct ref *ref)
{
	struct disk *d = LIST_ENTRY(ref, struct disk, ref);

	for (unsigned i = 0; i < d->ntrees; i++)
		if (d->trees[i].root != NULL)
			ref_put(&d->trees[i].root->ref);
	places_fini(&d->places);
	pool_fini(&d->tiny);
	pool_fini(&d->small);
	pool_fini(&d->large);
	free(d->tags);
	free(d->warm);
	free(d->trees);
	free(d);
}

static int open_roots(struct disk *d, const struct doc_roots *conf)
{
	for (unsigned i = 0; i < conf->nroots; i++) {
		struct disk_tree *t = &d->trees[i];

		d->ntrees = i + 1;
		t->path = conf->roots[i].root;
		t->looked_ms = clock_ms();
		if (t->path[0] == '\0')
			continue;
		t->root = disk_root_look(t->path, NULL);
		if (t->root == NULL)
			return -ENOMEM;
		if (t->root->fd < 0)
			log_error("root %s: cannot be opened", t->path);
	}
	return 0;
}

struct disk *disk_new(struct loop *l, struct offload *o, const struct doc_roots *conf)
{
	struct disk *d = calloc(1, sizeof(*d));
	int rc = -ENOMEM;

	if (d == NULL)
		return NULL;
	ref_init(&d->ref, destroy);
	d->offload = o;
	d->max_file_size = conf->max_file_size;
	d->escapes = conf->escapes;
	d->uploads = &conf->uploads;
	places_init(&d->places, l);
	pool_init(&d->tiny, sizeof(struct disk_buf) + DISK_TINY, TINY_KEEP);
	pool_init(&d->small, sizeof(struct disk_buf) + DISK_SMALL, SMALL_KEEP);
	pool_init(&d->large, sizeof(struct disk_buf) + DISK_LARGE, LARGE_KEEP);
	d->trees = calloc(conf->nroots + 1, sizeof(*d->trees));
	if (d->trees != NULL)
		rc = open_roots(d, conf);
	if (rc < 0) {
		disk_free(&d);
		errno = -rc;
		return NULL;
	}
	return d;
}

void disk_free(struct disk **dp)
{
	struct disk *d = *dp;

	if (d == NULL)
		return;
	*dp = NULL;
	H2D_ASSERT(d->waiting == 0);
	ref_put(&d->ref);
}

struct disk_file *disk_file_new(
	struct disk *d, struct h2d_req *req, unsigned root, struct slice path)
{
	struct disk_file *f = calloc(1, sizeof(*f) + path.n + DISK_EXTENSION);

	if (f == NULL)
		return NULL;
	ref_get(&d->ref);
	f->disk = d;
	f->req = req;
	f->tree = &d->trees[root];
	f->root = f->tree->root;
	if (f->root != NULL)
		ref_get(&f->root->ref);
	f->fd = -1;
	f->coding = CODING_IDENTITY;
	f->job.volume = f->tree->path;
	f->spelled = site_spelling_matters(req->site, path);
	memcpy(f->path, path.p, path.n);
	d->waiting++;
	return f;
}

size_t disk_file_extend(struct disk_file *f, enum coding coding)
{
	size_t n = strlen(f->path);

	if (coding < CODINGS) {
		f->path[n] = '.';
		memcpy(f->path + n + 1, coding_extensions[coding].p, coding_extensions[coding].n);
	}
	return n;
}

void disk_file_cut(struct disk_file *f, size_t n)
{
	memset(f->path + n, '\0', DISK_EXTENSION);
}

static void free_file(struct disk_file *f)
{
	struct disk *d = f->disk;

	if (f->newer != NULL)
		ref_put(&f->newer->ref);
	if (f->root != NULL)
		ref_put(&f->root->ref);
	places_give(&d->places, &f->place);
	free(f->escape);
	free(f);
	ref_put(&d->ref);
}

static void close_work(struct job *j)
{
	close(disk_file_of(j)->fd);
}

static void close_done(struct job *j)
{
	free_file(disk_file_of(j));
}

/* No request needs it and no thread has it. */
static void end_file(struct disk_file *f)
{
	if (f->buf != NULL)
		ref_put(&f->buf->ref);
	if (f->counted)
		COUNT(files_open, -1);
	if (f->fd >= 0 && f->kind == BENEATH_REMOTE) {
		/* FUSE waits for an answer to close(), too. */
		f->job.class = JOB_REMOTE;
		f->job.work = close_work;
		f->job.done = close_done;
		f->job.owner = NULL;
		if (offload_submit(f->disk->offload, &f->job) == 0)
			return;
	}
	if (f->fd >= 0)
		close(f->fd);
	free_file(f);
}

void disk_file_close(struct disk_file **fp)
{
	struct disk_file *f = *fp;

	if (f == NULL)
		return;
	*fp = NULL;
	H2D_ASSERT(f->req != NULL);
	f->req = NULL;
	disk_file_go(f, DISK_OVER);
	f->disk->waiting--;
	places_leave(&f->disk->places, &f->place);
	if (f->busy && offload_cancel(f->disk->offload, &f->job))
		f->busy = false;
	if (!f->busy)
		end_file(f);
}

static void came_back(struct job *j)
{
	struct disk_file *f = disk_file_of(j);

	f->busy = false;
	if (f->req == NULL) {
		end_file(f);
		return;
	}
	f->steps[f->state].then(f);
}

void disk_file_go(struct disk_file *f, enum disk_state state)
{
	STATES_STEP(&disk_states, f->state, state);
}

int disk_file_submit(struct disk_file *f, enum disk_state state, enum job_class class)
{
	int rc;

	H2D_ASSERT(!f->busy);
	disk_file_go(f, state);
	f->job.class = class;
	f->job.work = f->steps[state].run;
	f->job.done = came_back;
	f->job.owner = f->req->conn;
	rc = offload_submit(f->disk->offload, &f->job);
	if (rc < 0)
		return rc;
	places_keep(&f->place);
	f->busy = true;
	return DISK_LATER;
}

ssize_t disk_file_read_now(struct disk_file *f, char *to, size_t n, uint64_t at)
{
	struct iovec iov = { .iov_base = to, .iov_len = n };
	ssize_t got;

	if (f->kind == BENEATH_REMOTE || f->no_nowait)
		return 0;
	do {
		got = f->kind == BENEATH_MEMORY ? pread(f->fd, to, n, (off_t)at)
						: preadv2(f->fd, &iov, 1, (off_t)at, RWF_NOWAIT);
	} while (got < 0 && errno == EINTR);
	if (got >= 0)
		return got;
	if (errno == EOPNOTSUPP)
		f->no_nowait = true;
	return errno == EAGAIN || errno == EOPNOTSUPP ? 0 : -errno;
}

void disk_file_fail(struct disk_file *f, int rc)
{
	disk_file_go(f, DISK_FAILED);
	if (rc == -EAGAIN)
		log_peer(LEVEL_INFO, "%s: changed during the response; cutting it off", f->path);
	else
		log_peer(LEVEL_ERROR, "%s: reading: %s; cutting off the response", f->path,
			strerror(-rc));
}
