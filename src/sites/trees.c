/*
 * trees: makes the list of roots from the server blocks. The master calls it while it builds a
 * generation; it borrows every string from the configuration and opens no file.
 */
#include "sites/trees.h"

#include <limits.h>
#include <stdlib.h>

#include "base/prefix_index.h"
#include "conf/conf_value.h"
#include "files/disk.h"
#include "http/coding.h"
#include "sites/site_maker.h"

enum { ALL_CODINGS = (1 << CODINGS) - 1 };

/* Zeroed room for n objects of size, at least for one. */
static void *room(struct trees *t, size_t n, size_t size)
{
	void *p = arena_zalloc(&t->memory, (n + 1) * size);

	t->oom |= p == NULL;
	return p;
}

/* Entries have their type and its charset, so that a root may be needed once for each. */
static unsigned trees_number(struct trees *t, const struct doc_root *new)
{
	unsigned *last = name_map_put(&t->numbers, slice_str(new->root));
	unsigned i;

	if (last == NULL) {
		t->oom = true;
		return 0;
	}
	for (i = *last; i > 0; i = t->before[i - 1]) {
		const struct doc_root *r = &t->roots[i - 1];

		if (strcmp(r->root, new->root) == 0 && strcmp(r->charset, new->charset) == 0 &&
			mime_types_eq(r->types, new->types))
			return i - 1;
	}
	t->before[t->files.nroots] = *last;
	t->roots[t->files.nroots++] = *new;
	return (*last = t->files.nroots) - 1;
}

static unsigned refused(const struct conf_scope *p)
{
	return ALL_CODINGS & ~site_maker_codings(&p->compress);
}

/* The number of a root of a server or of its location: that of root, or (NULL) the shared one. */
static unsigned number_scope(struct trees *t, unsigned server, const char *root, unsigned shared,
	const struct conf_scope *p)
{
	unsigned i = shared;

	if (root != NULL) {
		i = trees_number(t, &(struct doc_root){
					    .root = root,
					    .charset = p->charset,
					    .types = &t->types[server],
					    .refused_codings = ALL_CODINGS,
				    });
		t->roots[i].nowners += i != shared;
	}
	t->roots[i].precompressed |= p->precompressed;
	t->roots[i].refused_codings &= refused(p);
	return i;
}

/* A location without a root of its own has that of its server, with any charset. */
static void number_server(struct trees *t, const struct conf_server *s, unsigned i)
{
	unsigned own = t->of_server[i] = number_scope(t, i, s->root, UINT_MAX, &s->scope);
	unsigned *at = t->of_location[i] = room(t, s->nlocations, sizeof(*at));

	for (unsigned j = 0; at != NULL && j < s->nlocations; j++) {
		const struct conf_location *l = &s->locations[j];

		at[j] = number_scope(
			t, i, l->root != NULL && *l->root != '\0' ? l->root : NULL, own, &l->scope);
	}
}

/* Notes which variants of the files of each location are not sent, if no other server has its
 * root. */
static void set_parts(struct trees *t, const struct conf_server *s, unsigned i)
{
	struct doc_root *r = &t->roots[t->of_server[i]];
	struct prefix_entry *v = room(t, s->nlocations, sizeof(*v));
	unsigned n = 1;

	if (v == NULL || r->nowners > 1)
		return;
	v[0] = (struct prefix_entry){ .prefix = SLICE("/"), .of = refused(&s->scope) };
	for (unsigned j = 0; j < s->nlocations; j++) {
		struct prefix_entry e = { .prefix = slice_str(s->locations[j].prefix),
			.of = refused(&s->locations[j].scope) };

		if (t->of_location[i][j] == t->of_server[i])
			v[e.prefix.n > 1 ? n++ : 0] = e;
	}
	r->parts = prefix_index_make(v, n);
}

/* The codings that some location sends. */
static unsigned codings(const struct trees *t)
{
	unsigned set = 0;

	for (unsigned i = 0; i < t->files.nroots; i++)
		set |= ALL_CODINGS & ~t->roots[i].refused_codings;
	return set;
}

/* The path of a directory below a root, "" if the root is in it. */
static void add_upload(struct trees *t, unsigned root, struct slice rest)
{
	struct doc_root *r = &t->roots[root];
	struct slice *v =
		arena_grow(&t->memory, (void *)(uintptr_t)r->uploads, r->nuploads, sizeof(*v));

	t->oom |= v == NULL;
	if (v == NULL)
		return;
	v[r->nuploads++] = rest;
	r->uploads = v;
}

/* A root may contain the directory of another server's uploads, or be in it. */
static void add_uploads(struct trees *t, const struct prefix_index *roots, struct slice folder)
{
	const struct prefix_entry *e = prefix_index_find(roots, folder);

	for (; e != NULL; e = prefix_index_outer(roots, e))
		if (e->prefix.n == folder.n || folder.p[e->prefix.n] == '/')
			add_upload(
				t, e->of, slice_of(folder.p + e->prefix.n, folder.n - e->prefix.n));
	for (e = prefix_index_from(roots, folder);
		e < roots->v + roots->n && slice_starts(e->prefix, folder); e++)
		if (e->prefix.n > folder.n && e->prefix.p[folder.n] == '/')
			add_upload(t, e->of, slice_of(folder.p, 0));
}

/* path without links, if it exists. Its p is NULL when memory is out. */
static struct slice real(struct trees *t, const char *path)
{
	char *found = realpath(path, NULL);
	struct slice s = site_maker_dir(found != NULL ? found : path);
	struct slice own = arena_dup(&t->memory, s);

	free(found);
	return own;
}

static bool add_folder(struct trees *t, struct prefix_entry *v, unsigned *n,
	const struct conf_server *s, struct slice dir)
{
	struct slice root, to;
	char *folder;

	if (dir.n == 0)
		return true;
	root = real(t, s->root);
	folder = arena_printf(&t->memory, "%.*s/%.*s", SLICE_ARG(root), SLICE_ARG(dir));
	if (root.p == NULL || folder == NULL)
		return false;
	to = real(t, folder);
	v[(*n)++] = (struct prefix_entry){ .prefix = slice_str(folder) };
	if (!slice_eq(to, slice_str(folder)))
		v[(*n)++] = (struct prefix_entry){ .prefix = to };
	return to.p != NULL;
}

/* The directories of uploads of all servers, by their names and their real paths. False: memory is
 * out. */
static bool index_folders(struct trees *t, const struct conf *conf)
{
	const struct conf_pos *at;
	struct prefix_entry *v;
	unsigned n = 0;

	for (unsigned i = 0; i < conf->nservers; i++)
		n += 2 * (conf->servers[i].nlocations + 1);
	v = room(t, n, sizeof(*v));
	n = 0;
	for (const struct conf_server *s = conf->servers; s != conf->servers + conf->nservers; s++)
		for (unsigned i = 0; i <= s->nlocations; i++)
			if (v == NULL || !add_folder(t, v, &n, s,
						 site_maker_dir(conf_upload_dir(s, i, &at))))
				return false;
	t->files.uploads = prefix_index_make(v, n);
	return true;
}

static struct prefix_index index_roots(struct trees *t)
{
	struct prefix_entry *v = room(t, t->files.nroots, sizeof(*v));

	for (unsigned i = 0; v != NULL && i < t->files.nroots; i++)
		v[i] = (struct prefix_entry){ .prefix = real(t, t->roots[i].root), .of = i };
	return v != NULL ? prefix_index_make(v, t->files.nroots) : (struct prefix_index){ 0 };
}

/* False: memory is out. */
static bool number_uploads(struct trees *t, const struct conf *conf)
{
	const struct prefix_index *folders = &t->files.uploads;
	struct prefix_index roots;

	if (!index_folders(t, conf))
		return false;
	if (folders->n == 0)
		return true;
	roots = index_roots(t);
	if (roots.v == NULL)
		return false;
	for (unsigned i = 0; i < folders->n; i++)
		add_uploads(t, &roots, folders->v[i].prefix);
	return !t->oom;
}

static void trees_room(struct trees *t, const struct conf *conf)
{
	unsigned n = conf->nservers;

	for (unsigned i = 0; i < conf->nservers; i++)
		n += conf->servers[i].nlocations;
	t->roots = room(t, n, sizeof(*t->roots));
	t->of_server = room(t, conf->nservers, sizeof(*t->of_server));
	t->of_location = room(t, conf->nservers, sizeof(*t->of_location));
	t->types = room(t, conf->nservers, sizeof(*t->types));
	t->before = room(t, n, sizeof(*t->before));
	t->files.roots = t->roots;
	t->files.escapes = escapes_new();
	t->oom |= t->files.escapes == NULL;
}

/* Adds the types that p compresses, if it has its own, to those of its server. */
static void add_packed(struct trees *t, struct conf_list *all, const struct conf_scope *p,
	struct conf_faults *faults)
{
	for (unsigned i = 0; i < p->compress_types.n; i++) {
		char *type = p->compress_types.v[i];
		struct mime m;
		const char *why = strcmp(type, MIME_AUTO) == 0 ? NULL : mime_parse_type(type, &m);

		if (why != NULL)
			conf_fault(faults, &p->compress_types_at, "compress-types \"%.200s\": %s",
				type, why);
		t->oom |= !conf_value_append(&t->memory, all, type);
	}
}

static void make_types(struct trees *t, const struct conf *conf, struct conf_faults *faults)
{
	for (unsigned i = 0; i < conf->nservers; i++) {
		const struct conf_server *s = &conf->servers[i];
		struct mime *rows = room(t, s->types.n, sizeof(*rows));
		struct conf_list all = { 0 };

		if (rows == NULL)
			return;
		site_maker_types(faults, &t->types[i], rows, s);
		add_packed(t, &all, &s->scope, faults);
		for (unsigned j = 0; j < s->nlocations; j++)
			if (s->locations[j].scope.compress_types_at.outer == 0 &&
				s->locations[j].scope.compress_types_at.file != NULL)
				add_packed(t, &all, &s->locations[j].scope, faults);
		t->types[i].packed = all.n > 0 ? all.v : s->scope.compress_types.v;
		t->types[i].npacked = all.n;
	}
}

static void trees_make(
	struct trees *t, const struct conf *conf, unsigned built, struct conf_faults *faults)
{
	make_types(t, conf, faults);
	for (unsigned i = 0; i < conf->nservers; i++)
		number_server(t, &conf->servers[i], i);
	t->files.codings = codings(t) & built;
	for (unsigned i = 0; i < conf->nservers && !t->oom; i++)
		set_parts(t, &conf->servers[i], i);
}

bool trees_init(
	struct trees *t, const struct conf *conf, unsigned built, struct conf_faults *faults)
{
	unsigned before = faults->n;

	*t = (struct trees){ .files = {
				     .max_size = conf->cache.max_size,
				     .max_file_size = conf->cache.max_file_size,
				     .rescan_ms = conf->cache.rescan_interval * 1000,
			     } };
	arena_init(&t->memory, NULL, 0, SIZE_MAX);
	trees_room(t, conf);
	if (!t->oom)
		trees_make(t, conf, built, faults);
	if (t->oom || !number_uploads(t, conf))
		conf_fault_oom(faults, &conf_command_line);
	else if (faults->n == before)
		return true;
	trees_fini(t);
	return false;
}

void trees_fini(struct trees *t)
{
	name_map_fini(&t->numbers);
	arena_reset(&t->memory);
	escapes_free(&t->files.escapes);
	*t = (struct trees){ 0 };
}
