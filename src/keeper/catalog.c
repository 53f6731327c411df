/*
 * catalog: keeps the tables of roots, directories and files, and marks every change in all images
 * alive before it returns. The keeper calls it, on one thread; it never opens or reads a file.
 */
#include "keeper/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/assert.h"
#include "http/mime.h"

enum {
	TYPES_MEMORY = 16 << 20,
	NEWS_MS = 20,           /* changes that come together share one image */
	NEWS_SETTLED_MS = 1000, /* useful only for a later warm start */
};

int catalog_init(struct catalog *c, const struct doc_roots *conf, struct segments *segments)
{
	*c = (struct catalog){
		.segments = segments,
		.conf = conf,
		.nroots = conf->nroots,
		.files_max = IMAGE_ENTRIES_MAX,
		.news_ms = CATALOG_NEVER,
	};
	arena_init(&c->memory, NULL, 0, TYPES_MEMORY);
	c->roots = calloc(conf->nroots + 1, sizeof(*c->roots));
	for (unsigned i = 0; c->roots != NULL && i < c->nroots; i++)
		c->roots[i] = (struct catalog_root){
			.path = conf->roots[i].root,
			.charset = conf->roots[i].charset,
			.fd = -1,
		};
	if (chains_init(&c->names) < 0 || c->roots == NULL) {
		catalog_fini(c);
		return -ENOMEM;
	}
	return 0;
}

void catalog_fini(struct catalog *c)
{
	for (unsigned i = 0; c->roots != NULL && i < c->nroots; i++) {
		if (c->roots[i].top != NULL)
			catalog_remove_dir(c, c->roots[i].top);
		if (c->roots[i].fd >= 0)
			close(c->roots[i].fd);
	}
	chains_fini(&c->names);
	free(c->roots);
	free(c->files);
	arena_reset(&c->memory);
	*c = (struct catalog){ 0 };
}

/* --- names ------------------------------------------------------------------------------------ */

static struct name *find_name(const struct catalog *c, uint32_t root, struct slice path, bool dir)
{
	uint64_t hash = image_hash(c->names.seed, root, path);
	struct chain *at = chains_first(&c->names, hash);

	if (path.n == 0 || (path.p[path.n - 1] == '/') != dir)
		return NULL;
	for (; at != NULL; at = at->next) {
		struct name *n = LIST_ENTRY(at, struct name, chain);

		if (at->hash == hash && n->root == root && slice_eq(slice_of(n->path, n->n), path))
			return n;
	}
	return NULL;
}

static void enter_name(struct catalog *c, struct name *n)
{
	chains_enter(
		&c->names, &n->chain, image_hash(c->names.seed, n->root, slice_of(n->path, n->n)));
}

struct catalog_file *catalog_find(const struct catalog *c, uint32_t root, struct slice path)
{
	struct name *n = find_name(c, root, path, false);

	return n != NULL ? LIST_ENTRY(n, struct catalog_file, node) : NULL;
}

struct catalog_dir *catalog_find_dir(const struct catalog *c, uint32_t root, struct slice path)
{
	struct name *n = find_name(c, root, path, true);

	return n != NULL ? LIST_ENTRY(n, struct catalog_dir, node) : NULL;
}

/* --- sidecars --------------------------------------------------------------------------------- */

/* True: a file beside f may be sent instead. */
static bool takes_beside(const struct catalog *c, const struct catalog_file *f)
{
	return !f->dir->uploads && c->conf->roots[f->node.root].precompressed;
}

/* The file of which path is a sidecar by its name, and the coding; NULL: none. */
static struct catalog_file *base_of(
	const struct catalog *c, uint32_t root, struct slice path, enum coding *coding)
{
	struct catalog_file *f = NULL;

	*coding = coding_beside(&path);
	if (*coding != CODING_NONE)
		f = catalog_find(c, root, path);
	return f != NULL && takes_beside(c, f) ? f : NULL;
}

/* The sidecar of f by its name; NULL: none. */
static struct catalog_file *beside(
	const struct catalog *c, const struct catalog_file *f, enum coding coding)
{
	char buf[PATH_MAX];

	if (!takes_beside(c, f))
		return NULL;
	return catalog_find(
		c, f->node.root, coding_path_beside(slice_of(f->path, f->node.n), coding, buf));
}

struct catalog_file *catalog_sidecar(
	const struct catalog *c, const struct catalog_file *f, enum coding coding)
{
	struct catalog_file *s = NULL;

	if (f->fresh && catalog_codes(f) && (f->beside & 1U << coding) != 0)
		s = beside(c, f, coding);
	return s != NULL && s->fresh && s->body->n > 0 && s->file_id.mtime_ns >= f->file_id.mtime_ns
		       ? s
		       : NULL;
}

unsigned catalog_unread(const struct catalog *c, const struct catalog_file *f)
{
	unsigned set = 0;

	for (enum coding i = 0; f->beside != 0 && catalog_codes(f) && i < CODINGS; i++) {
		const struct catalog_file *s = (f->beside & 1U << i) != 0 ? beside(c, f, i) : NULL;

		if (s != NULL && !s->fresh)
			set |= 1U << i;
	}
	return set;
}

unsigned catalog_wants(const struct catalog *c, const struct catalog_file *f, unsigned codings)
{
	if (!f->fresh || !catalog_codes(f) || f->body->n == 0)
		return 0;
	codings &= ~(f->tried | catalog_unread(c, f) | catalog_refused(c, f));
	for (enum coding i = 0; i < CODINGS; i++)
		if (f->variants[i] != NULL || catalog_sidecar(c, f, i) != NULL)
			codings &= ~(1U << i);
	return codings;
}

/* --- marks ------------------------------------------------------------------------------------ */

static void mark(struct catalog *c, const struct catalog_file *f)
{
	for (unsigned i = 0; i < CATALOG_IMAGES; i++) {
		if (c->images[i].marks == NULL || f->in[i].number != c->images[i].number)
			continue;
		H2D_ASSERT(f->in[i].at < c->images[i].marks->nentries);
		__atomic_store_n(&c->images[i].marks->stale[f->in[i].at], 1, __ATOMIC_RELEASE);
	}
}

static void mark_below(struct catalog *c, const struct catalog_dir *d)
{
	LIST_EACH(struct catalog_file, f, sibling, &d->files)
		mark(c, f);
	LIST_EACH(struct catalog_dir, below, sibling, &d->dirs)
		mark_below(c, below);
}

void catalog_mark(struct catalog *c, uint32_t root, struct slice path)
{
	const struct catalog_dir *d = catalog_find_dir(c, root, path);
	const struct catalog_file *f = catalog_find(c, root, path);
	enum coding coding;

	if (d != NULL)
		mark_below(c, d);
	if (f != NULL)
		mark(c, f);
	f = base_of(c, root, path, &coding);
	if (f != NULL)
		mark(c, f);
}

/* f came or changed, or is no longer there: marks the file it is beside. */
static void doubt_beside(struct catalog *c, const struct catalog_file *f, bool there)
{
	enum coding coding;
	struct catalog_file *base = base_of(c, f->node.root, slice_of(f->path, f->node.n), &coding);

	if (base == NULL)
		return;
	base->beside &= (uint8_t) ~(1U << coding);
	base->beside |= (uint8_t)(there << coding);
	mark(c, base);
	/* Whatever is there now: if it is useless, it may be time to compress. */
	base->tried &= (uint8_t) ~(1U << coding);
	if (!base->fresh)
		return;
	catalog_news(c, NEWS_MS);
	if (c->renewed != NULL)
		c->renewed(c->ctx, base);
}

static void set_fresh(struct catalog *c, struct catalog_file *f, bool fresh)
{
	c->nfresh += (uint32_t)fresh - (uint32_t)f->fresh;
	f->fresh = fresh;
}

void catalog_doubt(struct catalog *c, struct catalog_file *f)
{
	mark(c, f);
	doubt_beside(c, f, true);
	set_fresh(c, f, false);
}

void catalog_doubt_below(struct catalog *c, struct catalog_dir *d)
{
	LIST_EACH(struct catalog_file, f, sibling, &d->files)
		catalog_doubt(c, f);
	LIST_EACH(struct catalog_dir, below, sibling, &d->dirs)
		catalog_doubt_below(c, below);
}

/* --- coming and going ------------------------------------------------------------------------- */

static bool list_file(struct catalog *c, struct catalog_file *f)
{
	if (catalog_full(c))
		return false;
	if (c->nfiles == c->files_cap) {
		uint32_t cap = c->files_cap == 0 ? 1024 : c->files_cap * 2;
		struct catalog_file **files = reallocarray(c->files, cap, sizeof(*c->files));

		if (files == NULL)
			return false;
		c->files = files;
		c->files_cap = cap;
	}
	f->at = c->nfiles;
	c->files[c->nfiles++] = f;
	return true;
}

struct catalog_file *catalog_add(struct catalog *c, struct catalog_dir *dir, struct slice path)
{
	struct catalog_file *f = calloc(1, sizeof(*f) + path.n + 1);

	if (f == NULL || !list_file(c, f)) {
		free(f);
		return NULL;
	}
	c->index_room += catalog_index_room(path.n);
	memcpy(f->path, path.p, path.n);
	f->node = (struct name){ .root = dir->node.root, .n = (uint32_t)path.n, .path = f->path };
	f->dir = dir;
	f->seen = dir->pass;
	list_append(&dir->files, &f->sibling);
	list_init(&f->queue);
	list_init(&f->idle);
	enter_name(c, &f->node);
	doubt_beside(c, f, true);
	for (enum coding i = 0; i < CODINGS; i++)
		f->beside |= (uint8_t)((beside(c, f, i) != NULL) << i);
	return f;
}

struct catalog_dir *catalog_add_dir(
	struct catalog *c, uint32_t root, struct catalog_dir *parent, struct slice path)
{
	struct catalog_dir *d = calloc(1, sizeof(*d) + path.n + 1);

	H2D_ASSERT(parent != NULL || c->roots[root].top == NULL);
	if (d == NULL)
		return NULL;
	memcpy(d->path, path.p, path.n);
	d->node = (struct name){ .root = root, .n = (uint32_t)path.n, .path = d->path };
	d->parent = parent;
	d->uploads = doc_root_is_upload(&c->conf->roots[root], path);
	list_init(&d->sibling);
	list_init(&d->dirs);
	list_init(&d->files);
	list_init(&d->queue);
	if (parent != NULL) {
		d->seen = parent->pass;
		list_append(&parent->dirs, &d->sibling);
	} else {
		c->roots[root].top = d;
	}
	enter_name(c, &d->node);
	return d;
}

static void take_in(struct catalog *c, const struct segment_body *b)
{
	c->content += b->n;
	c->room += segment_room(b->n);
}

static void drop_segment_body(struct catalog *c, struct segment_body **b)
{
	if (*b == NULL)
		return;
	c->content -= (*b)->n;
	c->room -= segment_room((*b)->n);
	segments_drop(c->segments, b);
}

static void take_body(struct catalog *c, const struct catalog_file *f)
{
	take_in(c, f->body);
	c->segments->index_next += catalog_index_room(f->node.n);
}

/* Drops it with its variants. */
static void drop_body(struct catalog *c, struct catalog_file *f)
{
	if (f->body != NULL) {
		catalog_news(c, NEWS_MS); /* an image without it, in any case */
		c->segments->index_next -= catalog_index_room(f->node.n);
	}
	drop_segment_body(c, &f->body);
	for (int i = 0; i < CODINGS; i++)
		drop_segment_body(c, &f->variants[i]);
	f->tried = 0;
}

void catalog_remove(struct catalog *c, struct catalog_file *f)
{
	catalog_doubt(c, f);
	if (c->gone != NULL)
		c->gone(c->ctx, f);
	drop_body(c, f);
	c->index_room -= catalog_index_room(f->node.n);
	chains_leave(&c->names, &f->node.chain);
	/* Not found any more, so its base may be compressed. */
	doubt_beside(c, f, false);
	c->files[f->at] = c->files[--c->nfiles];
	c->files[f->at]->at = f->at;
	list_remove(&f->sibling);
	list_remove(&f->queue);
	list_remove(&f->idle);
	free(f);
	pause_step(&c->pause);
}

static void remove_empty_dir(struct catalog *c, struct catalog_dir *d)
{
	if (c->gone_dir != NULL)
		c->gone_dir(c->ctx, d);
	chains_leave(&c->names, &d->node.chain);
	list_remove(&d->sibling);
	list_remove(&d->queue);
	if (d->parent == NULL)
		c->roots[d->node.root].top = NULL;
	free(d);
}

void catalog_remove_dir(struct catalog *c, struct catalog_dir *d)
{
	struct catalog_dir *at = d, *up;

	/* Leaves first, without recursion: a path may have thousands of parts. */
	do {
		while (!list_empty(&at->dirs))
			at = LIST_ENTRY(at->dirs.next, struct catalog_dir, sibling);
		while (!list_empty(&at->files))
			catalog_remove(c, LIST_ENTRY(at->files.next, struct catalog_file, sibling));
		up = at == d ? NULL : at->parent;
		remove_empty_dir(c, at);
		at = up;
	} while (at != NULL);
}

/* --- facts about a file ----------------------------------------------------------------------- */

static struct catalog_type *type_of(struct catalog *c, const struct catalog_file *f)
{
	struct catalog_root *root = &c->roots[f->node.root];
	const struct mime_types *types = c->conf->roots[f->node.root].types;
	const struct mime *mime = mime_find(types, slice_of(f->path, f->node.n));
	struct catalog_type *t;
	struct slice value;

	for (t = root->types; t != NULL; t = t->next)
		if (t->mime == mime)
			return t;
	value = mime_content_type(mime, slice_str(root->charset), &c->memory);
	t = value.p != NULL ? arena_zalloc(&c->memory, sizeof(*t)) : NULL;
	if (t == NULL)
		return NULL;
	*t = (struct catalog_type){ root->types, mime, mime_packs(types, mime), value, { 0 } };
	root->types = t;
	return t;
}

/* Makes it valid in later images, and the file it is beside. */
static void renew(
	struct catalog *c, struct catalog_file *f, const struct file_id *file_id, bool settled)
{
	f->file_id = *file_id;
	f->settled = settled;
	set_fresh(c, f, true);
	doubt_beside(c, f, true);
	catalog_news(c, NEWS_MS);
	if (c->renewed != NULL)
		c->renewed(c->ctx, f);
}

void catalog_trust(
	struct catalog *c, struct catalog_file *f, const struct file_id *file_id, bool settled)
{
	H2D_ASSERT(f->body != NULL && f->body->n == file_id->size);
	if (!f->fresh || !file_id_eq(&f->file_id, file_id)) {
		mark(c, f);
		renew(c, f, file_id, settled);
	} else if (settled && !f->settled) {
		f->settled = true;
		catalog_news(c, NEWS_SETTLED_MS);
	}
}

int catalog_fill(struct catalog *c, struct catalog_file *f, const struct file_id *file_id,
	bool settled, const struct etag *etag, const void *data)
{
	int rc;

	if (f->body != NULL && f->body->n == file_id->size &&
		memcmp(f->body->etag, etag->text, IMAGE_ETAG) == 0) {
		catalog_trust(c, f, file_id, settled);
		return 0;
	}
	catalog_doubt(c, f);
	drop_body(c, f);
	if (!catalog_has_room(c, 0, file_id->size))
		return -ENOSPC;
	if (f->type == NULL)
		f->type = type_of(c, f);
	if (f->type == NULL)
		return -ENOMEM;
	rc = segments_put(c->segments, data, file_id->size, etag, &f->body);
	if (rc < 0)
		return rc;
	take_body(c, f);
	renew(c, f, file_id, settled);
	return 0;
}

int catalog_fill_warm(struct catalog *c, struct catalog_file *f, const struct file_id *file_id,
	struct segment_body *b)
{
	H2D_ASSERT(f->body == NULL);
	f->type = type_of(c, f);
	if (f->type == NULL) {
		segments_drop(c->segments, &b);
		return -ENOMEM;
	}
	f->body = b;
	take_body(c, f);
	renew(c, f, file_id, true);
	return 0;
}

void catalog_set_variant(
	struct catalog *c, struct catalog_file *f, enum coding coding, struct segment_body *b)
{
	drop_segment_body(c, &f->variants[coding]);
	f->variants[coding] = b;
	if (b != NULL)
		take_in(c, b);
}
