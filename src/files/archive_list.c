/*
 * archive_list: walks a tree, directory by directory, and lists what the client may read, by the
 * rules for files: hidden names and links that are not followed are as if they were not there.
 * Runs in threads, except archive_open(): touches only its arguments. See archive.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "event/offload.h"
#include "files/listing.h"
#include "files/reply_file.h"
#include "http/path.h"
#include "image/beneath.h"
#include "request/gate.h"
#include "request/req_client.h"
#include "rules/redirect.h"
#include "rules/route.h"
#include "share/access.h"

enum { ENTRIES_FIRST = 64 };

struct walk {
	const struct listing_key *key;
	const struct job *job;
	struct archive_list *list;
	int root;
	unsigned of;         /* the entry of the directory that is read */
	size_t npath;        /* of the directory's path */
	char path[PATH_MAX]; /* of the directory, or of what is looked at in it */
	int64_t began_ns;
	bool settled; /* every change since an entry was seen will show in its times */
};

/* --- paths ------------------------------------------------------------------------------------ */

static size_t length(const struct archive_list *l, unsigned n)
{
	return strlen(l->names.p + l->v[n].name);
}

struct slice archive_list_path(
	const struct archive_list *l, unsigned n, struct slice first, char to[ARCHIVE_PATH])
{
	size_t size = first.n, end;

	for (unsigned i = n; i > 0; i = l->v[i].parent)
		size += length(l, i) + l->v[i].dir;
	end = size;
	H2D_ASSERT(size <= ARCHIVE_PATH);
	for (unsigned i = n; i > 0; i = l->v[i].parent) {
		size_t name = length(l, i);

		if (l->v[i].dir)
			to[--end] = '/';
		end -= name;
		memcpy(to + end, l->names.p + l->v[i].name, name);
	}
	memcpy(to, first.p, first.n);
	return slice_of(to, size);
}

struct archive_member archive_list_member(
	const struct archive_list *l, unsigned n, struct slice first, char path[ARCHIVE_PATH])
{
	const struct archive_entry *e = &l->v[n];
	const struct file_id id = { .mtime_ns = e->mtime_ns };

	return (struct archive_member){
		.path = archive_list_path(l, n, first, path),
		.at = e->at,
		.size = e->size,
		.mtime = file_id_mtime(&id),
	};
}

struct slice archive_top(struct slice path)
{
	struct slice name = path_last(slice_of(path.p, path.n - 1));

	return name.n > 0 ? slice_of(name.p, name.n + 1) : SLICE("files/");
}

unsigned archive_list_find(const struct archive_list *l, uint64_t at)
{
	unsigned low = 0, high = l->n;

	while (high - low > 1) {
		unsigned mid = low + (high - low) / 2;

		if (l->v[mid].at <= at)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* --- rules ------------------------------------------------------------------------------------ */

/* True if files of l may be in an archive of that kind, as they would be sent one by one. */
static bool is_open(struct h2d_req *req, const struct location *l, enum archive_kind kind)
{
	return l->root == req->location->root && l->redirect.to.n == 0 &&
	       (l->returned == NULL ||
		       (l->returned->except != NULL &&
			       access_allows(l->returned->except, req_client(req)))) &&
	       (l->archives >> kind & 1);
}

const char *archive_open(struct h2d_req *req, enum archive_kind kind)
{
	const struct site *site = req->site;
	char *open = demand_open(req);

	for (unsigned i = 0; open != NULL && i <= site->nlocations; i++)
		if (!is_open(req, i < site->nlocations ? &site->locations[i] : &site->all, kind))
			open[i] = '0';
	return open;
}

/* True if another answer than the file is that of its path: a redirect, or a compiled route. */
static bool is_taken(const struct listing_key *key, struct slice path)
{
	struct route_match match;

	return (key->site->redirects != NULL &&
		       redirects_find(key->site->redirects, path) != NULL) ||
	       (key->routes != NULL &&
		       route_find(key->routes, H2D_ON_PUBLIC, H2D_GET, path, &match) != ROUTE_NONE);
}

static unsigned links_of(const struct walk *w, struct slice path)
{
	return reply_file_links(
		site_location(w->key->site, path), doc_root_is_upload(w->key->tree, path));
}

/* True if a link leads back to a directory above it. */
static bool is_circle(const struct walk *w, const struct stat *st)
{
	const struct archive_entry *v = w->list->v;

	for (unsigned i = w->of;; i = v[i].parent) {
		if (v[i].dev == st->st_dev && v[i].ino == st->st_ino)
			return true;
		if (i == 0)
			return false;
	}
}

/* --- entries ---------------------------------------------------------------------------------- */

static void set_facts(struct walk *w, struct archive_entry *e, const struct stat *st)
{
	const struct file_id id = file_id_of(st);

	e->size = e->dir ? 0 : id.size;
	e->mtime_ns = id.mtime_ns;
	e->dev = id.dev;
	e->ino = id.ino;
	w->settled = w->settled && file_id_settled(&id, w->began_ns);
}

static int add(struct walk *w, const char *name, const struct stat *st)
{
	struct archive_list *l = w->list;
	if (l->n == ARCHIVE_FILES_MAX || l->names.n > ARCHIVE_NAMES_MAX - NAME_MAX - 1)
		return -E2BIG;
	if (l->n == l->room) {
		unsigned room = l->room > 0 ? 2 * l->room : ENTRIES_FIRST;
		void *p;

		room = room < ARCHIVE_FILES_MAX ? room : ARCHIVE_FILES_MAX;
		p = realloc(l->v, room * sizeof(*l->v));
		if (p == NULL)
			return -ENOMEM;
		l->v = p;
		l->room = room;
	}
	l->v[l->n] = (struct archive_entry){
		.name = (uint32_t)l->names.n,
		.parent = w->of,
		.depth = l->n > 0 ? l->v[w->of].depth + 1 : 0,
		.dir = S_ISDIR(st->st_mode),
	};
	set_facts(w, &l->v[l->n++], st);
	strbuf_add(&l->names, slice_of(name, strlen(name) + 1));
	return l->names.failed ? -ENOMEM : 0;
}

/* Through a link, like a request for it. */
static bool stat_link(const struct walk *w, struct slice path, struct stat *st)
{
	int fd = beneath_open(w->root, w->path, links_of(w, path) | BENEATH_PATH), rc = -1;

	if (fd >= 0) {
		rc = fstat(fd, st);
		close(fd);
	}
	return rc == 0;
}

static int look_at(void *ctx, int at, const char *name)
{
	struct walk *w = ctx;
	size_t n = strlen(name);
	struct slice path = slice_of(w->path, w->npath + n);
	struct stat st;
	bool link, dir;

	if (job_unwanted(w->job))
		return -ECANCELED;
	if (path_hidden_name(slice_of(name, n)) ||
		fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return 0;
	if (path.n + 2 > sizeof(w->path)) {
		w->list->left_out++;
		return 0;
	}
	memcpy(w->path + w->npath, name, n + 1);
	link = S_ISLNK(st.st_mode);
	if (link && !stat_link(w, path, &st))
		return 0;
	dir = S_ISDIR(st.st_mode);
	if (!dir && !S_ISREG(st.st_mode))
		return 0;
	/* A location may be that of the directory alone: "/d/". */
	if (dir)
		w->path[path.n++] = '/';
	if (w->key->site->hides && site_hides(site_location(w->key->site, path), path))
		return 0;
	if (!demand_opens(w->key->site, w->key->open, path) || (!dir && is_taken(w->key, path)) ||
		faccessat(at, name, dir ? R_OK | X_OK : R_OK, 0) < 0 ||
		(link && dir && is_circle(w, &st))) {
		w->list->left_out++;
		return 0;
	}
	return add(w, name, &st);
}

static int by_name(const void *a, const void *b, void *names)
{
	const struct archive_entry *x = a, *y = b;

	return strcmp((char *)names + x->name, (char *)names + y->name);
}

/* --- directories ------------------------------------------------------------------------------ */

/* The directory of entry i; its entries become the last ones. */
static int read_directory(struct walk *w, unsigned i)
{
	char path[ARCHIVE_PATH];
	struct slice at = archive_list_path(w->list, i, slice_str(w->key->path), path);
	unsigned first = w->list->n;
	struct stat st;
	int fd, rc;

	if (w->list->v[i].depth == ARCHIVE_DEPTH_MAX)
		return -E2BIG;
	w->of = i;
	w->npath = at.n;
	memcpy(w->path, at.p, at.n);
	w->path[at.n] = '\0';
	fd = beneath_open(w->root, w->path, links_of(w, at));
	if (fd < 0 || fstat(fd, &st) < 0) {
		rc = fd < 0 ? fd : -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	set_facts(w, &w->list->v[i], &st);
	rc = beneath_each_in(fd, look_at, w);
	if (w->list->n > first)
		qsort_r(w->list->v + first, w->list->n - first, sizeof(*w->list->v), by_name,
			w->list->names.p);
	return rc;
}

static int walk(struct walk *w)
{
	const struct listing_key *key = w->key;
	struct archive_list *l = w->list;
	int rc = add(w, "", &(struct stat){ .st_mode = S_IFDIR });

	for (unsigned i = 0; rc == 0 && i < l->n; i++) {
		if (l->v[i].dir)
			rc = read_directory(w, i);
		if (i > 0 && (rc == -ENOENT || rc == -ENOTDIR)) {
			/* Removed meanwhile: its parent may have the same time. */
			w->settled = false;
			rc = 0;
		}
	}
	if (rc == 0)
		rc = spelling_check(w->root, key->path, key->spelled, key->links);
	return rc;
}

/* --- the list --------------------------------------------------------------------------------- */

/* Finds the offset of each member, and the size of the archive. */
static int lay_out(struct archive_list *l, const struct listing_key *key)
{
	const struct archive_format *f = &archive_formats[key->archive];
	struct slice top = archive_top(slice_str(key->path));
	struct strbuf t = { 0 };
	uint64_t at = 0, index = 0;
	int rc;

	for (unsigned i = 0; i < l->n && at < INT64_MAX; i++) {
		char path[ARCHIVE_PATH];
		struct archive_member m;

		l->v[i].at = at;
		m = archive_list_member(l, i, top, path);
		t.n = 0;
		f->head(&t, &m);
		f->tail(&t, &m);
		at += t.n + m.size;
		t.n = 0;
		if (f->index != NULL)
			f->index(&t, &m);
		index += t.n;
	}
	l->index_at = at;
	l->end_at = at + index;
	t.n = 0;
	f->end(&t, &(struct archive_end){ l->n, l->index_at, l->end_at, l->left_out });
	l->size = l->end_at + t.n;
	/* Sparse files may have more than fits. */
	rc = t.failed ? -ENOMEM : at > INT64_MAX ? -E2BIG : 0;
	strbuf_fini(&t);
	return rc;
}

/* Makes the tag of all that decides the bytes, and of the inodes; weak if a later change might
 * leave the same times. */
static int make_tag(const struct archive_list *l, enum archive_kind kind, bool weak, struct etag *e)
{
	struct etag_hash *h = etag_hash_new();
	struct etag strong = { 0 };
	int rc = h != NULL ? etag_hash_begin(h) : -ENOMEM;

	for (unsigned i = 0; rc == 0 && i < l->n; i++) {
		rc = etag_hash_add(h, &l->v[i], offsetof(struct archive_entry, name));
		if (rc == 0)
			rc = etag_hash_add(h, l->names.p + l->v[i].name, length(l, i) + 1);
	}
	if (rc == 0)
		rc = etag_hash_add(h, &l->left_out, sizeof(l->left_out));
	if (rc == 0)
		rc = etag_hash_end(h, &strong);
	etag_hash_free(&h);
	e->n = (unsigned)snprintf(e->text, sizeof(e->text), "%s\"%.*s-%.*s", weak ? "W/" : "",
		SLICE_ARG(archive_formats[kind].name), (int)strong.n - (strong.n > 0),
		strong.text + 1);
	return rc;
}

int archive_list_make(const struct listing_key *key, const struct job *j, struct archive_list *l,
	struct etag *etag)
{
	struct walk *w;
	int rc;

	if (strlen(key->path) >= PATH_MAX)
		return -ENAMETOOLONG;
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return -ENOMEM;
	*w = (struct walk){ .key = key, .job = j, .list = l, .settled = true };
	w->began_ns = file_id_clock_ns();
	w->root = open(key->tree->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	rc = w->root >= 0 ? walk(w) : -errno;
	if (rc == 0)
		rc = lay_out(l, key);
	if (rc == 0)
		rc = make_tag(l, key->archive, !w->settled, etag);
	if (w->root >= 0)
		close(w->root);
	free(w);
	return rc;
}

size_t archive_list_room(const struct archive_list *l)
{
	return l->room * sizeof(*l->v) + l->names.cap;
}

void archive_list_fini(struct archive_list *l)
{
	free(l->v);
	strbuf_fini(&l->names);
	*l = (struct archive_list){ 0 };
}
