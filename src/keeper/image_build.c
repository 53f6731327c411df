/*
 * image_build: writes the index, the marks and the life pipe of one image in one pass over the
 * catalogue, in pieces, to save memory. Called by publish.c; it never writes bodies and never
 * changes facts of the catalogue.
 */
#include "keeper/image_build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "http/date.h"
#include "http/mime.h"
#include "image/memfd.h"

enum { PIECE = 256 << 10 };

/* A part of the index, written sequentially. */
struct stream {
	int fd;
	off_t at; /* of the piece */
	size_t n; /* bytes in the piece */
	uint64_t total;
	char *piece;
};

struct image_builder {
	struct catalog *c;
	struct built_image *img;
	unsigned slot;
	int fd;
	struct image_head head;
	struct image_slot *slots;
	struct stream entries, strings;
	int64_t date_of; /* the second of date */
	char date[DATE_LEN + 1];
};

static int flush_stream(struct stream *s)
{
	int rc = memfd_write(s->fd, s->piece, s->n, s->at);

	s->at += (off_t)s->n;
	s->n = 0;
	return rc;
}

static int put_bytes(struct stream *s, const void *p, size_t n)
{
	int rc = 0;

	H2D_ASSERT(n <= PIECE);
	if (PIECE - s->n < n)
		rc = flush_stream(s);
	memcpy(s->piece + s->n, p, n);
	s->n += n;
	s->total += n;
	return rc;
}

static int put_string(struct image_builder *p, struct slice s, struct image_string *where)
{
	if (p->strings.total > UINT32_MAX / 2)
		return -EFBIG;
	where->at = (uint32_t)p->strings.total;
	where->n = (uint32_t)s.n;
	return put_bytes(&p->strings, s.p, s.n);
}

static int begin_index(struct image_builder *p)
{
	struct image_head *h = &p->head;

	/* At most half full: searches stay short, and end. */
	h->nslots = 16;
	while (h->nslots < 2 * h->nentries)
		h->nslots *= 2;
	p->slots = calloc(h->nslots, sizeof(*p->slots));
	p->entries.piece = malloc(PIECE);
	p->strings.piece = malloc(PIECE);
	if (p->slots == NULL || p->entries.piece == NULL || p->strings.piece == NULL)
		return -ENOMEM;
	/* With the seed a chooser of names cannot choose collisions. */
	if (getrandom(&h->seed, sizeof(h->seed), GRND_NONBLOCK) != sizeof(h->seed))
		h->seed = clock_read_us();
	p->fd = memfd_new("h2d-index");
	if (p->fd < 0)
		return p->fd;
	p->entries.fd = p->strings.fd = p->fd;
	p->entries.at = sizeof(*h);
	p->strings.at = (off_t)(sizeof(*h) + h->nentries * sizeof(struct image_entry) +
				h->nslots * sizeof(struct image_slot) +
				h->nroots * sizeof(struct image_root));
	return 0;
}

/* Holds the segments with bodies, in the order of the store. */
static void hold_segments(struct image_builder *p)
{
	struct built_image *img = p->img;

	LIST_FOREACH(node, &p->c->segments->all) {
		struct segment *g = LIST_ENTRY(node, struct segment, node);

		if (list_empty(&g->bodies))
			continue;
		H2D_ASSERT(img->nsegments < IMAGE_SEGMENTS);
		g->number = img->nsegments;
		segment_hold(g);
		img->segments[img->nsegments] = g;
		img->fds[IMAGE_FDS + img->nsegments++] = g->fd;
	}
	p->head.nsegments = img->nsegments;
}

/* Writes roots, and the types that entries refer to. */
static int put_roots(struct image_builder *p)
{
	off_t at = (off_t)(sizeof(p->head) + p->head.nentries * sizeof(struct image_entry) +
			   p->head.nslots * sizeof(struct image_slot));
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < p->c->nroots; i++) {
		const struct catalog_root *r = &p->c->roots[i];
		struct image_root out = { .dev = r->dev, .ino = r->ino };

		rc = put_string(p, slice_str(r->path), &out.path);
		if (rc == 0)
			rc = memfd_write(p->fd, &out, sizeof(out), at);
		at += sizeof(out);
		for (struct catalog_type *t = r->types; rc == 0 && t != NULL; t = t->next)
			rc = put_string(p, t->value, &t->at);
	}
	return rc;
}

static struct image_body location_of(const struct segment_body *b)
{
	struct image_body out = { .segment = b->segment->number, .at = b->at, .n = b->n };

	memcpy(out.etag, b->etag, IMAGE_ETAG);
	return out;
}

static void set_variants(
	const struct image_builder *p, const struct catalog_file *f, struct image_entry *e)
{
	bool sidecars = false;

	for (enum coding i = 0; i < CODINGS; i++) {
		const struct catalog_file *s = catalog_sidecar(p->c, f, i);

		if (s != NULL) {
			e->variants[i] = location_of(s->body);
			e->flags |= IMAGE_SIDECAR << i;
			sidecars = true;
		} else if (f->variants[i] != NULL) {
			e->variants[i] = location_of(f->variants[i]);
		}
		if ((f->tried & 1U << i) != 0)
			e->flags |= IMAGE_TRIED << i;
	}
	if (mime_varies(f->type->mime, p->c->conf->codings, sidecars))
		e->flags |= IMAGE_VARIES;
}

static void put_slot(struct image_builder *p, const struct catalog_file *f, uint32_t number)
{
	uint64_t hash = image_hash(p->head.seed, f->node.root, slice_of(f->path, f->node.n));
	uint32_t mask = p->head.nslots - 1, at = (uint32_t)hash & mask;

	while (p->slots[at].entry != 0)
		at = (at + 1) & mask;
	p->slots[at] = (struct image_slot){ (uint32_t)(hash >> 32), number + 1 };
}

static int put_file(struct image_builder *p, struct catalog_file *f, uint32_t number)
{
	struct image_entry e = {
		.root = f->node.root,
		.type = f->type->at,
		.bare_type = (uint32_t)f->type->mime->type.n,
		.flags = f->settled ? IMAGE_SETTLED : 0,
		.file_id = f->file_id,
		.mtime = file_id_mtime(&f->file_id),
		.body = location_of(f->body),
	};
	int rc = put_string(p, slice_of(f->path, f->node.n), &e.path);

	if (rc < 0)
		return rc;
	set_variants(p, f, &e);
	if (p->date[0] == '\0' || p->date_of != e.mtime) {
		date_format(e.mtime, p->date);
		p->date_of = e.mtime;
	}
	memcpy(e.last_modified, p->date, IMAGE_DATE);
	put_slot(p, f, number);
	/* Without it the entry would be wrong; the next image has both. */
	if (catalog_unread(p->c, f) != 0)
		p->img->marks->stale[number] = 1;
	f->in[p->slot].number = (uint32_t)p->img->number;
	f->in[p->slot].at = number;
	p->img->content += e.body.n;
	for (int i = 0; i < IMAGE_VARIANTS; i++)
		p->img->content += e.flags & IMAGE_SIDECAR << i ? 0 : e.variants[i].n;
	return put_bytes(&p->entries, &e, sizeof(e));
}

static int put_files(struct image_builder *p)
{
	uint32_t number = 0;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < p->c->nfiles; i++) {
		if (p->c->files[i]->fresh)
			rc = put_file(p, p->c->files[i], number++);
		pause_step(&p->c->pause);
	}
	H2D_ASSERT(rc < 0 || number == p->head.nentries);
	if (rc == 0)
		rc = flush_stream(&p->entries);
	if (rc == 0)
		rc = memfd_write(
			p->fd, p->slots, p->head.nslots * sizeof(*p->slots), p->entries.at);
	return rc;
}

static int put_index(struct image_builder *p)
{
	int rc = begin_index(p);

	if (rc == 0)
		rc = put_roots(p);
	if (rc == 0)
		rc = put_files(p);
	if (rc == 0)
		rc = flush_stream(&p->strings);
	p->head.nstrings = (uint32_t)p->strings.total;
	p->head.content = p->img->content;
	if (rc == 0)
		rc = memfd_write(p->fd, &p->head, sizeof(p->head), 0);
	if (rc == 0) {
		rc = memfd_seal(p->fd, false);
		p->fd = -1;
	}
	return rc;
}

static int make_marks(struct built_image *img)
{
	int fd = memfd_new("h2d-marks");
	void *map;
	int rc;

	if (fd < 0)
		return fd;
	img->marks_size = sizeof(*img->marks) + img->nentries;
	/* Written, not only sized: full memory is an error here, and not SIGBUS at the first
	 * mark. */
	rc = -posix_fallocate(fd, 0, (off_t)img->marks_size);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	map = mmap(NULL, img->marks_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		rc = -errno;
		close(fd);
		return rc;
	}
	img->marks = map;
	memcpy(img->marks->magic, IMAGE_MARKS_MAGIC, 8);
	img->marks->number = img->number;
	img->marks->nentries = img->nentries;
	image_build_tick(img, clock_now_ms());
	return memfd_seal(fd, true);
}

static int make_life(struct built_image *img)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	img->life = ends[0];
	return ends[1];
}

int image_build(struct catalog *c, unsigned slot, uint64_t number, struct built_image *img)
{
	struct image_builder p = {
		.c = c,
		.img = img,
		.slot = slot,
		.fd = -1,
		.head = {
			.magic = IMAGE_MAGIC,
			.version = IMAGE_VERSION,
			.nentries = c->nfresh,
			.nroots = c->nroots,
			.number = number,
		},
	};
	int rc = segments_seal(c->segments);

	H2D_ASSERT(c->images[slot].marks == NULL);
	*img = (struct built_image){
		.catalog = c,
		.slot = slot,
		.number = number,
		.nentries = c->nfresh,
		.life = -1,
	};
	for (int i = 0; i < IMAGE_FDS; i++)
		img->fds[i] = -1;
	if (rc < 0)
		return rc;
	hold_segments(&p);
	rc = img->fds[1] = make_marks(img);
	if (rc >= 0)
		rc = img->fds[0] = put_index(&p);
	if (rc >= 0)
		rc = img->fds[2] = make_life(img);
	if (p.fd >= 0)
		close(p.fd);
	free(p.slots);
	free(p.entries.piece);
	free(p.strings.piece);
	if (rc < 0) {
		built_image_close(img);
		return rc;
	}
	img->nfds = (int)(IMAGE_FDS + img->nsegments);
	img->index_size = (uint64_t)p.strings.at + img->marks_size;
	c->segments->indexes += img->index_size;
	c->images[slot].marks = img->marks;
	c->images[slot].number = (uint32_t)number;
	return 0;
}

void image_build_tick(const struct built_image *img, uint64_t ms)
{
	__atomic_store_n(&img->marks->tick_ms, ms, __ATOMIC_RELEASE);
}

void image_build_revoke(const struct built_image *img)
{
	/* Too old at any uptime, also for a reader whose clock is one long turn behind. */
	image_build_tick(img, clock_now_ms() - (UINT64_MAX >> 2));
}

void image_build_let_go(struct built_image *img)
{
	for (int i = 0; i < IMAGE_FDS && img->catalog != NULL; i++) {
		if (img->fds[i] >= 0)
			close(img->fds[i]);
		img->fds[i] = -1;
	}
	img->nfds = 0;
}

void built_image_close(struct built_image *img)
{
	image_build_let_go(img);
	if (img->marks != NULL) {
		img->catalog->images[img->slot].marks = NULL;
		munmap(img->marks, img->marks_size);
	}
	img->marks = NULL;
	if (img->catalog != NULL && img->life >= 0)
		close(img->life);
	img->life = -1;
	if (img->catalog != NULL)
		img->catalog->segments->indexes -= img->index_size;
	img->index_size = 0;
	while (img->nsegments > 0)
		segment_release(img->catalog->segments, img->segments[--img->nsegments]);
	img->catalog = NULL;
}
