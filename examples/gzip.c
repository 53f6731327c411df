/*
 * gzip: POST /gzip sends its body back compressed while it comes, however long it is: an answer
 * that is made of the body. A thread has one piece at a time; the next is taken when the client has
 * taken what became of it, so that a request holds about half a megabyte, whoever is slow.
 */
#include "h2d/handler.h"

#if __has_include(<zlib.h>)
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16, MEMORY = 8, ROOM = 1 << 16 };

struct buffer {
	unsigned char *p;
	size_t n, room;
};

/* It is the thread's while that is busy with it, so it lives as long as both need it. */
struct gzip {
	z_stream z;
	struct buffer in, out;
	size_t sent; /* bytes of out */
	bool busy, last, whole, failed;
};

struct state {
	struct gzip *gzip;
};

static bool make_room(struct buffer *b, size_t n)
{
	unsigned char *p = n > b->room ? realloc(b->p, n) : b->p;

	if (p == NULL)
		return false;
	b->p = p;
	b->room = n > b->room ? n : b->room;
	return true;
}

static void gzip_free(struct gzip *g)
{
	deflateEnd(&g->z);
	free(g->in.p);
	free(g->out.p);
	free(g);
}

/* --- in a thread ------------------------------------------------------------------------------ */

static void compress_piece(void *job)
{
	struct gzip *g = job;
	int rc;

	g->z.next_in = g->in.p;
	g->z.avail_in = (uInt)g->in.n;
	g->out.n = 0;
	do {
		if (!make_room(&g->out, g->out.n + ROOM)) {
			g->failed = true;
			return;
		}
		g->z.next_out = g->out.p + g->out.n;
		g->z.avail_out = ROOM;
		rc = deflate(&g->z, g->last ? Z_FINISH : Z_NO_FLUSH);
		g->out.n += ROOM - g->z.avail_out;
	} while (g->z.avail_out == 0);
	g->whole = rc == Z_STREAM_END;
	g->failed = rc == Z_STREAM_ERROR;
}

/* --- on the loop ------------------------------------------------------------------------------ */

static void compressed(struct h2d_req *req, void *state, void *job)
{
	struct gzip *g = job;

	(void)state;
	g->busy = false;
	g->sent = 0;
	if (req == NULL) {
		gzip_free(g);
		return;
	}
	if (g->in.n > 0)
		h2d_consume(req, g->in.n);
	h2d_resume(req);
}

/* Until the thread is done, and the client has taken the outcome, nothing more is taken. */
static void work(struct h2d_req *req, struct gzip *g)
{
	h2d_body_pause(req);
	g->busy = h2d_work(req, compress_piece, compressed, g) == 0;
	if (!g->busy) {
		g->failed = true;
		h2d_resume(req);
	}
}

static ssize_t fill(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	struct gzip *g = ((struct state *)state)->gzip;
	size_t n;

	if (g->failed)
		return H2D_FAIL;
	if (g->busy)
		return H2D_LATER;
	n = g->out.n - g->sent < cap ? g->out.n - g->sent : cap;
	if (n == 0 && g->whole)
		return 0;
	if (n == 0) {
		h2d_body_resume(req);
		return H2D_LATER;
	}
	memcpy(buf, g->out.p + g->sent, n);
	g->sent += n;
	return (ssize_t)n;
}

static void start(struct h2d_req *req, void *state)
{
	struct gzip *g = calloc(1, sizeof(*g));

	if (g == NULL || deflateInit2(&g->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY,
				 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(g);
		h2d_reply_error(req, 503);
		return;
	}
	((struct state *)state)->gzip = g;
	h2d_reply_stream(req, 200, "application/gzip", fill);
}

static void body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	struct gzip *g = ((struct state *)state)->gzip;

	g->failed = !make_room(&g->in, len);
	if (g->failed) {
		h2d_resume(req);
		return;
	}
	memcpy(g->in.p, data, len);
	g->in.n = len;
	work(req, g);
}

static void end(struct h2d_req *req, void *state)
{
	struct gzip *g = ((struct state *)state)->gzip;

	g->in.n = 0;
	g->last = true;
	work(req, g);
}

/* What the thread has is freed behind it. */
static void gone(struct h2d_req *req, void *state)
{
	struct gzip *g = ((struct state *)state)->gzip;

	(void)req;
	if (g != NULL && !g->busy)
		gzip_free(g);
}

const struct h2d_handler h2d_handler_gzip = {
	.name = "gzip",
	.state_size = sizeof(struct state),
	.duplex = true,
	.start = start,
	.body = body,
	.end = end,
	.gone = gone,
};
#endif
