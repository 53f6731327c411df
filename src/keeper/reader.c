/*
 * reader: the queues of files to be read, and the current file. Called in portions by keeper.c;
 * between two steps its buffer holds a part of a file, so it has no other use. It never gives the
 * catalogue bytes of a file that changed while it was read.
 */
#include "keeper/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "image/beneath.h"

enum {
	PIECE = 1 << 20,
	LEVEL_0_MS = 20,
	RESTLESS = 4, /* changed again within so many times its delay */
	SETTLE_MS = 2100,
	RETRY_MS = 1000,
};

#define WRITTEN_NS INT64_C(4000000000)

int reader_init(struct reader *r, struct catalog *c)
{
	*r = (struct reader){ .catalog = c, .fd = -1 };
	for (int i = 0; i < READER_QUEUES; i++)
		list_init(&r->queues[i]);
	r->hash = etag_hash_new();
	r->buf = malloc(c->conf->max_file_size + 1);
	if (r->hash != NULL && r->buf != NULL)
		return 0;
	reader_fini(r);
	return -ENOMEM;
}

static void reader_end(struct reader *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	r->file = NULL;
}

void reader_fini(struct reader *r)
{
	reader_end(r);
	etag_hash_free(&r->hash);
	free(r->buf);
	r->buf = NULL;
}

/* --- queues ----------------------------------------------------------------------------------- */

static uint64_t delay_ms(unsigned queue)
{
	switch (queue) {
	case READER_SETTLE:
		return SETTLE_MS;
	case READER_RETRY:
		return RETRY_MS;
	default:
		return (uint64_t)LEVEL_0_MS << queue;
	}
}

static void dequeue(struct reader *r, struct catalog_file *f)
{
	if (!list_linked(&f->queue))
		return;
	list_remove(&f->queue);
	r->n[f->waits]--;
}

static void enqueue(struct reader *r, struct catalog_file *f, unsigned queue)
{
	dequeue(r, f);
	f->waits = (uint8_t)queue;
	if (queue < READER_WAITS)
		f->due_ms = clock_ms() + delay_ms(queue);
	list_append(&r->queues[queue], &f->queue);
	r->n[queue]++;
}

static bool queued(const struct catalog_file *f)
{
	return list_linked(&f->queue) && f->waits != READER_SETTLE;
}

bool reader_has(const struct reader *r, const struct catalog_file *f)
{
	return r->file == f || queued(f);
}

void reader_found(struct reader *r, struct catalog_file *f)
{
	/* The open file may be the one missing in the scan. */
	if (r->file == f)
		r->touched = true;
	else if (!queued(f))
		enqueue(r, f, READER_FOUND);
}

void reader_changed(struct reader *r, struct catalog_file *f)
{
	uint64_t unread_ms;

	if (r->file == f) {
		r->touched = true;
		return;
	}
	/* A file found only by a scan might be trusted unread. */
	if (queued(f) && f->waits != READER_FOUND)
		return;
	unread_ms = clock_ms() - f->read_ms;
	if (f->read_ms == 0 || unread_ms > RESTLESS * delay_ms(f->level))
		f->level = 0;
	else if (f->level < READER_LEVELS - 1)
		f->level++;
	enqueue(r, f, f->level);
}

void reader_changed_below(struct reader *r, const struct catalog_dir *d)
{
	const struct catalog_dir *up = r->file != NULL ? r->file->dir : NULL;

	while (up != NULL && up != d)
		up = up->parent;
	if (up != NULL)
		r->touched = true;
}

void reader_gone(struct reader *r, struct catalog_file *f)
{
	dequeue(r, f);
	if (r->file == f)
		reader_end(r);
}

void reader_room(struct reader *r)
{
	struct list *stuck = &r->queues[READER_STUCK];

	while (!list_empty(stuck))
		enqueue(r, LIST_ENTRY(stuck->next, struct catalog_file, queue), READER_FOUND);
}

/* Each queue has one delay, so its first is due first. */
int reader_wait(struct reader *r)
{
	uint64_t now = clock_ms();
	int next = -1;

	for (unsigned i = 0; i < READER_WAITS; i++) {
		while (!list_empty(&r->queues[i])) {
			struct catalog_file *f =
				LIST_ENTRY(r->queues[i].next, struct catalog_file, queue);

			if (f->due_ms > now) {
				int ms = (int)(f->due_ms - now);

				next = next < 0 || ms < next ? ms : next;
				break;
			}
			enqueue(r, f, READER_CHANGED);
		}
	}
	return next;
}

unsigned reader_pending(const struct reader *r)
{
	unsigned n = r->file != NULL;

	for (unsigned i = 0; i < READER_QUEUES; i++)
		n += i != READER_SETTLE ? r->n[i] : 0;
	return n;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* A fault of the machine, or of the moment: later. Any other: not cacheable. */
static void failed(struct reader *r, struct catalog_file *f, int rc)
{
	bool machine =
		rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM || rc == -ENOSPC || rc == -ENOBUFS;

	reader_end(r);
	if (machine)
		r->trouble = rc;
	if (machine || rc == -EINTR || rc == -EAGAIN)
		enqueue(r, f, READER_RETRY);
	else
		catalog_remove(r->catalog, f);
}

void reader_left_out(struct reader *r, bool past)
{
	r->left_out++;
	if (!past || r->said_past)
		return;
	r->said_past = true;
	log_notice("cache: max-size of %llu bytes is used up; reading further files from the disk",
		(unsigned long long)r->catalog->conf->max_size);
}

static void leave_out(struct reader *r, struct catalog_file *f)
{
	reader_end(r);
	reader_left_out(r, r->file_id.size <= r->catalog->conf->max_file_size);
	catalog_remove(r->catalog, f);
}

/* Changed while it was read: later, and the disk serves it until then. */
static void again(struct reader *r, struct catalog_file *f)
{
	reader_end(r);
	catalog_doubt(r->catalog, f);
	f->read_ms = clock_ms();
	reader_changed(r, f);
}

static void reader_done(struct reader *r, struct catalog_file *f)
{
	bool settled = file_id_settled(&r->file_id, r->wall_ns);
	struct etag etag;
	int rc = -ENOMEM;

	reader_end(r);
	if (etag_hash_end(r->hash, &etag) == 0)
		rc = catalog_fill(r->catalog, f, &r->file_id, settled, &etag, r->buf);
	f->read_ms = clock_ms();
	if (rc == -EAGAIN)
		enqueue(r, f, READER_STUCK);
	else if (rc == -ENOSPC && !catalog_has_room(r->catalog, 0, r->file_id.size))
		leave_out(r, f);
	else if (rc < 0)
		failed(r, f, rc);
	else if (!settled && r->file_id.ctime_ns <= r->wall_ns) /* or the clock was set back */
		enqueue(r, f, READER_SETTLE);
}

/* The kernel reported the name by which f was written, but not its other names. */
static void changed_with(struct reader *r, const struct catalog_file *f)
{
	/* A new link to an old file changes no content, and would cost a check of all files. */
	if (r->wall_ns - r->file_id.mtime_ns > WRITTEN_NS)
		return;
	for (uint32_t i = 0; i < r->catalog->nfiles; i++) {
		struct catalog_file *g = r->catalog->files[i];

		if (g == f || g->body == NULL || g->file_id.ino != r->file_id.ino ||
			g->file_id.dev != r->file_id.dev ||
			file_id_same_content(&g->file_id, &r->file_id))
			continue;
		catalog_doubt(r->catalog, g);
		reader_changed(r, g);
	}
}

/* told: by the kernel, rather than found by a scan, which comes by every name. */
static void reader_begin(struct reader *r, struct catalog_file *f, bool told)
{
	struct timespec now = clock_wall();
	struct stat st;
	int fd = beneath_open_file(r->catalog->roots[f->node.root].fd, f->path,
		BENEATH_SAME_MOUNT | BENEATH_NO_LINKS, &st);

	if (fd < 0) {
		failed(r, f, fd);
		return;
	}
	r->file = f;
	r->fd = fd;
	r->got = 0;
	r->touched = false;
	r->wall_ns = file_id_ns(now);
	r->file_id = file_id_of(&st);
	if (told && st.st_nlink > 1)
		changed_with(r, f);
	if (r->file_id.size > r->catalog->conf->max_file_size ||
		(f->body == NULL && !catalog_has_room(r->catalog, 0, r->file_id.size)))
		leave_out(r, f);
	else if (!told && f->body != NULL && f->settled && file_id_eq(&f->file_id, &r->file_id)) {
		/*
		 * Found unchanged. A file reported by the kernel is read: a store through a mapping
		 * to a dirty page changes no time stamp.
		 */
		reader_end(r);
		catalog_trust(r->catalog, f, &r->file_id, true);
	} else if (etag_hash_begin(r->hash) < 0) {
		failed(r, f, -ENOMEM);
	}
}

/* Reads the next piece; after the last one, checks that the file is unchanged. */
static void go_on(struct reader *r)
{
	struct catalog_file *f = r->file;
	uint64_t want = r->file_id.size - r->got;
	ssize_t n = 0;
	struct stat st;
	struct file_id after;

	if (want > 0) {
		n = pread(r->fd, r->buf + r->got, want < PIECE ? want : PIECE, (off_t)r->got);
		if (n < 0 && errno == EINTR)
			return;
		if (n < 0) {
			failed(r, f, -errno);
			return;
		}
		if (n == 0 || r->touched) {
			again(r, f);
			return;
		}
		if (etag_hash_add(r->hash, r->buf + r->got, (size_t)n) < 0) {
			failed(r, f, -ENOMEM);
			return;
		}
		r->got += (uint64_t)n;
		if (r->got < r->file_id.size)
			return;
	}
	if (fstat(r->fd, &st) < 0) {
		failed(r, f, -errno);
		return;
	}
	after = file_id_of(&st);
	if (r->touched || !file_id_eq(&r->file_id, &after))
		again(r, f);
	else
		reader_done(r, f);
}

bool reader_step(struct reader *r)
{
	unsigned queue = r->turn ? READER_FOUND : READER_CHANGED;
	struct catalog_file *f;

	if (r->file != NULL) {
		go_on(r);
		return true;
	}
	r->turn = !r->turn;
	if (list_empty(&r->queues[queue]))
		queue = queue == READER_FOUND ? READER_CHANGED : READER_FOUND;
	if (list_empty(&r->queues[queue]))
		return false;
	f = LIST_ENTRY(r->queues[queue].next, struct catalog_file, queue);
	dequeue(r, f);
	reader_begin(r, f, queue == READER_CHANGED);
	if (r->file != NULL)
		go_on(r);
	return true;
}
