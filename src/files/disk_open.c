/*
 * disk_open: from a name to a descriptor: on the loop if that cannot block, else in a thread, which
 * also checks that the root's path still names the same directory. Files beside it in a coding are
 * opened in the same step. See disk.h.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/name_map.h"
#include "files/disk.h"
#include "image/beneath.h"

/* --- escape ----------------------------------------------------------------------------------- */

enum { ESCAPES_MAX = 128 }; /* names in the log of a generation */

/* Workers share these alone: a corrupt table only spoils lines of the log. */
struct escapes {
	uint64_t named[ESCAPES_MAX]; /* hashes; 0: free; filled from the first on */
};

struct escapes *escapes_new(void)
{
	void *p = mmap(NULL, sizeof(struct escapes), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p != MAP_FAILED ? p : NULL;
}

void escapes_free(struct escapes **ep)
{
	if (*ep != NULL)
		munmap(*ep, sizeof(**ep));
	*ep = NULL;
}

/* True if path leads out of root. */
static bool leaves(int root, const char *path)
{
	int fd = beneath_open(root, path, BENEATH_PATH);

	if (fd >= 0)
		close(fd);
	return fd == -EXDEV;
}

/* Describes the link at path, whose directory is below root. */
static char *describe_link(int root, const char *path)
{
	int fd = beneath_open(root, path, BENEATH_PATH | BENEATH_NO_LINK);
	char to[PATH_MAX], *text;
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = readlinkat(fd, "", to, sizeof(to));
	close(fd);
	if (n < 0 || asprintf(&text, "%s to \"%.*s\"", path, (int)n, to) < 0)
		return NULL;
	return text;
}

/* The first link on the way to path that leads out of the directory root: '/d to "../x"', for
 * free(3); NULL: none, or memory is out. May block. */
static char *escape_find(int root, const char *path)
{
	size_t n = strlen(path);
	char way[PATH_MAX];

	if (n >= sizeof(way))
		return NULL;
	memcpy(way, path, n + 1);
	for (size_t i = 1; i <= n; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		way[i] = '\0';
		if (leaves(root, way))
			return describe_link(root, way);
		way[i] = path[i];
	}
	return NULL;
}

/* The slot of h, which is not 0, if it is new; ESCAPES_MAX: it is not, or all are full. */
static unsigned take_place(struct escapes *e, uint64_t h)
{
	for (unsigned i = 0; i < ESCAPES_MAX; i++) {
		uint64_t there = 0;

		if (__atomic_compare_exchange_n(
			    &e->named[i], &there, h, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return i;
		if (there == h)
			break;
	}
	return ESCAPES_MAX;
}

/* Logs the result of escape_find() below the tree of that path. e may be NULL. */
static void escapes_say(struct escapes *e, const char *root, const char *escape)
{
	uint64_t h = fnv_add(FNV_BEGIN, root, strlen(root));
	unsigned place = ESCAPES_MAX;

	if (e != NULL)
		place = take_place(e, fnv_add(h, escape, strlen(escape)) | 1);
	if (place < ESCAPES_MAX)
		log_warn("root %s: not following symbolic link %s out of root (see follow-links)%s",
			root, escape,
			place == ESCAPES_MAX - 1 ? "; not reporting further ones until a reload"
						 : "");
}

/* --- opening ---------------------------------------------------------------------------------- */

/* An open regular file. */
struct opened {
	int fd;
	struct file_id file_id;
	int64_t seen_ns; /* coarse wall clock before file_id was taken */
};

/* Opens the regular file at path. 0, or -errno. */
static int open_regular(
	const struct disk_root *root, const char *path, unsigned flags, struct opened *o)
{
	struct stat st;

	o->seen_ns = file_id_clock_ns();
	o->fd = root->fd >= 0 ? beneath_open_file(root->fd, path, flags, &st) : -ENOENT;
	if (o->fd < 0)
		return o->fd;
	o->file_id = file_id_of(&st);
	return 0;
}

/*
 * Tries the file beside o in f->beside[i], if it is not older. *best may become it. 0, or an error
 * that a thread must resolve.
 */
static int try_beside(struct disk_file *f, const struct disk_root *root, unsigned flags, unsigned i,
	const struct opened *o, struct opened *best)
{
	size_t n = disk_file_extend(f, f->beside[i]);
	struct opened found;
	/* No link: the image, which has no links, would lack it. */
	int rc = open_regular(root, f->path, flags | BENEATH_NO_LINK, &found);

	disk_file_cut(f, n);
	if (rc < 0)
		return (flags & BENEATH_CACHED && rc == -EAGAIN) ||
				       (flags & BENEATH_SAME_MOUNT && rc == -EXDEV)
			       ? rc
			       : 0;
	/* No coding of content is empty: an empty file is about to be written. */
	f->has_beside = found.file_id.size > 0 && found.file_id.mtime_ns >= o->file_id.mtime_ns;
	if (!f->has_beside || i >= f->nwanted) {
		close(found.fd);
		return 0;
	}
	*best = found;
	f->coding = f->beside[i];
	return 0;
}

/* Opens the file, or one beside it. */
static int open_best(struct disk_file *f, const struct disk_root *root, unsigned flags)
{
	struct opened o, best;
	int rc = open_regular(root, f->path, flags, &o);

	f->coding = CODING_IDENTITY;
	f->has_beside = false;
	if (rc < 0)
		return rc;
	best = o;
	for (unsigned i = 0; i < f->nbeside && rc == 0 && !f->has_beside; i++)
		rc = try_beside(f, root, flags, i, &o, &best);
	if (best.fd != o.fd)
		close(o.fd);
	if (rc < 0) {
		close(best.fd);
		return rc;
	}
	f->fd = best.fd;
	f->file_id = best.file_id;
	f->seen_ns = best.seen_ns;
	f->mtime = file_id_mtime(&o.file_id);
	return 0;
}

/* True if links led into uploads; if unknown, it is taken for one. */
static bool is_uploaded(const struct disk_file *f)
{
	const struct prefix_index *x = f->disk->uploads;
	char link[32], path[PATH_MAX];
	const struct prefix_entry *e;
	ssize_t n;

	if (x->n == 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->fd);
	n = readlink(link, path, sizeof(path));
	if (n < 0 || n == sizeof(path))
		return true;
	e = prefix_index_find(x, slice_of(path, (size_t)n));
	while (e != NULL && path[e->prefix.n] != '/')
		e = prefix_index_outer(x, e);
	return e != NULL;
}

/* Opens the file, unless its directory spells it otherwise. */
static int open_spelled(struct disk_file *f, const struct disk_root *root, unsigned flags)
{
	int rc = open_best(f, root, flags), checked;

	f->uploaded = rc == 0 && is_uploaded(f);
	if (f->spelled == 0 || (rc < 0 && rc != -EISDIR))
		return rc;
	checked = spelling_check(root->fd, f->path, f->spelled, flags);
	if (checked == 0)
		return rc;
	if (rc == 0) {
		close(f->fd);
		f->fd = -1;
	}
	return checked;
}

/*
 * Opens the file on another mount, which other machines may write to. This machine's kernel may use
 * an old copy of a name: it is refreshed for uploads, and elsewhere for a missing file.
 */
static int open_remote(struct disk_file *f, const struct disk_root *root)
{
	int rc = -ENOENT;

	if (!f->asks)
		rc = open_spelled(f, root, f->links);
	if (rc != -ENOENT || root->fd < 0)
		return rc;
	beneath_refresh(root->fd, f->path, false);
	return open_spelled(f, root, f->links);
}

static void keep_what_has_a_place(struct disk_file *f)
{
	if (f->fd < 0 || place_is_held(&f->place))
		return;
	close(f->fd);
	f->fd = -1;
}

void disk_open_run(struct job *j)
{
	struct disk_file *f = disk_file_of(j);
	unsigned same_mount = j->class == JOB_LOOKUP ? BENEATH_SAME_MOUNT : 0;
	const struct disk_root *root;

	if (f->look_at != NULL)
		f->newer = disk_root_look(f->look_at, f->root);
	/* Files on other mounts have their own threads: disk_open_then(). */
	root = f->newer != NULL ? f->newer : f->root;
	f->result = same_mount != 0 ? open_spelled(f, root, f->links | same_mount)
				    : open_remote(f, root);
	if (f->result == 0)
		f->kind = beneath_kind(f->fd);
	else if (f->result == -EXDEV && same_mount == 0)
		f->escape = escape_find(root->fd, f->path);
	keep_what_has_a_place(f);
}

/* Stores the result of the last look at the tree's root. */
static void looked(struct disk_file *f)
{
	struct disk_tree *t = f->tree;
	bool found = f->newer != NULL;

	/* The file was found there, and will be when it is reopened. */
	if (found) {
		ref_put(&f->root->ref);
		f->root = f->newer;
		f->newer = NULL;
	}
	/* A later look is already done. */
	if ((int64_t)(f->asked_ms - t->looked_ms) < 0)
		return;
	t->looked_ms = f->asked_ms;
	if (!found || (t->root->dev == f->root->dev && t->root->ino == f->root->ino))
		return;
	log_notice("root %s: %s", t->path,
		f->root->fd >= 0 ? "replaced by another directory" : "cannot be opened any more");
	ref_put(&t->root->ref);
	t->root = f->root;
	ref_get(&t->root->ref);
}

static int count_open(struct disk_file *f, int rc)
{
	if (rc == 0 && f->fd >= 0) {
		COUNT(files_open, 1);
		f->counted = true;
	}
	return rc;
}

void disk_open_then(struct disk_file *f)
{
	int rc = f->result;

	if (f->look_at != NULL)
		looked(f);
	f->look_at = NULL;
	/* A thread may write f->result from here on: this function must not. */
	if (rc == -EXDEV && f->job.class == JOB_LOOKUP)
		rc = disk_file_submit(f, DISK_OPEN, JOB_REMOTE);
	if (rc == DISK_LATER)
		return;
	if (f->escape != NULL)
		escapes_say(f->disk->escapes, f->tree->path, f->escape);
	f->opened(f, count_open(f, rc));
}

void disk_file_beside(struct disk_file *f, enum coding coding, bool wanted)
{
	f->beside[f->nbeside++] = coding;
	f->nwanted += wanted;
}

static int open_now(struct disk_file *f)
{
	bool remote = f->root->kind == BENEATH_REMOTE;

	disk_file_go(f, DISK_OPEN);
	f->asked_ms = clock_ms();
	f->look_at = f->asked_ms - f->tree->looked_ms >= DISK_LOOK_MS ? f->tree->path : NULL;
	if (f->look_at == NULL && f->root->fd < 0)
		return -ENOENT;
	if (f->look_at == NULL && !remote) {
		/* Other mounts may be FUSE: its open() waits for an answer. */
		int rc = open_spelled(f, f->root, f->links | BENEATH_CACHED | BENEATH_SAME_MOUNT);

		f->kind = f->root->kind;
		keep_what_has_a_place(f);
		if (rc != -EAGAIN && rc != -EXDEV)
			return count_open(f, rc);
	}
	return disk_file_submit(f, DISK_OPEN, remote ? JOB_REMOTE : JOB_LOOKUP);
}

static void granted(struct place *p)
{
	struct disk_file *f = LIST_ENTRY(p, struct disk_file, place);
	int rc = open_now(f);

	/* Else a thread does it. */
	if (rc != DISK_LATER)
		f->opened(f, rc);
}

int disk_file_open(struct disk_file *f)
{
	if (f->root == NULL)
		return -ENOENT;
	disk_file_try_place(f);
	return open_now(f);
}

int disk_file_open_in_turn(struct disk_file *f)
{
	if (disk_file_take_place(f, granted))
		return open_now(f);
	disk_file_go(f, DISK_LINE);
	return DISK_LATER;
}
