/*
 * hasher: files in a circle, the first of which is being read by an offload thread. Called by
 * disk_etag.c; it never touches a request, and a file that changes is given up.
 */
#include "files/hasher.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "image/wait_writers.h"

enum { PIECE = 256 << 10, PORTION = 32 << 20, MORE = 1 };

struct hashing {
	struct list node; /* in the line */
	struct hasher *hasher;
	struct job job;
	int fd;
	struct file_id file_id;
	bool young; /* a write(2) that moved its time stamps may still be under way */
	struct etag_hash *hash;
	uint64_t at;
	int result; /* of the job: 0, MORE or -errno */
	struct etag etag;
};

struct hasher {
	struct offload *offload;
	struct etag_memo *memo;
	struct list line; /* in turn; the first one is a thread's */
	unsigned n;
	bool ending;
};

struct hasher *hasher_new(struct offload *o, struct etag_memo *memo)
{
	struct hasher *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->offload = o;
	h->memo = memo;
	list_init(&h->line);
	return h;
}

/* --- in a thread ------------------------------------------------------------------------------ */

static bool is_as_it_was(const struct hashing *g)
{
	struct file_id now;
	struct stat st;

	if (fstat(g->fd, &st) < 0)
		return false;
	now = file_id_of(&st);
	return file_id_eq(&now, &g->file_id);
}

static int begin(struct hashing *g)
{
	g->hash = etag_hash_new();
	if (g->hash == NULL || etag_hash_begin(g->hash) < 0)
		return -ENOMEM;
	return g->young ? wait_writers(g->fd, &g->file_id) : 0;
}

static int read_to(struct hashing *g, char *buf, uint64_t end)
{
	int rc = 0;

	while (rc == 0 && g->at < end) {
		ssize_t n = pread(g->fd, buf, PIECE, (off_t)g->at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EAGAIN;
		rc = etag_hash_add(g->hash, buf, (size_t)n);
		g->at += (uint64_t)n;
	}
	return rc;
}

static int portion(struct hashing *g)
{
	uint64_t left = g->file_id.size - g->at;
	char *buf = malloc(PIECE);
	int rc = buf == NULL ? -ENOMEM : g->hash == NULL ? begin(g) : 0;

	if (rc == 0)
		rc = read_to(g, buf, g->at + (left < PORTION ? left : PORTION));
	free(buf);
	if (rc == 0 && !is_as_it_was(g))
		rc = -EAGAIN;
	if (rc == 0 && g->at < g->file_id.size)
		return MORE;
	return rc == 0 ? etag_hash_end(g->hash, &g->etag) : rc;
}

static void work(struct job *j)
{
	struct hashing *g = LIST_ENTRY(j, struct hashing, job);

	g->result = portion(g);
	if (g->result == MORE)
		return;
	/* Here, for a file system that waits for an answer to close(). */
	close(g->fd);
	g->fd = -1;
}

/* --- on the loop ------------------------------------------------------------------------------ */

static void drop(struct hashing *g)
{
	struct hasher *h = g->hasher;

	list_remove(&g->node);
	h->n--;
	if (g->fd >= 0)
		close(g->fd);
	etag_hash_free(&g->hash);
	free(g);
}

static void next(struct hasher *h)
{
	while (!list_empty(&h->line)) {
		struct hashing *g = LIST_ENTRY(h->line.next, struct hashing, node);
		struct etag known;

		/* Another worker may have been at it. */
		if (!h->ending && !etag_memo_get(h->memo, &g->file_id, &known) &&
			offload_submit(h->offload, &g->job) == 0)
			return;
		drop(g);
	}
	if (h->ending)
		free(h);
}

static void done(struct job *j)
{
	struct hashing *g = LIST_ENTRY(j, struct hashing, job);
	struct hasher *h = g->hasher;

	if (g->result == MORE) {
		/* Others have their turn. */
		list_remove(&g->node);
		list_append(&h->line, &g->node);
	} else {
		COUNT(files_hashed, 1);
		/* It was old enough for its time stamps to tell, or nobody would have asked. */
		if (g->result == 0)
			etag_memo_put(
				h->memo, &g->file_id, &g->etag, file_id_ns(clock_wall()), true);
		drop(g);
	}
	next(h);
}

static bool has(const struct hasher *h, const struct file_id *id)
{
	LIST_FOREACH(node, &h->line)
		if (file_id_eq(&LIST_ENTRY(node, struct hashing, node)->file_id, id))
			return true;
	return false;
}

void hasher_ask(struct hasher *h, int fd, const struct file_id *id, enum job_class class,
	const void *volume)
{
	struct hashing *g;

	if (h->n == HASHER_LINE || has(h, id))
		return;
	g = calloc(1, sizeof(*g));
	if (g == NULL)
		return;
	g->hasher = h;
	g->fd = dup(fd);
	g->file_id = *id;
	g->young = file_id_ns(clock_wall()) - id->ctime_ns <= WAIT_WRITERS_NS;
	g->job = (struct job){ .work = work, .done = done, .class = class, .volume = volume };
	list_append(&h->line, &g->node);
	h->n++;
	if (g->fd < 0)
		drop(g);
	else if (h->n == 1)
		next(h);
}

void hasher_free(struct hasher **hp)
{
	struct hasher *h = *hp;

	if (h == NULL)
		return;
	*hp = NULL;
	h->ending = true;
	while (h->n > 1)
		drop(LIST_ENTRY(h->line.prev, struct hashing, node));
	if (h->n == 0)
		free(h);
}
