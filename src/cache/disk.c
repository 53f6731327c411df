/* disk: opening, hashing and closing; reading pieces is disk_body.c. See disk.h. */
#include "cache/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/counters.h"
#include "base/log.h"

enum { SMALL_KEEP = 32, LARGE_KEEP = 8, HASH_TRIES = 3 };

static struct disk_file *of_job(struct job *j)
{
	return LIST_ENTRY(j, struct disk_file, job);
}

static void destroy(struct disk *d)
{
	for (unsigned i = 0; i < d->nroots; i++)
		if (d->roots[i].fd >= 0)
			close(d->roots[i].fd);
	pool_fini(&d->small);
	pool_fini(&d->large);
	etag_memo_free(&d->memo);
	free(d->roots);
	free(d);
}

static int open_roots(struct disk *d, const struct files_conf *conf)
{
	for (unsigned i = 0; i < conf->nroots; i++) {
		struct disk_root *r = &d->roots[i];

		d->nroots = i + 1;
		r->fd = -1;
		if (conf->roots[i].root[0] == '\0')
			continue;
		r->fd = open(conf->roots[i].root, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (r->fd < 0)
			return -errno;
		r->kind = beneath_kind(r->fd);
	}
	return 0;
}

struct disk *disk_new(struct offload *o, const struct files_conf *conf)
{
	struct disk *d = calloc(1, sizeof(*d));
	int rc = -ENOMEM;

	if (d == NULL)
		return NULL;
	d->offload = o;
	d->max_file_size = conf->max_file_size;
	pool_init(&d->small, "file pieces", sizeof(struct disk_buf) + DISK_SMALL, SMALL_KEEP);
	pool_init(&d->large, "large file pieces", sizeof(struct disk_buf) + DISK_LARGE, LARGE_KEEP);
	d->memo = etag_memo_new();
	d->roots = calloc(conf->nroots + 1, sizeof(*d->roots));
	if (d->memo != NULL && d->roots != NULL)
		rc = open_roots(d, conf);
	if (rc < 0) {
		destroy(d);
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
	d->ending = true;
	if (d->live == 0)
		destroy(d);
}

struct disk_file *disk_file_new(struct disk *d, struct h2d_req *req, unsigned root,
	struct slice path, void (*fn)(struct disk_file *f, int result), void *ctx)
{
	struct disk_file *f = calloc(1, sizeof(*f) + path.n + 1);

	if (f == NULL)
		return NULL;
	f->disk = d;
	f->req = req;
	f->fn = fn;
	f->ctx = ctx;
	f->root = (int)root;
	f->fd = -1;
	memcpy(f->path, path.p, path.n);
	d->live++;
	d->waiting++;
	return f;
}

static void free_file(struct disk_file *f)
{
	struct disk *d = f->disk;

	free(f);
	d->live--;
	if (d->ending && d->live == 0)
		destroy(d);
}

static void close_work(struct job *j)
{
	close(of_job(j)->fd);
}

static void close_done(struct job *j)
{
	free_file(of_job(j));
}

/* Nobody needs it and no thread has it. */
static void end_file(struct disk_file *f)
{
	if (f->buf != NULL)
		ref_put(&f->buf->ref);
	if (f->counted)
		COUNT(files_open, -1);
	if (f->fd >= 0 && f->kind == BENEATH_REMOTE) {
		/* FUSE waits for an answer to close(), too. */
		f->job.work = close_work;
		f->job.done = close_done;
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
	f->disk->waiting--;
	if (!f->busy)
		end_file(f);
}

static void later_done(struct job *j)
{
	struct disk_file *f = of_job(j);

	f->busy = false;
	if (f->req == NULL)
		end_file(f);
	else
		f->finish(f);
}

int disk_file_later(struct disk_file *f, void (*work)(struct job *j),
	void (*finish)(struct disk_file *f))
{
	int rc;

	H2D_ASSERT(!f->busy);
	f->job.work = work;
	f->job.done = later_done;
	f->finish = finish;
	rc = offload_submit(f->disk->offload, &f->job);
	if (rc < 0)
		return rc;
	f->busy = true;
	return DISK_LATER;
}

/* --- open --------------------------------------------------------------------------------------- */

static int open_regular(struct disk_file *f, unsigned flags)
{
	struct stat st;
	int fd = beneath_open(f->disk->roots[f->root].fd, f->path, flags);
	int rc = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		rc = -errno;
	else if (S_ISDIR(st.st_mode))
		rc = -EISDIR;
	else if (!S_ISREG(st.st_mode))
		rc = -ENOENT;
	if (rc < 0) {
		close(fd);
		return rc;
	}
	f->fd = fd;
	f->ident = ident_of(&st);
	return 0;
}

static void open_work(struct job *j)
{
	struct disk_file *f = of_job(j);

	f->result = open_regular(f, 0);
	if (f->result == 0)
		f->kind = beneath_kind(f->fd);
}

static int opened(struct disk_file *f, int rc)
{
	if (rc == 0) {
		COUNT(files_open, 1);
		f->counted = true;
	}
	return rc;
}

static void open_finish(struct disk_file *f)
{
	f->fn(f, opened(f, f->result));
}

int disk_file_open(struct disk_file *f)
{
	const struct disk_root *r = &f->disk->roots[f->root];

	if (r->fd < 0)
		return -ENOENT;
	if (r->kind != BENEATH_REMOTE) {
		/* What lies on other mounts may be FUSE: its open() waits for an answer. */
		int rc = open_regular(f, BENEATH_CACHED | BENEATH_SAME_MOUNT);

		f->kind = r->kind;
		if (rc != -EAGAIN && rc != -EXDEV)
			return opened(f, rc);
	}
	return disk_file_later(f, open_work, open_finish);
}

/* --- etag --------------------------------------------------------------------------------------- */

/* Once over the whole file. 0, -EAGAIN if it changed meanwhile (f->ident is the new one), -errno. */
static int hash_once(struct disk_file *f, struct etag_hash *h)
{
	struct ident before = f->ident;
	struct stat st;
	int rc = etag_hash_begin(h);

	for (uint64_t at = 0; rc == 0 && at < before.size;) {
		uint64_t left = before.size - at;
		size_t n = left < f->buf->size ? (size_t)left : f->buf->size;

		rc = disk_file_pread(f, f->buf->data, n, at);
		if (rc == 0)
			rc = etag_hash_add(h, f->buf->data, n);
		at += n;
	}
	if (rc == 0)
		rc = etag_hash_end(h, &f->etag);
	if (rc < 0 && rc != -EAGAIN)
		return rc;
	if (fstat(f->fd, &st) < 0)
		return -errno;
	f->ident = ident_of(&st);
	return rc == 0 && ident_eq(&before, &f->ident) ? 0 : -EAGAIN;
}

static void hash_work(struct job *j)
{
	struct disk_file *f = of_job(j);
	struct etag_hash *h = etag_hash_new();
	struct timespec now;

	f->result = h == NULL ? -ENOMEM : -EAGAIN;
	for (int tries = 0; tries < HASH_TRIES && f->result == -EAGAIN; tries++) {
		if (f->ident.size > f->disk->max_file_size)
			break;
		clock_gettime(CLOCK_REALTIME, &now);
		f->hashed_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
		f->result = hash_once(f, h);
	}
	etag_hash_free(&h);
}

static void hash_finish(struct disk_file *f)
{
	bool whole = f->result == 0 && f->ident.size > 0 && f->ident.size <= f->buf->size;

	if (f->result == 0)
		etag_memo_put(f->disk->memo, &f->ident, &f->etag, f->hashed_ns);
	if (f->result == -EAGAIN) {
		/* It is being written: served, but with nothing that promises bytes. */
		f->etag.n = 0;
		f->result = 0;
	}
	if (whole) {
		f->have = f->off = f->ident.size;
	} else {
		ref_put(&f->buf->ref);
		f->buf = NULL;
	}
	f->fn(f, f->result);
}

int disk_file_etag(struct disk_file *f)
{
	if (f->ident.size > f->disk->max_file_size) {
		etag_of_size(&f->ident, &f->etag);
		return 0;
	}
	if (etag_memo_get(f->disk->memo, &f->ident, &f->etag))
		return 0;
	f->buf = disk_buf_get(f->disk, 0);
	if (f->buf == NULL)
		return -ENOMEM;
	return disk_file_later(f, hash_work, hash_finish);
}
