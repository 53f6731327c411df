/* build: see build.h. Breadth first, so that a full cache holds the files near the root. */
#include "cache/build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cache/beneath.h"
#include "cache/type.h"

enum { READ_PIECE = 1 << 20, GO_ON_US = 50000, TYPES_CAP = 1 << 20, TYPES_MAX = 256 };

/* A directory still to be read: its path as requests name it, with a slash at the end. */
struct dir {
	struct dir *next;
	char path[];
};

struct type {
	const struct mime *mime;
	struct slice value;
};

struct builder {
	const struct build *b;
	struct pack *pack;
	struct etag_hash *hash;
	char *buf;                 /* max_file_size bytes */
	struct arena types_memory;
	struct type types[TYPES_MAX]; /* of the current root */
	unsigned ntypes;
	uint32_t root;
	int root_fd;
	struct dir *first, **last; /* queue */
	char path[PATH_MAX];
	uint64_t asked_us;         /* when go_on was last asked */
	unsigned left_out;
};

static int go_on(struct builder *w)
{
	uint64_t now = clock_read_us();

	if (now - w->asked_us < GO_ON_US)
		return 0;
	w->asked_us = now;
	return w->b->go_on(w->b->ctx) ? 0 : -ECANCELED;
}

static struct slice type_of(struct builder *w, struct slice path)
{
	const struct mime *mime = mime_find(path);
	struct slice value;

	for (unsigned i = 0; i < w->ntypes; i++)
		if (w->types[i].mime == mime)
			return w->types[i].value;
	value = type_make(mime, w->b->conf->roots[w->root].charset, &w->types_memory);
	if (w->ntypes < TYPES_MAX && value.p != NULL)
		w->types[w->ntypes++] = (struct type){ mime, value };
	return value;
}

/* Exactly n bytes into buf, and the file is then what it was. 0, -EAGAIN if it changed, -errno. */
static int read_whole(struct builder *w, int fd, const struct ident *before)
{
	struct ident after;
	struct stat st;
	uint64_t got = 0;
	int rc;

	while (got < before->size) {
		uint64_t want = before->size - got;
		ssize_t n = pread(fd, w->buf + got, want < READ_PIECE ? want : READ_PIECE, (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EAGAIN;
		got += (uint64_t)n;
		rc = go_on(w);
		if (rc < 0)
			return rc;
	}
	if (fstat(fd, &st) < 0)
		return -errno;
	after = ident_of(&st);
	return ident_eq(before, &after) ? 0 : -EAGAIN;
}

/* 0: added or left out, -EAGAIN: it changed, else -errno: the build is lost. */
static int add_opened(struct builder *w, int fd)
{
	struct pack_file f = { .root = w->root, .path = slice_str(w->path), .data = w->buf };
	struct etag etag;
	struct stat st;
	int rc;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	f.ident = ident_of(&st);
	if (f.ident.size > w->b->conf->max_file_size || !pack_has_room(w->pack, f.ident.size)) {
		w->left_out++;
		return 0;
	}
	rc = read_whole(w, fd, &f.ident);
	if (rc < 0)
		return rc == -ECANCELED || rc == -EAGAIN ? rc : 0;
	if (etag_hash_begin(w->hash) < 0 || etag_hash_add(w->hash, w->buf, f.ident.size) < 0 ||
		etag_hash_end(w->hash, &etag) < 0)
		return -ENOMEM;
	f.etag = &etag;
	f.type = type_of(w, f.path);
	if (f.type.p == NULL)
		return -ENOMEM;
	return pack_add(w->pack, &f);
}

/* The file at w->path; a second time if it changed under the first. */
static int add_file(struct builder *w)
{
	int rc = go_on(w);

	if (rc < 0)
		return rc;
	for (int tries = 0; tries < 2; tries++) {
		int fd = beneath_open(w->root_fd, w->path, BENEATH_SAME_MOUNT);

		if (fd < 0)
			return 0;
		rc = add_opened(w, fd);
		close(fd);
		if (rc != -EAGAIN)
			return rc;
	}
	return 0;
}

static int queue_dir(struct builder *w, const char *path)
{
	size_t n = strlen(path);
	struct dir *d = malloc(sizeof(*d) + n + 2);

	if (d == NULL)
		return -ENOMEM;
	memcpy(d->path, path, n);
	memcpy(d->path + n, "/", 2);
	d->next = NULL;
	*w->last = d;
	w->last = &d->next;
	return 0;
}

static unsigned char type_of_entry(DIR *dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type;
	if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return DT_UNKNOWN;
	return IFTODT(st.st_mode);
}

static int add_entries(struct builder *w, const struct dir *d, DIR *dir)
{
	size_t at = strlen(d->path);
	struct dirent *e;
	int rc = 0;

	memcpy(w->path, d->path, at);
	while (rc == 0 && (e = readdir(dir)) != NULL) {
		size_t n = strlen(e->d_name);

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (at + n >= sizeof(w->path) - 1)
			continue;
		memcpy(w->path + at, e->d_name, n + 1);
		switch (type_of_entry(dir, e)) {
		case DT_DIR:
			rc = queue_dir(w, w->path);
			break;
		case DT_REG:
		case DT_LNK:
			rc = add_file(w);
			break;
		default:
			break;
		}
	}
	return rc;
}

static int add_dir(struct builder *w, const struct dir *d)
{
	int fd = beneath_open(w->root_fd, d->path, BENEATH_DIR | BENEATH_SAME_MOUNT);
	DIR *dir;
	int rc;

	if (fd < 0) {
		log_debug("cache: %s: %s", d->path, strerror(-fd));
		return 0;
	}
	dir = fdopendir(fd);
	if (dir == NULL) {
		rc = -errno;
		close(fd);
		return rc;
	}
	rc = add_entries(w, d, dir);
	closedir(dir);
	return rc;
}

static int add_root(struct builder *w, uint32_t root)
{
	const char *path = w->b->conf->roots[root].root;
	int rc;

	if (path[0] == '\0')
		return 0;
	w->root = root;
	w->ntypes = 0;
	w->root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w->root_fd < 0) {
		log_error("cache: root %s: %s", path, strerror(errno));
		return 0;
	}
	/* A read that hangs there would stop the ticks, and with them the whole image. */
	if (beneath_kind(w->root_fd) == BENEATH_REMOTE) {
		log_notice("cache: root %s is on a network or unknown file system: not cached", path);
		close(w->root_fd);
		return 0;
	}
	rc = queue_dir(w, "");
	while (w->first != NULL) {
		struct dir *d = w->first;

		if (rc == 0)
			rc = add_dir(w, d);
		w->first = d->next;
		if (w->first == NULL)
			w->last = &w->first;
		free(d);
	}
	close(w->root_fd);
	return rc;
}

static void report(const struct builder *w, const struct pack_image *img, uint64_t took_us)
{
	log_notice("cache: image %llu: %u files, %llu bytes, in %llu ms; %u too large or past max-size",
		(unsigned long long)img->number, img->nentries, (unsigned long long)img->content,
		(unsigned long long)(took_us / 1000), w->left_out);
}

int build_image(const struct build *b, struct pack_image *img)
{
	struct builder *w = calloc(1, sizeof(*w));
	uint64_t start = clock_read_us();
	int rc = -ENOMEM;

	if (w == NULL)
		return rc;
	w->b = b;
	w->last = &w->first;
	w->asked_us = start;
	arena_init(&w->types_memory, NULL, 0, TYPES_CAP);
	w->pack = pack_new(b->conf->max_size);
	w->hash = etag_hash_new();
	w->buf = malloc(b->conf->max_file_size + 1);
	if (w->pack != NULL && w->hash != NULL && w->buf != NULL)
		rc = 0;
	for (uint32_t i = 0; i < b->conf->nroots && rc == 0; i++)
		rc = add_root(w, i);
	if (rc == 0)
		rc = pack_finish(w->pack, b->number, img);
	if (rc == 0)
		report(w, img, clock_read_us() - start);
	pack_free(&w->pack);
	etag_hash_free(&w->hash);
	arena_reset(&w->types_memory);
	free(w->buf);
	free(w);
	return rc;
}
