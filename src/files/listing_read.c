/*
 * listing_read: the entries of a directory, as far as they may be shown. Runs in threads: touches
 * nothing but its arguments. See listing.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_id.h"
#include "files/listing.h"
#include "http/path.h"
#include "image/beneath.h"
#include "image/spelling.h"

enum { FIRST_ENTRIES = 64 };

struct reading {
	int root;
	const char *path;
	const struct location *location;
	unsigned leave; /* BENEATH_LEAVE, or 0 */
	DIR *dir;
	unsigned room;
	const struct job *job;
	struct listing_page *page;
};

/* Through a link, as a request for it would go. */
static int stat_link(const struct reading *r, const char *name, struct stat *st)
{
	char *path;
	int fd, rc = -1;

	if (asprintf(&path, "%s%s", r->path, name) < 0)
		return -1;
	fd = beneath_open(r->root, path, r->leave | BENEATH_PATH);
	free(path);
	if (fd < 0)
		return -1;
	rc = fstat(fd, st);
	close(fd);
	return rc;
}

/* Whether name would be served, and what is to be said of it. */
static bool look_at_entry(const struct reading *r, const char *name, struct stat *st)
{
	if (fstatat(dirfd(r->dir), name, st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
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

static int read_entries(struct reading *r, unsigned max)
{
	const struct dirent *e;
	struct stat st;
	int rc = 0;

	while (rc == 0) {
		if (job_unwanted(r->job))
			return -ECANCELED;
		errno = 0;
		e = readdir(r->dir);
		if (e == NULL)
			return -errno;
		if (path_hidden_name(slice_str(e->d_name)) ||
			site_hides_name(r->location, slice_str(e->d_name)) ||
			!look_at_entry(r, e->d_name, &st))
			continue;
		if (r->page->n == max) {
			r->page->cut = true;
			return 0;
		}
		rc = add_entry(r, e->d_name, &st);
	}
	return rc;
}

/* Text, or nothing of it. */
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

/* The first of these that is there. No link: where it leads other rules may hold. */
static void read_readme(struct reading *r)
{
	static const char *const names[] = { "README", "README.md", "README.txt", "readme.md",
		"readme.txt" };
	int fd = -ENOENT;

	for (size_t i = 0; fd < 0 && i < sizeof(names) / sizeof(names[0]); i++) {
		struct stat st;

		if (!site_hides_name(r->location, slice_str(names[i])))
			fd = beneath_open_file(dirfd(r->dir), names[i], BENEATH_NO_LINK, &st);
	}
	if (fd < 0)
		return;
	read_text(r, fd);
	close(fd);
}

static int open_dir(struct reading *r)
{
	int fd = beneath_open(r->root, r->path, r->leave);
	int rc;

	if (fd < 0)
		return fd;
	r->dir = fdopendir(fd);
	if (r->dir != NULL)
		return 0;
	rc = -errno;
	close(fd);
	return rc;
}

int listing_read(
	const struct listing_key *key, unsigned max, const struct job *j, struct listing_page *page)
{
	struct reading r = { .path = key->path,
		.location = key->location,
		.leave = key->follows ? BENEATH_LEAVE : 0,
		.page = page,
		.job = j };
	int rc;

	r.root = open(key->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (r.root < 0)
		return -errno;
	rc = open_dir(&r);
	if (rc == 0) {
		rc = spelling_check(r.root, key->path, key->spelled, r.leave);
		if (rc == 0)
			rc = read_entries(&r, max);
		if (rc == 0 && key->readme)
			read_readme(&r);
		closedir(r.dir);
	}
	close(r.root);
	return rc;
}

void listing_unread(struct listing_page *page)
{
	for (unsigned i = 0; i < page->n; i++)
		free((void *)(uintptr_t)page->entries[i].name.p);
	free(page->entries);
	page->entries = NULL;
	page->n = 0;
	strbuf_fini(&page->readme);
}
