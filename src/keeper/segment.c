/*
 * segment: writes bodies into memfds, counts their bytes in use, and moves the live ones of a
 * segment that is mostly unused. One thread of the keeper calls it; it never changes a byte that an
 * image may refer to.
 */
#include "keeper/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/assert.h"
#include "image/memfd.h"

enum {
	PARTS = 16, /* of max-size in a segment: a move is small beside it */
	SIZE_MIN = 4096,
	SPARE = 4, /* segments kept free for moves */
};

uint64_t segments_hold(uint64_t segment, uint64_t max_body)
{
	uint64_t half = segment / 2;
	uint64_t filled = segment - (max_body < half ? max_body : half) - IMAGE_ALIGN;

	return filled * (IMAGE_SEGMENTS - SPARE - 1);
}

uint64_t segments_max_size(uint64_t max_size, uint64_t max_body)
{
	uint64_t all = segments_hold(IMAGE_SEGMENT_MAX, max_body);

	return max_size < all ? max_size : all;
}

void segments_init(struct segments *s, uint64_t max_size)
{
	uint64_t part = max_size / PARTS, size = part;

	*s = (struct segments){ .bytes_max = 2 * segment_room(max_size) + IMAGE_ALIGN };
	list_init(&s->all);
	s->size = size < SIZE_MIN ? SIZE_MIN : size > IMAGE_SEGMENT_MAX ? IMAGE_SEGMENT_MAX : size;
	s->spare = part < s->size ? part : s->size;
}

static struct segment *segment_new(struct segments *s, int fd)
{
	struct segment *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	g->fd = fd;
	list_init(&g->bodies);
	list_append(&s->all, &g->node);
	s->n++;
	return g;
}

static void segment_free(struct segments *s, struct segment *g)
{
	list_remove(&g->node);
	s->n--;
	s->bytes -= g->used;
	close(g->fd);
	free(g);
}

static void free_unused(struct segments *s, struct segment *g)
{
	if (g != s->open && g->images == 0 && list_empty(&g->bodies))
		segment_free(s, g);
}

void segments_fini(struct segments *s)
{
	s->open = NULL;
	LIST_EACH(struct segment, g, node, &s->all) {
		H2D_ASSERT(list_empty(&g->bodies));
		segment_free(s, g);
	}
}

int segments_seal(struct segments *s)
{
	struct segment *g = s->open;
	int fd;

	if (g == NULL)
		return 0;
	/* A duplicate: memfd_seal() takes the descriptor even when it fails, and the bodies are
	 * needed. */
	fd = dup(g->fd);
	if (fd < 0)
		return -errno;
	fd = memfd_seal(fd, false);
	if (fd < 0)
		return fd;
	close(g->fd);
	g->fd = fd;
	g->sealed = true;
	s->open = NULL;
	free_unused(s, g);
	return 0;
}

/* Segments for the next image; others wait for readers of older ones. */
static unsigned in_use(const struct segments *s)
{
	unsigned n = 0;

	LIST_EACH(const struct segment, g, node, &s->all)
		n += g == s->open || !list_empty(&g->bodies);
	return n;
}

static int begin_segment(struct segments *s, unsigned limit)
{
	int fd, rc = segments_seal(s);

	if (rc < 0)
		return rc;
	if (in_use(s) >= limit)
		return -EAGAIN;
	fd = memfd_new("h2d-bodies");
	if (fd < 0)
		return fd;
	s->open = segment_new(s, fd);
	if (s->open == NULL) {
		close(fd);
		return -ENOMEM;
	}
	return 0;
}

bool segments_have_room(const struct segments *s, uint64_t n)
{
	/* The live images end, and the next replaces them: then one more must fit beside it. */
	uint64_t old = s->indexes > s->index_next ? s->indexes : s->index_next;

	return s->bytes + old + s->index_next + n + s->spare <= s->bytes_max;
}

bool segments_fit_index(const struct segments *s)
{
	return s->bytes + s->indexes + s->index_next + s->spare <= s->bytes_max;
}

/* The next index may use room reserved for moves: those make more. */
static bool can_move(const struct segments *s, uint64_t n)
{
	return s->bytes + s->indexes + IMAGE_ALIGN + n <= s->bytes_max;
}

/* Makes room for n bytes at the end of s->open, which may be a new one. */
static int make_room(struct segments *s, size_t n, bool moving)
{
	unsigned limit = moving ? IMAGE_SEGMENTS : IMAGE_SEGMENTS - SPARE;
	struct segment *g = s->open;

	H2D_ASSERT(n <= IMAGE_SEGMENT_MAX);
	if (moving ? !can_move(s, n) : !segments_have_room(s, IMAGE_ALIGN + n))
		return -EAGAIN;
	if (g != NULL && (g->used == 0 || segment_room(g->used) + n <= s->size))
		return 0;
	return begin_segment(s, limit);
}

/* The place of the next n bytes; no bytes never exceed the end. */
static uint64_t end_of(const struct segment *g, size_t n)
{
	return n > 0 ? segment_room(g->used) : 0;
}

/* Writes n bytes to the end of a segment with room for them. 0, or -errno. */
static int append(struct segments *s, const void *data, size_t n, bool moving)
{
	int rc = make_room(s, n, moving);

	return rc == 0 ? memfd_write(s->open->fd, data, n, (off_t)end_of(s->open, n)) : rc;
}

/* Gives the n appended bytes to b. */
static void place(struct segments *s, struct segment_body *b, size_t n)
{
	struct segment *g = s->open;
	uint64_t at = end_of(g, n);

	b->segment = g;
	b->at = (uint32_t)at;
	b->n = (uint32_t)n;
	list_append(&g->bodies, &b->node);
	if (n == 0)
		return;
	s->bytes += at + n - g->used;
	g->used = at + n;
	g->live += segment_room(n);
}

int segments_put(struct segments *s, const void *data, size_t n, const struct etag *etag,
	struct segment_body **out)
{
	struct segment_body *b;
	int rc;

	H2D_ASSERT(etag->n == IMAGE_ETAG);
	rc = append(s, data, n, false);
	if (rc < 0)
		return rc;
	b = malloc(sizeof(*b));
	if (b == NULL)
		return -ENOMEM;
	memcpy(b->etag, etag->text, IMAGE_ETAG);
	place(s, b, n);
	*out = b;
	return 0;
}

static void take_out(struct segment_body *b)
{
	list_remove(&b->node);
	b->segment->live -= segment_room(b->n);
}

void segments_drop(struct segments *s, struct segment_body **b)
{
	struct segment *g;

	if (*b == NULL)
		return;
	g = (*b)->segment;
	take_out(*b);
	free(*b);
	*b = NULL;
	free_unused(s, g);
}

int segments_read(const struct segment_body *b, void *to)
{
	return memfd_read(b->segment->fd, to, b->n, b->at);
}

/* The sealed one with the fewest bytes that is worth moving; NULL: none. */
static struct segment *worst(const struct segments *s, uint64_t moved)
{
	uint64_t written = s->open != NULL ? s->open->live : 0;
	bool many = in_use(s) >= IMAGE_SEGMENTS - SPARE;
	struct segment *found = NULL;

	LIST_EACH(struct segment, g, node, &s->all) {
		bool dead = g->live < g->used / 4 * 3;
		bool small = written > 0 && g->live <= written && g->live + written <= s->size;

		if (g == s->open || list_empty(&g->bodies))
			continue;
		if (!dead && !small && !many)
			continue;
		if (moved > 0 && moved + g->live > s->size)
			continue;
		if (found == NULL || g->live < found->live)
			found = g;
	}
	return found;
}

static int move(struct segments *s, struct segment *g, void *buf, struct pause *pause)
{
	LIST_EACH(struct segment_body, b, node, &g->bodies) {
		int rc = segments_read(b, buf);

		if (rc == 0)
			rc = append(s, buf, b->n, true);
		if (rc < 0)
			return rc;
		take_out(b);
		place(s, b, b->n);
		pause_step(pause);
	}
	free_unused(s, g);
	return 0;
}

bool segments_can_compact(const struct segments *s)
{
	const struct segment *g = worst(s, 0);

	return g != NULL && can_move(s, g->live);
}

int segments_compact(struct segments *s, void *buf, struct pause *pause)
{
	uint64_t moved = 0;
	struct segment *g;

	while ((g = worst(s, moved)) != NULL) {
		uint64_t live = g->live;
		int rc;

		/* All of it or none: half a move frees no memory. */
		if (!can_move(s, g->live))
			break;
		rc = move(s, g, buf, pause);
		if (rc < 0)
			return rc == -EAGAIN ? 0 : rc;
		moved += live > 0 ? live : IMAGE_ALIGN;
	}
	return 0;
}

struct segment *segments_take_over(struct segments *s, int fd, size_t n)
{
	off_t size = memfd_sealed_size(fd, true);
	struct segment *g = NULL;

	errno = EPROTO;
	if (size >= 0 && s->n < IMAGE_SEGMENTS - SPARE && segments_have_room(s, (uint64_t)size) &&
		((uint64_t)size <= s->size || (uint64_t)size == n))
		g = segment_new(s, fd);
	if (g == NULL) {
		close(fd);
		return NULL;
	}
	g->sealed = true;
	g->used = (uint64_t)size;
	s->bytes += g->used;
	return g;
}

struct segment_body *segments_take_body(struct segment *g, const struct image_body *from)
{
	struct segment_body *b = malloc(sizeof(*b));

	H2D_ASSERT(from->at <= g->used && from->n <= g->used - from->at);
	if (b == NULL)
		return NULL;
	b->segment = g;
	b->at = from->at;
	b->n = from->n;
	memcpy(b->etag, from->etag, IMAGE_ETAG);
	g->live += segment_room(b->n);
	list_append(&g->bodies, &b->node);
	return b;
}

void segment_hold(struct segment *g)
{
	H2D_ASSERT(g->sealed);
	g->images++;
}

unsigned segments_hold_used(struct segments *s, struct segment **held)
{
	unsigned n = 0;

	LIST_EACH(struct segment, g, node, &s->all) {
		if (list_empty(&g->bodies))
			continue;
		H2D_ASSERT(n < IMAGE_SEGMENTS);
		g->number = n;
		segment_hold(g);
		held[n++] = g;
	}
	return n;
}

void segment_release(struct segments *s, struct segment *g)
{
	H2D_ASSERT(g->images > 0);
	g->images--;
	free_unused(s, g);
}
