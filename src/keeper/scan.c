/*
 * scan: lists directories and compares them with the catalogue, one portion per turn of the
 * keeper's loop. A directory is watched before it is listed, so that no change is missed; scan
 * never reads a file.
 */
#include "keeper/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/path.h"
#include "image/beneath.h"

enum { ENTRIES_PER_STEP = 64 };

/* Checks due for a root's path. */
enum { LOOK_NOT, LOOK, LOOK_ANEW }; /* anew: watched from the start, with all below it */

static void look_at_root(struct scan *s, unsigned root, uint8_t how)
{
	struct catalog_root *r = &s->catalog->roots[root];

	if (r->path[0] == '\0')
		return;
	if (r->look < how)
		r->look = how;
	s->any_look = true;
}

static void look_all(struct scan *s, uint8_t how)
{
	for (unsigned i = 0; i < s->catalog->nroots; i++)
		look_at_root(s, i, how);
}

void scan_init(struct scan *s, struct catalog *c, struct reader *r, struct tree_watch *watch)
{
	*s = (struct scan){ .catalog = c, .reader = r, .watch = watch };
	list_init(&s->todo);
	look_all(s, LOOK_ANEW);
}

static void close_dir(struct scan *s)
{
	if (s->stream != NULL)
		closedir(s->stream);
	s->stream = NULL;
	s->dir = NULL;
}

void scan_fini(struct scan *s)
{
	close_dir(s);
}

static void queue_dir(struct scan *s, struct catalog_dir *d)
{
	if (list_linked(&d->queue))
		return;
	list_append(&s->todo, &d->queue);
	s->ntodo++;
}

static struct catalog_dir *next_dir(struct scan *s)
{
	struct list *node = list_pop(&s->todo);

	if (node == NULL)
		return NULL;
	s->ntodo--;
	return LIST_ENTRY(node, struct catalog_dir, queue);
}

void scan_gone_dir(struct scan *s, struct catalog_dir *d)
{
	if (s->dir == d)
		close_dir(s);
	if (list_linked(&d->queue)) {
		list_remove(&d->queue);
		s->ntodo--;
	}
}

unsigned scan_pending(const struct scan *s)
{
	unsigned n = s->ntodo + (s->dir != NULL);

	for (unsigned i = 0; s->any_look && i < s->catalog->nroots; i++)
		n += s->catalog->roots[i].look != LOOK_NOT;
	return n;
}

/* --- roots ------------------------------------------------------------------------------------ */

void scan_anew(struct scan *s, unsigned root)
{
	look_at_root(s, root, LOOK_ANEW);
}

void scan_all(struct scan *s)
{
	look_all(s, LOOK);
}

static void shut_root(struct scan *s, struct catalog_root *r)
{
	if (r->top != NULL)
		catalog_remove_dir(s->catalog, r->top);
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

/* A read that hangs there would stop the ticks, and so the whole image. */
static bool cacheable(const struct catalog_root *r, int fd)
{
	if (beneath_kind(fd) != BENEATH_REMOTE)
		return true;
	log_notice(
		"cache: root %s is on a network or unknown file system; not caching it", r->path);
	return false;
}

/* Enters the present directory at the root's path: st of fd, or zeroes and -1. */
static void enter_root(struct scan *s, unsigned root, int fd, const struct stat *st)
{
	struct catalog_root *r = &s->catalog->roots[root];

	if (r->dev != st->st_dev || r->ino != st->st_ino) {
		/* First: a look at the root in a pause of the long step finds no change. */
		r->dev = st->st_dev;
		r->ino = st->st_ino;
		if (r->top != NULL)
			catalog_doubt_below(s->catalog, r->top);
		shut_root(s, r);
		if (fd >= 0 && cacheable(r, fd)) {
			r->fd = fd;
			fd = -1;
		}
	}
	if (fd >= 0)
		close(fd);
	if (r->fd < 0)
		return;
	if (r->top == NULL && catalog_add_dir(s->catalog, root, NULL, SLICE("/")) == NULL)
		s->trouble = -ENOMEM;
	else
		queue_dir(s, r->top);
}

static void missing(struct catalog_root *r, int rc)
{
	if (rc < 0 && !r->missing)
		log_error("cache: root %s: %s; not caching it", r->path, strerror(-rc));
	r->missing = rc < 0;
}

static void take_root(struct scan *s, unsigned root, bool anew)
{
	struct catalog_root *r = &s->catalog->roots[root];
	struct stat st = { 0 };
	int fd, rc = 0;

	if (anew && s->watch != NULL)
		tree_watch_root(s->watch, root, r->path);
	fd = open(r->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		rc = -errno;
	if (rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM) {
		s->trouble = rc;
		return;
	}
	missing(r, rc);
	if (!anew && (r->dev != st.st_dev || r->ino != st.st_ino)) {
		/* Another directory is watched from the start. */
		if (fd >= 0)
			close(fd);
		take_root(s, root, true);
		return;
	}
	r->readable = faccessat(AT_FDCWD, r->path, R_OK | X_OK, AT_EACCESS) == 0;
	enter_root(s, root, fd, &st);
}

bool scan_root_moved(const struct scan *s, unsigned root)
{
	const struct catalog_root *r = &s->catalog->roots[root];
	struct stat st;

	/* A root on the network might not answer; workers look at it themselves. */
	if (r->path[0] == '\0' || (r->fd < 0 && r->ino != 0))
		return false;
	if (stat(r->path, &st) < 0 || !S_ISDIR(st.st_mode))
		return r->ino != 0;
	return st.st_dev != r->dev || st.st_ino != r->ino ||
	       (faccessat(AT_FDCWD, r->path, R_OK | X_OK, AT_EACCESS) == 0) != r->readable;
}

void scan_roots(struct scan *s)
{
	if (!s->any_look)
		return;
	s->any_look = false;
	for (unsigned i = 0; i < s->catalog->nroots; i++) {
		uint8_t how = s->catalog->roots[i].look;

		s->catalog->roots[i].look = LOOK_NOT;
		if (how == LOOK_NOT)
			continue;
		take_root(s, i, how == LOOK_ANEW);
		pause_step(&s->catalog->pause);
	}
}

/* --- listing ---------------------------------------------------------------------------------- */

struct catalog_file *scan_add_file(struct scan *s, struct catalog_dir *parent, struct slice path)
{
	struct catalog_file *f = catalog_add(s->catalog, parent, path);

	if (f != NULL)
		return f;
	s->reader->left_out++;
	if (!catalog_full(s->catalog)) {
		s->trouble = -ENOMEM;
	} else if (!s->said_full) {
		s->said_full = true;
		log_error("cache: image full (%u files); reading further files from the disk",
			s->catalog->nfiles);
	}
	return NULL;
}

void scan_again(struct scan *s, struct catalog_dir *d)
{
	if (s->dir == d)
		close_dir(s);
	queue_dir(s, d);
}

/* The directory is missing, or may not be listed. */
static void forget_dir(struct scan *s, struct catalog_dir *d)
{
	if (s->watch != NULL)
		tree_watch_forget(s->watch, d->node.root, d->path);
	catalog_remove_dir(s->catalog, d);
}

static void begin_dir(struct scan *s, struct catalog_dir *d)
{
	int fd = beneath_open(
		s->catalog->roots[d->node.root].fd, d->path, BENEATH_DIR | BENEATH_SAME_MOUNT);

	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM || fd == -EAGAIN) {
		s->trouble = fd;
		return;
	}
	if (fd < 0) {
		log_debug("cache: %s: %s", d->path, strerror(-fd));
		forget_dir(s, d);
		return;
	}
	if (s->watch != NULL)
		tree_watch_dir(s->watch, d->node.root, d->path, fd);
	s->stream = beneath_list(fd);
	if (s->stream == NULL) {
		s->trouble = -errno;
		return;
	}
	s->dir = d;
	d->pass++;
}

static void meet_dir(struct scan *s, struct slice path)
{
	struct catalog_dir *d = catalog_find_dir(s->catalog, s->dir->node.root, path);

	if (d == NULL)
		d = catalog_add_dir(s->catalog, s->dir->node.root, s->dir, path);
	if (d == NULL) {
		s->trouble = -ENOMEM;
		return;
	}
	d->seen = s->dir->pass;
	queue_dir(s, d);
}

static void meet_known(struct scan *s, struct catalog_file *f, const struct file_id *file_id)
{
	bool same = f->body != NULL && file_id_eq(&f->file_id, file_id);

	f->seen = s->dir->pass;
	if (same && f->settled && !reader_has(s->reader, f))
		catalog_trust(s->catalog, f, file_id, true);
	else if (!same && f->fresh) {
		catalog_doubt(s->catalog, f);
		reader_found(s->reader, f);
	} else if (!same || !f->fresh || file_id_settled(file_id, file_id_ns(clock_wall())))
		reader_found(s->reader, f);
}

static void meet_new(struct scan *s, struct slice path, const struct file_id *file_id)
{
	bool small = file_id->size <= s->catalog->conf->max_file_size;
	struct catalog_file *f;

	if (!small || !catalog_has_room(s->catalog, catalog_index_room(path.n), file_id->size)) {
		reader_left_out(s->reader, small);
		return;
	}
	f = scan_add_file(s, s->dir, path);
	if (f != NULL &&
		(s->warm_start == NULL || !warm_start_file(s->warm_start, s->catalog, f, file_id)))
		reader_found(s->reader, f);
}

static void meet(struct scan *s, const struct dirent *e)
{
	size_t at = s->dir->node.n, n = strlen(e->d_name);
	char path[PATH_MAX];
	struct catalog_file *f;
	struct file_id file_id;
	struct stat st;

	if (path_hidden_name(slice_str(e->d_name)) || at + n + 8 >= sizeof(path))
		return;
	if (e->d_type != DT_DIR && e->d_type != DT_REG && e->d_type != DT_UNKNOWN)
		return;
	memcpy(path, s->dir->path, at);
	memcpy(path + at, e->d_name, n + 1);
	st.st_mode = DTTOIF(e->d_type);
	if (e->d_type != DT_DIR &&
		fstatat(dirfd(s->stream), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISDIR(st.st_mode)) {
		strcpy(path + at + n, "/");
		meet_dir(s, slice_of(path, at + n + 1));
	}
	if (!S_ISREG(st.st_mode))
		return;
	file_id = file_id_of(&st);
	f = catalog_find(s->catalog, s->dir->node.root, slice_of(path, at + n));
	if (f != NULL)
		meet_known(s, f, &file_id);
	else
		meet_new(s, slice_of(path, at + n), &file_id);
}

/* Removes names that the listing did not meet. */
static void end_dir(struct scan *s)
{
	struct catalog_dir *d = s->dir;

	close_dir(s);
	LIST_EACH(struct catalog_file, f, sibling, &d->files)
		if (f->seen != d->pass)
			catalog_remove(s->catalog, f);
	LIST_EACH(struct catalog_dir, sub, sibling, &d->dirs)
		if (sub->seen != d->pass)
			forget_dir(s, sub);
}

bool scan_step(struct scan *s)
{
	if (s->dir == NULL) {
		struct catalog_dir *d = next_dir(s);

		if (d == NULL)
			return false;
		begin_dir(s, d);
		return true;
	}
	for (int i = 0; i < ENTRIES_PER_STEP; i++) {
		const struct dirent *e;

		errno = 0;
		e = readdir(s->stream);
		if (e == NULL && errno != 0) {
			/* A partial listing removes no names: the next one will. */
			s->trouble = -errno;
			close_dir(s);
			return true;
		}
		if (e == NULL) {
			end_dir(s);
			return true;
		}
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			meet(s, e);
	}
	return true;
}
