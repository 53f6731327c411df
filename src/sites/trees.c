/*
 * trees: makes the list of roots from the server blocks. The master calls it while it builds a
 * generation; it borrows every string from the configuration and never touches the file system.
 */
#include "sites/trees.h"

#include <stdlib.h>

#include "conf/conf_fault.h"
#include "files/escape.h"
#include "http/coding.h"
#include "image/etag_memo.h"
#include "sites/site_maker.h"

static bool same(const struct doc_root *a, const struct doc_root *b)
{
	return strcmp(a->root, b->root) == 0 && strcmp(a->charset, b->charset) == 0 &&
	       mime_types_eq(a->types, b->types);
}

/* Entries say their type and its charset, so that a root may be needed once for each. */
static unsigned number(struct trees *t, const struct doc_root *new)
{
	unsigned i = 0;

	while (i < t->files.nroots && !same(&t->roots[i], new))
		i++;
	if (i == t->files.nroots)
		t->roots[t->files.nroots++] = *new;
	return i;
}

/* Without a root of its own it has that of its server, whatever its charset. */
static unsigned number_location(struct trees *t, const struct conf_server *s, unsigned server,
	const struct conf_location *l)
{
	const struct conf_scope *charset = l->scope.charset_at.file != NULL ? &l->scope : &s->scope;

	if (l->root == NULL || *l->root == '\0')
		return t->of_server[server];
	return number(t, &(struct doc_root){
				 .root = l->root,
				 .charset = charset->charset,
				 .types = &t->types[server],
			 });
}

static void number_server(struct trees *t, const struct conf_server *s, unsigned i, unsigned *at)
{
	t->of_server[i] = number(t, &(struct doc_root){
					    .root = s->root,
					    .charset = s->scope.charset,
					    .types = &t->types[i],
				    });
	t->of_location[i] = at;
	for (unsigned j = 0; j < s->nlocations; j++)
		at[j] = number_location(t, s, i, &s->locations[j]);
}

static unsigned codings(const struct conf_list *list)
{
	unsigned set = 0;

	for (unsigned i = 0; i < list->n; i++)
		for (unsigned c = 0; c < CODINGS; c++)
			if (slice_eq(coding_names[c], slice_str(list->v[i])))
				set |= 1u << c;
	return set;
}

static struct slice without_slashes(const char *path)
{
	struct slice s = slice_str(path);

	while (s.n > 0 && s.p[s.n - 1] == '/')
		s.n--;
	return s;
}

/* The path of folder below root: "/files", "" if root lies in it. False: it is elsewhere. */
static bool below(struct slice folder, struct slice root, struct slice *rest)
{
	bool inside = slice_starts(root, folder) && (root.n == folder.n || root.p[folder.n] == '/');

	*rest = slice_of(folder.p + root.n, inside ? 0 : folder.n - root.n);
	return inside || (slice_starts(folder, root) && folder.p[root.n] == '/');
}

/* A root may lie around the folder of another server's uploads, or in it. */
static void add_uploads(struct trees *t, unsigned nservers, struct slice folder)
{
	struct slice rest;

	for (unsigned i = 0; i < t->files.nroots; i++) {
		struct doc_root *r = &t->roots[i];

		if (below(folder, without_slashes(r->root), &rest))
			t->uploads[i * nservers + r->nuploads++] = rest;
	}
}

/* False: memory is out. */
static bool number_uploads(struct trees *t, const struct conf *conf)
{
	t->uploads = calloc(t->files.nroots * conf->nservers + 1, sizeof(*t->uploads));
	for (unsigned i = 0; t->uploads != NULL && i < t->files.nroots; i++)
		t->roots[i].uploads = t->uploads + i * conf->nservers;
	for (unsigned i = 0; t->uploads != NULL && i < conf->nservers; i++) {
		const struct conf_server *s = &conf->servers[i];
		struct slice dir = without_slashes(s->upload_dir), root = without_slashes(s->root);
		char *folder;

		if (dir.n == 0)
			continue;
		folder = arena_printf(&t->paths, "%.*s/%.*s", SLICE_ARG(root), SLICE_ARG(dir));
		if (folder == NULL)
			return false;
		add_uploads(t, conf->nservers, slice_str(folder));
	}
	return t->uploads != NULL;
}

/* False: memory is out. */
static bool make_room(struct trees *t, const struct conf *conf)
{
	unsigned nlocations = 0, nrows = 0;

	for (unsigned i = 0; i < conf->nservers; i++) {
		nlocations += conf->servers[i].nlocations;
		nrows += conf->servers[i].types.n;
	}
	t->roots = calloc(conf->nservers + nlocations, sizeof(*t->roots));
	t->of_server = calloc(conf->nservers, sizeof(*t->of_server));
	t->of_location = calloc(conf->nservers, sizeof(*t->of_location));
	t->locations = calloc(nlocations + 1, sizeof(*t->locations));
	t->types = calloc(conf->nservers, sizeof(*t->types));
	t->rows = calloc(nrows + 1, sizeof(*t->rows));
	t->files.roots = t->roots;
	t->files.escapes = escapes_new();
	t->files.etags = etag_memo_shared();
	return t->roots != NULL && t->of_server != NULL && t->of_location != NULL &&
	       t->locations != NULL && t->types != NULL && t->rows != NULL &&
	       t->files.escapes != NULL && t->files.etags != NULL;
}

static int make_types(struct trees *t, const struct conf *conf, conf_fault_fn *fault, void *ctx)
{
	struct site_maker m = { .fault = fault, .ctx = ctx };
	struct mime *rows = t->rows;

	for (unsigned i = 0; i < conf->nservers; i++) {
		site_maker_types(&m, &t->types[i], rows, &conf->servers[i]);
		rows += conf->servers[i].types.n;
	}
	return m.faults == 0 ? 0 : -1;
}

int trees_init(
	struct trees *t, const struct conf *conf, unsigned built, conf_fault_fn *fault, void *ctx)
{
	unsigned nlocations = 0;

	*t = (struct trees){ .files = {
				     .max_size = conf->cache.max_size,
				     .max_file_size = conf->cache.max_file_size,
				     .codings = codings(&conf->cache.compress) & built,
				     .rescan_ms = conf->cache.rescan_interval * 1000,
			     } };
	arena_init(&t->paths, NULL, 0, SIZE_MAX);
	if (!make_room(t, conf)) {
		fault(ctx, &conf_command_line, "out of memory");
		trees_fini(t);
		return -1;
	}
	if (make_types(t, conf, fault, ctx) < 0) {
		trees_fini(t);
		return -1;
	}
	for (unsigned i = 0; i < conf->nservers; i++) {
		number_server(t, &conf->servers[i], i, t->locations + nlocations);
		nlocations += conf->servers[i].nlocations;
	}
	if (!number_uploads(t, conf)) {
		fault(ctx, &conf_command_line, "out of memory");
		trees_fini(t);
		return -1;
	}
	return 0;
}

void trees_fini(struct trees *t)
{
	free(t->roots);
	free(t->of_server);
	free(t->of_location);
	free(t->locations);
	free(t->types);
	free(t->rows);
	free(t->uploads);
	arena_reset(&t->paths);
	escapes_free(&t->files.escapes);
	*t = (struct trees){ 0 };
}
