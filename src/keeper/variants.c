/*
 * variants: the queue of files that lack a variant, and the threads that make it (SCHED_BATCH).
 * Called on the keeper's loop; a thread touches only its own job, and its result is dropped if the
 * file changed meanwhile.
 */
#include "keeper/scan.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "http/compress.h"

enum { NICE = 19, NEWS_MS = 250 };

/* In no list while a thread has it. */
struct variant_job {
	struct job job;
	struct variants *variants;
	struct catalog_file *file; /* NULL: freed */
	char source[IMAGE_ETAG];   /* of the bytes being compressed */
	unsigned wants;            /* bit set by enum coding */
	bool upload;
	int64_t took_us; /* processor time */
	size_t n;
	char *in;
	struct {
		char *p;
		size_t n; /* 0: not worth it */
		struct etag etag;
	} out[CODINGS];
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
	/* Shrunk, as it waits for the others. */
	fit = realloc(j->out[coding].p, (size_t)n);
	if (fit != NULL)
		j->out[coding].p = fit;
	if (etag_of_bytes(j->out[coding].p, (size_t)n, &j->out[coding].etag) < 0)
		return -ENOMEM;
	j->out[coding].n = (size_t)n;
	return 0;
}

static void variant_work(struct job *job)
{
	static _Thread_local bool low_priority;
	struct variant_job *j = LIST_ENTRY(job, struct variant_job, job);
	uint64_t began = clock_read_cpu_us();

	if (!low_priority) {
		const struct sched_param none = { 0 };

		/* On Linux both apply to the thread, not the process (setpriority(2)). */
		setpriority(PRIO_PROCESS, 0, NICE);
		sched_setscheduler(0, SCHED_BATCH, &none);
		low_priority = true;
	}
	for (enum coding i = 0; i < CODINGS && j->rc == 0; i++)
		if ((j->wants & 1U << i) != 0)
			j->rc = compress_one(j, i);
	j->took_us = (int64_t)(clock_read_cpu_us() - began);
}

/* --- on the loop ------------------------------------------------------------------------------ */

static void free_job(struct variant_job *j)
{
	for (int i = 0; i < CODINGS; i++)
		free(j->out[i].p);
	free(j->in);
	free(j);
}

static void take_variant(
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
	/* No freed image makes up for a shortage of the machine. */
	t->stuck |= rc == -EAGAIN;
	t->starved |= rc < 0 && rc != -EAGAIN;
	if (rc == 0 && !t->stuck)
		f->tried |= (uint8_t)(1U << coding);
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
		/* The compressed bytes are still its own, whatever happened to the file in
		 * between. */
		if (f->body != NULL && j->rc == 0 &&
			memcmp(f->body->etag, j->source, IMAGE_ETAG) == 0) {
			for (enum coding i = 0; i < CODINGS; i++)
				if ((j->wants & 1U << i) != 0)
					take_variant(t, f, i, j);
			catalog_news(t->catalog, NEWS_MS);
		}
		/* Changed meanwhile, or there was no room. */
		variants_want(t, f);
	}
	for (enum coding i = 0; i < CODINGS && j->rc == 0; i++)
		t->compressed += j->wants >> i & 1;
	t->starved |= j->rc < 0;
	if (j->rc < 0)
		log_peer(LEVEL_ERROR, "cache: compressing: %s; retrying", strerror(-j->rc));
	free_job(j);
	if (!t->starved)
		variants_step(t);
}

void variants_want(struct variants *t, struct catalog_file *f)
{
	for (enum coding i = 0; i < CODINGS; i++)
		if (f->variants[i] != NULL && catalog_sidecar(t->catalog, f, i) != NULL)
			catalog_set_variant(t->catalog, f, i, NULL);
	if (f->job != NULL || list_linked(&f->idle) ||
		catalog_wants(t->catalog, f, t->codings) == 0)
		return;
	list_append(
		f->dir->uploads ? &t->uploads : &t->todo[32 - __builtin_clz(f->body->n)], &f->idle);
	t->waiting++;
}

static void forget_file(struct variants *t, struct catalog_file *f)
{
	if (!list_linked(&f->idle))
		return;
	list_remove(&f->idle);
	t->waiting--;
}

void variants_gone(struct variants *t, struct catalog_file *f)
{
	forget_file(t, f);
	if (f->job != NULL)
		f->job->file = NULL;
	f->job = NULL;
}

static int start_job(struct variants *t, struct catalog_file *f)
{
	unsigned wants = catalog_wants(t->catalog, f, t->codings);
	struct variant_job *j;
	int rc;

	/* No coding is left, or the file lost its body while it waited. */
	if (wants == 0)
		return -ENOENT;
	j = calloc(1, sizeof(*j));
	if (j == NULL)
		return -ENOMEM;
	*j = (struct variant_job){
		.job = { .work = variant_work, .done = variant_done },
		.variants = t,
		.file = f,
		.wants = wants,
		.upload = f->dir->uploads,
		.n = f->body->n,
		.in = malloc(f->body->n),
	};
	memcpy(j->source, f->body->etag, IMAGE_ETAG);
	rc = j->in != NULL ? segments_read(f->body, j->in) : -ENOMEM;
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

/* True if one of them may be compressed: one at a time, within their allowance. */
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

/* Starts the first of todo that needs a coding. False: the machine is short of memory or
 * threads. */
static bool start_first(struct variants *t, const struct list *todo)
{
	struct catalog_file *f = LIST_ENTRY(todo->next, struct catalog_file, idle);
	int rc;

	forget_file(t, f);
	rc = start_job(t, f);
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
