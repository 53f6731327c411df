/*
 * variants: the queue of files that lack a variant or have an unknown one beside them, and the
 * threads that make the one and check the other (SCHED_BATCH). Called on the keeper's loop; a
 * thread touches nothing but its own job, and its result is dropped when the file changed
 * meanwhile.
 */
#include "keeper/variants.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "http/compress.h"
#include "http/decoder.h"

enum { NICE = 19, NEWS_MS = 250, CHECKED_NEWS_MS = 20 };

/* Out of one, while a thread has it: the job alone. */
struct variant_job {
	struct job job;
	struct variants *variants;
	struct catalog_file *file; /* NULL: it is gone */
	char source[IMAGE_ETAG];   /* of the bytes that are compressed, or decoded to */
	unsigned wants, checks;    /* bit sets by enum coding; one of them is 0 */
	bool upload;
	int64_t took_us; /* processor time */
	size_t n;
	char *in;
	struct {
		char *p;
		size_t n; /* 0: not worth it */
		struct etag etag;
	} out[CODINGS];
	struct decoder_bytes plain; /* fd -1: none */
	struct {
		struct decoder_bytes coded;
		char etag[IMAGE_ETAG];
		int verdict; /* or -errno */
	} beside[CODINGS];
	int rc;
};

int variants_init(struct variants *t, struct catalog *c, struct loop *loop, unsigned cpus)
{
	*t = (struct variants){ .catalog = c, .threads = cpus > 3 ? cpus / 2 : 1 };
	list_init(&t->uploads);
	for (int i = 0; i < VARIANTS_SIZES; i++)
		list_init(&t->todo[i]);
	for (enum coding i = 0; i < CODINGS; i++)
		if ((c->conf->codings & 1U << i) != 0 && compress_has(i))
			t->codings |= 1U << i;
	t->offload = offload_new(loop, t->threads);
	return t->offload != NULL ? 0 : -errno;
}

void variants_fini(struct variants *t)
{
	offload_free(&t->offload);
}

unsigned variants_pending(const struct variants *t)
{
	return t->waiting + t->running;
}

/* --- in a thread ------------------------------------------------------------------------------ */

static int hash(const void *p, size_t n, struct etag *etag)
{
	struct etag_hash *h = etag_hash_new();
	int rc = -ENOMEM;

	if (h != NULL && etag_hash_begin(h) == 0 && etag_hash_add(h, p, n) == 0)
		rc = etag_hash_end(h, etag);
	etag_hash_free(&h);
	return rc;
}

static int compress_one(struct variant_job *j, enum coding coding)
{
	size_t worth = compress_worth(j->n);
	ssize_t n;
	char *fit;

	j->out[coding].p = malloc(worth + 1);
	if (j->out[coding].p == NULL)
		return -ENOMEM;
	n = compress_whole(coding, j->upload ? COMPRESS_SOON : COMPRESS_BEST, j->in, j->n,
		j->out[coding].p, worth);
	if (n <= 0)
		return (int)n;
	/* It waits for the others. */
	fit = realloc(j->out[coding].p, (size_t)n);
	if (fit != NULL)
		j->out[coding].p = fit;
	if (hash(j->out[coding].p, (size_t)n, &j->out[coding].etag) < 0)
		return -ENOMEM;
	j->out[coding].n = (size_t)n;
	return 0;
}

static void check_one(struct variant_job *j, enum coding coding)
{
	j->beside[coding].verdict = decoder_compare(coding, &j->beside[coding].coded, &j->plain);
}

static void variant_work(struct job *job)
{
	static _Thread_local bool low_priority;
	struct variant_job *j = LIST_ENTRY(job, struct variant_job, job);
	uint64_t began = clock_read_cpu_us();

	if (!low_priority) {
		const struct sched_param none = { 0 };

		/* On Linux both are of the thread, not of the process (setpriority(2)). */
		setpriority(PRIO_PROCESS, 0, NICE);
		sched_setscheduler(0, SCHED_BATCH, &none);
		low_priority = true;
	}
	for (enum coding i = 0; i < CODINGS && j->rc == 0; i++)
		if ((j->wants & 1U << i) != 0)
			j->rc = compress_one(j, i);
	for (enum coding i = 0; i < CODINGS; i++)
		if ((j->checks & 1U << i) != 0)
			check_one(j, i);
	j->took_us = (int64_t)(clock_read_cpu_us() - began);
}

/* --- on the loop ------------------------------------------------------------------------------ */

static void free_job(struct variant_job *j)
{
	for (int i = 0; i < CODINGS; i++) {
		free(j->out[i].p);
		if (j->beside[i].coded.fd >= 0)
			close(j->beside[i].coded.fd);
	}
	if (j->plain.fd >= 0)
		close(j->plain.fd);
	free(j->in);
	free(j);
}

static void take(
	struct variants *t, struct catalog_file *f, enum coding coding, struct variant_job *j)
{
	struct catalog *c = t->catalog;
	struct segment_body *b = NULL;
	size_t n = j->out[coding].n;
	int rc = 0;

	if (n > 0 && catalog_sidecar(c, f, coding) == NULL && catalog_has_room(c, 0, n))
		rc = segments_put(c->segments, j->out[coding].p, n, &j->out[coding].etag, &b);
	if (b != NULL)
		catalog_set_variant(c, f, coding, b);
	/* No image that goes makes up for what the machine is short of. */
	t->stuck |= rc == -EAGAIN;
	t->starved |= rc < 0 && rc != -EAGAIN;
	if (rc == 0 && !t->stuck)
		f->tried |= (uint8_t)(1U << coding);
}

static void say(
	const struct variants *t, const struct catalog_file *f, enum coding coding, const char *why)
{
	const char *name = strrchr(f->path, '/') + 1;

	log_warn("root %s: %s.%s is not %s in %s: %s; it is served as a file of its own only",
		t->catalog->conf->roots[f->node.root].root, f->path, coding_extensions[coding].p,
		name, coding_names[coding].p, why);
}

static void decide(
	struct variants *t, struct catalog_file *f, enum coding coding, const struct variant_job *j)
{
	int verdict = j->beside[coding].verdict;
	int rc = catalog_sidecar_decide(f, coding, j->beside[coding].etag, verdict == DECODER_SAME);

	if (rc < 0)
		verdict = rc;
	/* An empty sidecar is about to be written. */
	if (verdict != DECODER_SAME && j->beside[coding].coded.n > 0)
		say(t, f, coding,
			verdict < 0 ? strerror(-verdict)
				    : decoder_reason((enum decoder_verdict)verdict));
}

static void variant_done(struct job *job)
{
	struct variant_job *j = LIST_ENTRY(job, struct variant_job, job);
	struct variants *t = j->variants;
	struct catalog_file *f = j->file;

	t->running--;
	if (j->upload) {
		t->upload = false;
		t->allowance_us -= j->took_us;
	}
	if (f != NULL) {
		f->job = NULL;
		/* Its bytes are those that were compressed, whatever happened to the file in
		 * between. */
		if (f->body != NULL && j->rc == 0 &&
			memcmp(f->body->etag, j->source, IMAGE_ETAG) == 0) {
			for (enum coding i = 0; i < CODINGS; i++) {
				if ((j->wants & 1U << i) != 0)
					take(t, f, i, j);
				if ((j->checks & 1U << i) != 0)
					decide(t, f, i, j);
			}
			catalog_news(t->catalog, j->checks != 0 ? CHECKED_NEWS_MS : NEWS_MS);
		}
		/* It changed meanwhile, or found no room. */
		variants_want(t, f);
	}
	for (enum coding i = 0; i < CODINGS && j->rc == 0; i++)
		t->compressed += j->wants >> i & 1;
	t->starved |= j->rc < 0;
	if (j->rc < 0)
		log_peer(LEVEL_ERROR, "cache: compressing: %s", strerror(-j->rc));
	free_job(j);
	if (!t->starved)
		variants_step(t);
}

/* A sidecar's check takes milliseconds, and is wanted now: it comes first. */
static unsigned size_class(const struct variants *t, const struct catalog_file *f)
{
	return f->body->n == 0 || catalog_sidecar_unchecked(t->catalog, f) != 0
		       ? 0
		       : 32 - (unsigned)__builtin_clz(f->body->n);
}

void variants_want(struct variants *t, struct catalog_file *f)
{
	for (enum coding i = 0; i < CODINGS; i++)
		if (f->variants[i] != NULL && catalog_sidecar(t->catalog, f, i) != NULL)
			catalog_set_variant(t->catalog, f, i, NULL);
	if (f->job != NULL || list_linked(&f->idle) ||
		(catalog_sidecar_unchecked(t->catalog, f) == 0 &&
			catalog_wants(t->catalog, f, t->codings) == 0))
		return;
	list_append(f->dir->uploads ? &t->uploads : &t->todo[size_class(t, f)], &f->idle);
	t->waiting++;
}

static void forget(struct variants *t, struct catalog_file *f)
{
	if (!list_linked(&f->idle))
		return;
	list_remove(&f->idle);
	t->waiting--;
}

void variants_gone(struct variants *t, struct catalog_file *f)
{
	forget(t, f);
	if (f->job != NULL)
		f->job->file = NULL;
	f->job = NULL;
}

static struct variant_job *job_for(struct variants *t, struct catalog_file *f)
{
	struct variant_job *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return NULL;
	j->variants = t;
	j->file = f;
	j->job.work = variant_work;
	j->job.done = variant_done;
	memcpy(j->source, f->body->etag, IMAGE_ETAG);
	j->plain.fd = -1;
	for (int i = 0; i < CODINGS; i++)
		j->beside[i].coded.fd = -1;
	return j;
}

static int copy_body(struct variant_job *j, const struct catalog_file *f)
{
	j->n = f->body->n;
	j->in = malloc(j->n);
	return j->in != NULL ? segments_read(f->body, j->in) : -ENOMEM;
}

/* A segment's bytes stay for as long as somebody has it open. */
static int open_body(struct decoder_bytes *bytes, const struct catalog_file *f)
{
	const struct segment_body *b = f->body;

	*bytes = (struct decoder_bytes){ fcntl(b->segment->fd, F_DUPFD_CLOEXEC, 3), b->at, b->n };
	return bytes->fd >= 0 ? 0 : -errno;
}

static int open_bodies(struct variant_job *j, const struct catalog_file *f)
{
	int rc = open_body(&j->plain, f);

	for (enum coding i = 0; i < CODINGS && rc == 0; i++) {
		const struct catalog_file *s;

		if ((j->checks & 1U << i) == 0)
			continue;
		s = catalog_beside(j->variants->catalog, f, i);
		memcpy(j->beside[i].etag, s->body->etag, IMAGE_ETAG);
		rc = open_body(&j->beside[i].coded, s);
	}
	return rc;
}

/* Sidecars are checked first: they tell which codings are left to be made. */
static int start(struct variants *t, struct catalog_file *f)
{
	unsigned checks = catalog_sidecar_unchecked(t->catalog, f);
	unsigned wants = checks != 0 ? 0 : catalog_wants(t->catalog, f, t->codings);
	struct variant_job *j;
	int rc;

	/* Nothing is left to do, or the file lost its body while it waited. */
	if (checks == 0 && wants == 0)
		return -ENOENT;
	j = job_for(t, f);
	if (j == NULL)
		return -ENOMEM;
	j->checks = checks;
	j->wants = wants;
	j->upload = f->dir->uploads;
	rc = checks != 0 ? open_bodies(j, f) : copy_body(j, f);
	if (rc == 0)
		rc = offload_submit(t->offload, &j->job);
	if (rc < 0) {
		free_job(j);
		return rc;
	}
	f->job = j;
	t->running++;
	t->upload |= j->upload;
	return 0;
}

void variants_room(struct variants *t)
{
	t->stuck = false;
}

/* Whether one of them may be compressed: one at a time, as far as their allowance goes. */
static bool uploads_may(struct variants *t)
{
	uint64_t now = clock_ms(), more = (now - t->allowed_ms) * 1000 / VARIANTS_UPLOADS_SHARE;

	t->allowed_ms = now;
	t->allowance_us +=
		more < VARIANTS_UPLOADS_AHEAD_US ? (int64_t)more : VARIANTS_UPLOADS_AHEAD_US;
	if (t->allowance_us > VARIANTS_UPLOADS_AHEAD_US)
		t->allowance_us = VARIANTS_UPLOADS_AHEAD_US;
	t->resting = !t->upload && t->allowance_us <= 0;
	return !t->upload && !t->resting;
}

/* Starts the first of todo that has something left to do. False: the machine is short of something.
 */
static bool start_first(struct variants *t, const struct list *todo)
{
	struct catalog_file *f = LIST_ENTRY(todo->next, struct catalog_file, idle);
	int rc;

	forget(t, f);
	rc = start(t, f);
	if (rc == 0 || rc == -ENOENT)
		return true;
	t->starved = true;
	variants_want(t, f);
	return false;
}

void variants_step(struct variants *t)
{
	t->starved = t->resting = false;
	for (int i = 0; i < VARIANTS_SIZES && !t->stuck; i++)
		while (t->running < t->threads && !list_empty(&t->todo[i]))
			if (!start_first(t, &t->todo[i]))
				return;
	while (!t->stuck && t->running < t->threads && !list_empty(&t->uploads) && uploads_may(t))
		if (!start_first(t, &t->uploads))
			return;
}
