/* pack: see pack.h. The bodies are written at once, the index when all is known. */
#include "cache/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "cache/memfd.h"
#include "http/date.h"

/* Growing memory; nothing here is large enough to need more than doubling. */
struct grow {
	char *p;
	size_t n, cap;
};

/* More types than there are rows in mime.def; past it a type is stored again. */
enum { TYPES_MAX = 256 };

struct pack_type {
	const char *p;
	struct image_string at;
};

struct pack {
	uint64_t max_size, content;
	struct grow entries, strings;
	struct pack_type types[TYPES_MAX];
	unsigned ntypes;
	int segment;                   /* being written, -1 for none */
	uint64_t segment_used;
	int fds[IMAGE_SEGMENTS];       /* finished segments */
	uint32_t nsegments;            /* the one being written included */
};

static void *grow(struct grow *g, size_t n)
{
	size_t cap = g->cap == 0 ? 65536 : g->cap;
	char *p = g->p;

	while (cap - g->n < n)
		cap *= 2;
	if (cap != g->cap) {
		p = realloc(g->p, cap);
		if (p == NULL)
			return NULL;
		g->p = p;
		g->cap = cap;
	}
	p += g->n;
	g->n += n;
	return p;
}

struct pack *pack_new(uint64_t max_size)
{
	struct pack *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->max_size = max_size;
	p->segment = -1;
	return p;
}

static uint64_t aligned(uint64_t at)
{
	return (at + IMAGE_ALIGN - 1) & ~(uint64_t)(IMAGE_ALIGN - 1);
}

static bool fits_segment(const struct pack *p, uint64_t n)
{
	return p->segment >= 0 && aligned(p->segment_used) + n <= IMAGE_SEGMENT_MAX;
}

bool pack_has_room(const struct pack *p, uint64_t n)
{
	return n <= IMAGE_SEGMENT_MAX && n <= p->max_size - p->content &&
	       (fits_segment(p, n) || p->nsegments < IMAGE_SEGMENTS) &&
	       p->entries.n / sizeof(struct image_entry) < IMAGE_ENTRIES_MAX &&
	       p->strings.n < UINT32_MAX / 2;
}

static int end_segment(struct pack *p)
{
	int fd;

	if (p->segment < 0)
		return 0;
	fd = memfd_seal(p->segment, false);
	p->segment = -1;
	if (fd < 0) {
		p->nsegments--;
		return fd;
	}
	p->fds[p->nsegments - 1] = fd;
	return 0;
}

static int begin_segment(struct pack *p)
{
	int rc = end_segment(p);

	if (rc < 0)
		return rc;
	p->segment = memfd_new("h2d-bodies");
	if (p->segment < 0)
		return p->segment;
	p->segment_used = 0;
	p->nsegments++;
	return 0;
}

static int add_string(struct pack *p, struct slice s, struct image_string *where)
{
	char *to = grow(&p->strings, s.n);

	if (to == NULL)
		return -ENOMEM;
	if (s.n > 0)
		memcpy(to, s.p, s.n);
	where->at = (uint32_t)(to - p->strings.p);
	where->n = (uint32_t)s.n;
	return 0;
}

static int add_type(struct pack *p, struct slice type, struct image_string *where)
{
	int rc;

	for (unsigned i = 0; i < p->ntypes; i++) {
		if (p->types[i].p == type.p) {
			*where = p->types[i].at;
			return 0;
		}
	}
	rc = add_string(p, type, where);
	if (rc == 0 && p->ntypes < TYPES_MAX)
		p->types[p->ntypes++] = (struct pack_type){ type.p, *where };
	return rc;
}

int pack_add(struct pack *p, const struct pack_file *f)
{
	uint64_t n = f->ident.size;
	struct image_entry *e;
	char date[DATE_LEN + 1];
	int rc = 0;

	H2D_ASSERT(pack_has_room(p, n) && f->etag->n == IMAGE_ETAG);
	if (!fits_segment(p, n))
		rc = begin_segment(p);
	if (rc < 0)
		return rc;
	p->segment_used = aligned(p->segment_used);
	rc = memfd_write(p->segment, f->data, n, (off_t)p->segment_used);
	if (rc < 0)
		return rc;
	e = grow(&p->entries, sizeof(*e));
	if (e == NULL)
		return -ENOMEM;
	*e = (struct image_entry){
		.root = f->root,
		.segment = p->nsegments - 1,
		.at = (uint32_t)p->segment_used,
		.n = (uint32_t)n,
		.ident = f->ident,
		.mtime = ident_mtime(&f->ident),
	};
	memcpy(e->etag, f->etag->text, IMAGE_ETAG);
	date_format(e->mtime, date);
	memcpy(e->last_modified, date, IMAGE_DATE);
	rc = add_string(p, f->path, &e->path);
	if (rc == 0)
		rc = add_type(p, f->type, &e->type);
	p->segment_used += n;
	p->content += n;
	return rc;
}

/* At most half full: searches stay short, and end. */
static struct image_slot *make_slots(const struct pack *p, uint64_t seed, uint32_t *count)
{
	const struct image_entry *entries = (const void *)p->entries.p;
	uint32_t n = (uint32_t)(p->entries.n / sizeof(*entries)), nslots = 16;
	struct image_slot *slots;

	while (nslots < 2 * n)
		nslots *= 2;
	slots = calloc(nslots, sizeof(*slots));
	if (slots == NULL)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		struct slice path = slice_of(p->strings.p + entries[i].path.at, entries[i].path.n);
		uint64_t hash = image_hash(seed, entries[i].root, path);
		uint32_t at = (uint32_t)hash & (nslots - 1);

		while (slots[at].entry != 0)
			at = (at + 1) & (nslots - 1);
		slots[at] = (struct image_slot){ (uint32_t)(hash >> 32), i + 1 };
	}
	*count = nslots;
	return slots;
}

static int write_index(const struct pack *p, struct image_head *h)
{
	struct image_slot *slots;
	off_t at = sizeof(*h);
	int fd, rc;

	/* The seed keeps who chooses names from choosing collisions. */
	if (getrandom(&h->seed, sizeof(h->seed), GRND_NONBLOCK) != sizeof(h->seed))
		h->seed = clock_read_us();
	slots = make_slots(p, h->seed, &h->nslots);
	if (slots == NULL)
		return -ENOMEM;
	fd = memfd_new("h2d-index");
	if (fd < 0) {
		free(slots);
		return fd;
	}
	rc = memfd_write(fd, h, sizeof(*h), 0);
	if (rc == 0)
		rc = memfd_write(fd, p->entries.p, p->entries.n, at);
	at += (off_t)p->entries.n;
	if (rc == 0)
		rc = memfd_write(fd, slots, h->nslots * sizeof(*slots), at);
	at += (off_t)(h->nslots * sizeof(*slots));
	if (rc == 0)
		rc = memfd_write(fd, p->strings.p, p->strings.n, at);
	free(slots);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	return memfd_seal(fd, false);
}

static int make_marks(struct pack_image *img)
{
	int fd = memfd_new("h2d-marks");
	void *map;
	int rc;

	if (fd < 0)
		return fd;
	img->marks_size = sizeof(*img->marks) + img->nentries;
	if (ftruncate(fd, (off_t)img->marks_size) < 0) {
		rc = -errno;
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
	pack_tick(img);
	return memfd_seal(fd, true);
}

int pack_finish(struct pack *p, uint64_t number, struct pack_image *img)
{
	struct image_head h = {
		.magic = IMAGE_MAGIC,
		.version = IMAGE_VERSION,
		.nentries = (uint32_t)(p->entries.n / sizeof(struct image_entry)),
		.nsegments = p->nsegments,
		.nstrings = (uint32_t)p->strings.n,
		.number = number,
		.content = p->content,
	};
	int rc = end_segment(p);

	*img = (struct pack_image){
		.number = number,
		.content = p->content,
		.nentries = h.nentries,
	};
	if (rc < 0)
		return rc;
	for (int i = 0; i < 2; i++) {
		rc = i == 0 ? write_index(p, &h) : make_marks(img);
		if (rc < 0) {
			pack_image_close(img);
			return rc;
		}
		img->fds[img->nfds++] = rc;
	}
	for (uint32_t i = 0; i < p->nsegments; i++)
		img->fds[img->nfds++] = p->fds[i];
	p->nsegments = 0;
	return 0;
}

void pack_free(struct pack **pp)
{
	struct pack *p = *pp;

	if (p == NULL)
		return;
	*pp = NULL;
	if (p->segment >= 0) {
		close(p->segment);
		p->nsegments--;
	}
	for (uint32_t i = 0; i < p->nsegments; i++)
		close(p->fds[i]);
	free(p->entries.p);
	free(p->strings.p);
	free(p);
}

void pack_tick(const struct pack_image *img)
{
	__atomic_store_n(&img->marks->tick_ms, clock_read_us() / 1000, __ATOMIC_RELEASE);
}

void pack_image_close(struct pack_image *img)
{
	if (img->marks != NULL)
		munmap(img->marks, img->marks_size);
	img->marks = NULL;
	while (img->nfds > 0)
		close(img->fds[--img->nfds]);
}
