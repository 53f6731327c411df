/*
 * listing_read: reads the visible entries of a directory, and makes the text of them. Runs in
 * threads: touches only its arguments. See listing.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_id.h"
#include "files/listing.h"
#include "http/compress.h"
#include "http/path.h"
#include "image/beneath.h"

enum {
	FIRST_ENTRIES = 64,
	CODED_MORE = 4096, /* bytes that a coding may add to a short page */
};

struct reading {
	const struct listing_key *key;
	int root;
	unsigned room;
	const struct job *job;
	struct listing_page *page;
};

/* Through a link, like a request for it. */
static int stat_link(const struct reading *r, const char *name, struct stat *st)
{
	char *path;
	int fd, rc = -1;

	if (asprintf(&path, "%s%s", r->key->path, name) < 0)
		return -1;
	fd = beneath_open(r->root, path, r->key->links | BENEATH_PATH);
	free(path);
	if (fd < 0)
		return -1;
	rc = fstat(fd, st);
	close(fd);
	return rc;
}

/* True if name would be served; stores its facts. */
static bool look_at_entry(const struct reading *r, int at, const char *name, struct stat *st)
{
	if (fstatat(at, name, st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return false;
	if (S_ISLNK(st->st_mode) && stat_link(r, name, st) < 0)
		return false;
	return S_ISREG(st->st_mode) || S_ISDIR(st->st_mode);
}

static int add_entry(struct reading *r, const char *name, const struct stat *st)
{
	struct listing_page *page = r->page;
	char *own = strdup(name);

	if (own != NULL && page->n == r->room) {
		unsigned room = r->room > 0 ? 2 * r->room : FIRST_ENTRIES;
		void *p = realloc(page->entries, room * sizeof(*page->entries));

		if (p != NULL) {
			page->entries = p;
			r->room = room;
		}
	}
	if (own == NULL || page->n == r->room) {
		free(own);
		return -ENOMEM;
	}
	page->entries[page->n++] = (struct listing_entry){
		.name = slice_str(own),
		.size = (uint64_t)st->st_size,
		.mtime_ns = file_id_of(st).mtime_ns,
		.dir = S_ISDIR(st->st_mode),
	};
	return 0;
}

/* 1: the page is full. */
static int read_entry(void *ctx, int at, const char *name)
{
	struct reading *r = ctx;
	struct stat st;

	if (job_unwanted(r->job))
		return -ECANCELED;
	if (path_hidden_name(slice_str(name)) ||
		site_hides_name(r->key->location, slice_str(name)) ||
		strcasestr(name, r->key->view.find) == NULL || !look_at_entry(r, at, name, &st))
		return 0;
	r->page->cut = r->page->n == LISTING_ENTRIES_MAX;
	return r->page->cut ? 1 : add_entry(r, name, &st);
}

/* Reads a text, or no part of it. */
static void read_text(struct reading *r, int fd)
{
	char *text = malloc(LISTING_README);
	size_t n = 0;
	ssize_t got = 1;

	while (text != NULL && got > 0 && n < LISTING_README) {
		got = read(fd, text + n, LISTING_README - n);
		n += got > 0 ? (size_t)got : 0;
	}
	if (text != NULL && memchr(text, '\0', n) == NULL)
		strbuf_add(&r->page->readme, slice_of(text, n));
	free(text);
}

/* Reads the first of these that exists. No link: its target may have other rules. */
static void read_readme(struct reading *r, int dir)
{
	static const char *const names[] = { "README", "README.md", "README.txt", "readme.md",
		"readme.txt" };
	int fd = -ENOENT;

	for (size_t i = 0; fd < 0 && i < sizeof(names) / sizeof(names[0]); i++) {
		struct stat st;

		if (!site_hides_name(r->key->location, slice_str(names[i])))
			fd = beneath_open_file(dir, names[i], BENEATH_NO_LINK, &st);
	}
	if (fd < 0)
		return;
	read_text(r, fd);
	close(fd);
}

/* Reads the directory into page, which needs unread() in any case. 0, or -errno. */
static int read_dir(const struct listing_key *key, const struct job *j, struct listing_page *page)
{
	struct reading r = { .key = key, .page = page, .job = j };
	int fd, rc;

	r.root = open(key->tree->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (r.root < 0)
		return -errno;
	fd = beneath_open(r.root, key->path, key->links);
	rc = fd >= 0 ? spelling_check(r.root, key->path, key->spelled, key->links) : fd;
	if (rc == 0 && key->readme)
		read_readme(&r, fd);
	if (rc == 0)
		rc = beneath_each_in(fd, read_entry, &r);
	else if (fd >= 0)
		close(fd);
	close(r.root);
	return rc < 0 ? rc : 0;
}

static void unread(struct listing_page *page)
{
	for (unsigned i = 0; i < page->n; i++)
		free((void *)(uintptr_t)page->entries[i].name.p);
	free(page->entries);
	strbuf_fini(&page->readme);
}

/* --- the text --------------------------------------------------------------------------------- */

/* Shrinks it, because it grew by doubling and may be kept for long. */
static void fit(struct strbuf *t)
{
	char *p = realloc(t->p, t->n);

	if (p == NULL)
		return;
	t->p = p;
	t->cap = t->n;
}

/* Encodes it in the chosen coding, however little that saves: its head has it. 0, or -errno. */
static int encode(struct strbuf *t, enum coding coding)
{
	struct strbuf coded = { .cap = t->n + CODED_MORE };
	ssize_t n = -ENOMEM;

	coded.p = malloc(coded.cap);
	if (coded.p != NULL)
		n = compress_whole(coding, COMPRESS_SOON, t->p, t->n, coded.p, coded.cap);
	if (n <= 0) {
		free(coded.p);
		return n < 0 ? (int)n : -ENOMEM;
	}
	strbuf_fini(t);
	*t = coded;
	t->n = (size_t)n;
	return 0;
}

/* 0, or -errno. */
static int write_text(struct listing_page *page, struct listing_text *t)
{
	int rc;

	listing_page_sort(page);
	if (t->key.json)
		listing_page_json(page, &t->bytes);
	else
		listing_page_html(page, &t->bytes);
	rc = t->bytes.failed ? -ENOMEM : 0;
	if (rc == 0 && t->key.coding != CODING_IDENTITY)
		rc = encode(&t->bytes, t->key.coding);
	if (rc == 0)
		rc = etag_of_bytes(t->bytes.p, t->bytes.n, &t->etag);
	fit(&t->bytes);
	t->cut = page->cut;
	return rc;
}

int listing_make(struct listing_text *t)
{
	struct listing_page page = {
		.path = slice_str(t->key.path),
		.action = slice_str(t->key.action),
		.archives = t->key.location->archives,
		.drive = t->key.location->webdav,
		.view = t->key.view,
	};
	int rc = read_dir(&t->key, &t->job, &page);

	if (rc == 0)
		rc = write_text(&page, t);
	unread(&page);
	return rc;
}
