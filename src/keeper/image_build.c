/*
 * image_build: writes the index, the marks and the life pipe of an image into mapped memfds, in one
 * pass over the catalogue, whose facts it never changes. publish decides when the next one is due.
 */
#include "keeper/image_build.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "http/date.h"
#include "http/mime.h"
#include "image/memfd.h"

enum {
	HURRY_MS = 20,
	INTERVAL_MS = 100, /* between two images, while changes keep coming */
	COST_SHARE = 20,   /* images take at most one part in so many of a processor */
	WALKING_MS = 1000,
	RETRY_MS = 1000,
	MIDWAY_MS = 20, /* between two checks in a long step */
};

struct image_builder {
	struct catalog *c;
	struct built_image *img;
	unsigned slot;
	int fd;
	size_t size; /* mapped at head */
	struct image_head *head;
	struct image_entry *entries;
	struct image_slot *slots;
	struct image_root *roots;
	char *strings;
	int64_t date_of; /* the second of date */
	char date[DATE_LEN + 1];
};

/* The most bytes of strings: the paths of files that are not fresh count, too. */
static uint64_t strings_max(const struct catalog *c)
{
	uint64_t n = c->index_room - c->nfiles * catalog_index_room(0);

	for (unsigned i = 0; i < c->nroots; i++) {
		n += strlen(c->roots[i].path);
		for (const struct catalog_type *t = c->roots[i].types; t != NULL; t = t->next)
			n += t->value.n;
	}
	return n;
}

static struct image_string put_string(struct image_builder *p, struct slice s)
{
	struct image_string where = { p->head->nstrings, (uint32_t)s.n };

	memcpy(p->strings + where.at, s.p, s.n);
	p->head->nstrings += where.n;
	return where;
}

static int begin_index(struct image_builder *p)
{
	const struct catalog *c = p->c;
	uint64_t strings = strings_max(c);
	uint32_t nslots = 16;
	void *map;

	if (strings > UINT32_MAX / 2)
		return -EFBIG;
	/* At most half full: searches stay short, and end. */
	while (nslots < 2 * c->nfresh)
		nslots *= 2;
	p->size = sizeof(*p->head) + c->nfresh * sizeof(*p->entries) + nslots * sizeof(*p->slots) +
		  c->nroots * sizeof(*p->roots) + strings;
	p->fd = memfd_map("h2d-index", p->size, &map);
	if (p->fd < 0)
		return p->fd;
	p->head = map;
	*p->head = (struct image_head){
		.magic = IMAGE_MAGIC,
		.version = IMAGE_VERSION,
		.nentries = c->nfresh,
		.nslots = nslots,
		.nsegments = p->img->nsegments,
		.nroots = c->nroots,
		.number = p->img->number,
	};
	/* With the seed a chooser of names cannot choose collisions. */
	if (getrandom(&p->head->seed, sizeof(p->head->seed), GRND_NONBLOCK) !=
		sizeof(p->head->seed))
		p->head->seed = clock_read_us();
	p->entries = (struct image_entry *)(p->head + 1);
	p->slots = (struct image_slot *)(p->entries + c->nfresh);
	p->roots = (struct image_root *)(p->slots + nslots);
	p->strings = (char *)(p->roots + c->nroots);
	return 0;
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
	if (mime_varies(f->type->packs, p->c->conf->codings, sidecars))
		e->flags |= IMAGE_VARIES;
}

static void put_slot(struct image_builder *p, const struct catalog_file *f, uint32_t number)
{
	uint64_t hash = image_hash(p->head->seed, f->node.root, slice_of(f->path, f->node.n));
	uint32_t mask = p->head->nslots - 1, at = (uint32_t)hash & mask;

	while (p->slots[at].entry != 0)
		at = (at + 1) & mask;
	p->slots[at] = (struct image_slot){ (uint32_t)(hash >> 32), number + 1 };
}

static void put_file(struct image_builder *p, struct catalog_file *f, uint32_t number)
{
	struct image_entry *e = &p->entries[number];

	*e = (struct image_entry){
		.path = put_string(p, slice_of(f->path, f->node.n)),
		.root = f->node.root,
		.type = f->type->at,
		.flags = f->settled ? IMAGE_SETTLED : 0,
		.file_id = f->file_id,
		.mtime = file_id_mtime(&f->file_id),
		.body = location_of(f->body),
	};
	set_variants(p, f, e);
	if (p->date[0] == '\0' || p->date_of != e->mtime) {
		date_format(e->mtime, p->date);
		p->date_of = e->mtime;
	}
	memcpy(e->last_modified, p->date, IMAGE_DATE);
	put_slot(p, f, number);
	/* Without it the entry would be wrong; the next image has both. */
	if (catalog_unread(p->c, f) != 0)
		p->img->marks->stale[number] = 1;
	f->in[p->slot].number = (uint32_t)p->img->number;
	f->in[p->slot].at = number;
}

/* Unmaps the index, cuts off its unused end and seals it. The descriptor, or -errno. */
static int end_index(struct image_builder *p)
{
	size_t size = (size_t)(p->strings - (char *)p->head) + p->head->nstrings;
	int rc;

	p->img->index_size = size + p->img->marks_size;
	p->c->segments->indexes += p->img->index_size;
	munmap(p->head, p->size);
	if (ftruncate(p->fd, (off_t)size) == 0)
		return memfd_seal(p->fd, false);
	rc = -errno;
	close(p->fd);
	return rc;
}

static int put_index(struct image_builder *p)
{
	uint32_t number = 0;
	int rc = begin_index(p);

	if (rc < 0)
		return rc;
	/* Entries refer to the types. */
	for (unsigned i = 0; i < p->c->nroots; i++) {
		const struct catalog_root *r = &p->c->roots[i];

		p->roots[i].path = put_string(p, slice_str(r->path));
		for (struct catalog_type *t = r->types; t != NULL; t = t->next)
			t->at = put_string(p, t->value);
	}
	for (uint32_t i = 0; i < p->c->nfiles; i++) {
		if (p->c->files[i]->fresh)
			put_file(p, p->c->files[i], number++);
		pause_step(&p->c->pause);
	}
	H2D_ASSERT(number == p->head->nentries);
	return end_index(p);
}

static int make_marks(struct built_image *img)
{
	size_t size = sizeof(*img->marks) + img->nentries;
	void *map;
	int fd = memfd_map("h2d-marks", size, &map);

	if (fd < 0)
		return fd;
	img->marks = map;
	img->marks_size = size;
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
	struct image_builder p = { .c = c, .img = img, .slot = slot };
	int rc = segments_seal(c->segments);

	H2D_ASSERT(c->images[slot].marks == NULL);
	*img = (struct built_image){
		.catalog = c,
		.slot = slot,
		.number = number,
		.content = c->content,
		.nentries = c->nfresh,
		.life = -1,
	};
	for (int i = 0; i < IMAGE_FDS; i++)
		img->fds[i] = -1;
	if (rc < 0)
		return rc;
	img->nsegments = segments_hold_used(c->segments, img->segments);
	for (unsigned i = 0; i < img->nsegments; i++)
		img->fds[IMAGE_FDS + i] = img->segments[i]->fd;
	rc = img->fds[1] = make_marks(img);
	if (rc >= 0)
		rc = img->fds[0] = put_index(&p);
	if (rc >= 0)
		rc = img->fds[2] = make_life(img);
	if (rc < 0) {
		built_image_close(img);
		return rc;
	}
	img->nfds = (int)(IMAGE_FDS + img->nsegments);
	c->images[slot].marks = img->marks;
	c->images[slot].number = (uint32_t)number;
	return 0;
}

/* Closes our descriptors, so that life reports when others have closed theirs. */
static void let_go(struct built_image *img)
{
	for (int i = 0; i < IMAGE_FDS; i++) {
		if (img->fds[i] >= 0)
			close(img->fds[i]);
		img->fds[i] = -1;
	}
	img->nfds = 0;
}

void built_image_close(struct built_image *img)
{
	if (img->catalog == NULL)
		return;
	let_go(img);
	if (img->marks != NULL) {
		img->catalog->images[img->slot].marks = NULL;
		munmap(img->marks, img->marks_size);
	}
	if (img->life >= 0)
		close(img->life);
	img->catalog->segments->indexes -= img->index_size;
	while (img->nsegments > 0)
		segment_release(img->catalog->segments, img->segments[--img->nsegments]);
	*img = (struct built_image){ 0 };
}

/* --- publish ---------------------------------------------------------------------------------- */

static void drop_published(struct published *i)
{
	struct publish *p = i->owner;

	loop_unwatch(p->loop, &i->life);
	built_image_close(&i->image);
	i->alive = false;
	if (p->newest == i)
		p->newest = NULL;
	p->blocked = false;
}

static void on_life(struct watch *w, uint32_t events)
{
	struct published *i = LIST_ENTRY(w, struct published, life);
	struct publish *p = i->owner;
	uint64_t again = clock_ms() + RETRY_MS;

	if ((events & EPOLLHUP) == 0)
		return;
	/* Readers keep the newest: if none does, it was lost on its way to one short of
	 * descriptors. */
	if (p->newest == i && (p->due_ms == 0 || p->due_ms > again))
		p->due_ms = again;
	drop_published(i);
	p->room(p->ctx);
}

void publish_init(
	struct publish *p, struct catalog *c, struct loop *loop, void *buf, uint64_t number)
{
	*p = (struct publish){
		.catalog = c,
		.loop = loop,
		.buf = buf,
		.number = number,
		.last_ms = clock_ms(),
	};
	for (int i = 0; i < CATALOG_IMAGES; i++) {
		p->images[i].owner = p;
		p->images[i].life.fn = on_life;
	}
}

void publish_fini(struct publish *p)
{
	for (int i = 0; i < CATALOG_IMAGES; i++)
		if (p->images[i].alive)
			drop_published(&p->images[i]);
}

static void look_and_tick(struct publish *p)
{
	/* First: if this process is stopped meanwhile, the tick covers no more than was checked. */
	uint64_t now = clock_now_ms();

	p->check(p->ctx);
	for (int i = 0; i < CATALOG_IMAGES; i++)
		if (p->images[i].alive)
			image_build_tick(&p->images[i].image, now);
	p->ticked_ms = now;
}

void publish_tick(struct publish *p)
{
	struct published *i = p->newest;

	look_and_tick(p);
	if (i == NULL || i->sent || p->send(p->ctx, &i->image) < 0)
		return;
	i->sent = true;
	let_go(&i->image);
}

void publish_midway(struct publish *p)
{
	if (clock_now_ms() - p->ticked_ms >= MIDWAY_MS)
		look_and_tick(p);
}

void publish_revoke(const struct publish *p)
{
	/* Too old at any uptime, also for a reader whose clock is one long turn behind. */
	for (int i = 0; i < CATALOG_IMAGES; i++)
		if (p->images[i].alive)
			image_build_tick(&p->images[i].image, clock_now_ms() - (UINT64_MAX >> 2));
}

unsigned publish_alive(const struct publish *p)
{
	unsigned n = 0;

	for (int i = 0; i < CATALOG_IMAGES; i++)
		n += p->images[i].alive;
	return n;
}

static int make_in(struct publish *p, struct published *i)
{
	uint64_t start = clock_read_cpu_us();
	int rc = segments_compact(p->catalog->segments, p->buf, &p->catalog->pause);

	if (rc == 0)
		rc = image_build(p->catalog, (unsigned)(i - p->images), p->number++, &i->image);
	if (rc < 0)
		return rc;
	i->alive = true;
	i->sent = false;
	i->life.fd = i->image.life;
	rc = loop_watch(p->loop, &i->life, EPOLLIN);
	if (rc < 0) {
		drop_published(i);
		return rc;
	}
	p->newest = i;
	p->cost_ms = (clock_read_cpu_us() - start) / 1000;
	return 0;
}

static void publish_make(struct publish *p)
{
	struct published *i = p->images;

	/* An unsent image is not worth keeping. */
	if (p->newest != NULL && !p->newest->sent)
		drop_published(p->newest);
	while (i < p->images + CATALOG_IMAGES && i->alive)
		i++;
	/* Beside the newest there is always room for a next one, or none could ever be released. */
	p->blocked = i == p->images + CATALOG_IMAGES ||
		     (publish_alive(p) > 1 && !segments_fit_index(p->catalog->segments));
	if (p->blocked)
		return;
	p->trouble = make_in(p, i);
	p->last_ms = clock_ms();
	if (p->trouble < 0) {
		p->due_ms = p->last_ms + RETRY_MS;
		return;
	}
	p->due_ms = 0;
	p->hurry = false;
	p->made++;
	log_debug("cache: image %llu: %u files, %llu bytes, %u segments, %llu ms of a processor",
		(unsigned long long)i->image.number, i->image.nentries,
		(unsigned long long)i->image.content, i->image.nsegments,
		(unsigned long long)p->cost_ms);
	/* Building may take seconds: the tick and marks must not be from before. */
	publish_tick(p);
	p->room(p->ctx);
}

/* Schedules an image for news of the catalogue. */
static void take_news(struct publish *p)
{
	uint64_t at = clock_ms() + (uint64_t)p->catalog->news_ms;

	if (p->catalog->news_ms == CATALOG_NEVER)
		return;
	p->hurry |= p->catalog->news_ms == 0;
	if (p->due_ms == 0 || at < p->due_ms)
		p->due_ms = at;
	p->catalog->news_ms = CATALOG_NEVER;
}

static uint64_t interval(const struct publish *p, bool walking)
{
	uint64_t ms = p->cost_ms * COST_SHARE;

	if (p->hurry)
		return p->made > 0 ? HURRY_MS : 0;
	if (walking && ms < WALKING_MS)
		ms = WALKING_MS;
	return ms > INTERVAL_MS ? ms : INTERVAL_MS;
}

int publish_step(struct publish *p, bool walking)
{
	uint64_t at;

	take_news(p);
	if (p->due_ms == 0 || p->blocked)
		return -1;
	at = p->last_ms + interval(p, walking);
	if (at < p->due_ms || p->trouble < 0)
		at = p->due_ms;
	if (at > clock_ms())
		return (int)(at - clock_ms());
	publish_make(p);
	take_news(p);
	return p->due_ms == 0 || p->blocked ? -1 : INTERVAL_MS;
}
