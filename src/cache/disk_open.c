/*
 * disk_open: from a name to a descriptor: on the loop where that cannot block, else in a thread, which
 * also looks whether the root's path still names the same directory. Files beside it that hold it in a
 * coding are opened in the same step. See disk.h.
 */
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "cache/disk.h"

struct opened {
	int fd;
	struct ident ident;
	int64_t seen_ns;         /* coarse wall clock before ident was taken */
};

/* The regular file at path. 0, or -errno. */
static int open_regular(const struct disk_root *root, const char *path, unsigned flags,
	struct opened *o)
{
	struct stat st;
	int fd = root->fd >= 0 ? beneath_open(root->fd, path, flags) : -ENOENT;
	int rc = 0;

	if (fd < 0)
		return fd;
	o->seen_ns = disk_stamp_ns();
	if (fstat(fd, &st) < 0)
		rc = -errno;
	else if (S_ISDIR(st.st_mode))
		rc = -EISDIR;
	else if (!S_ISREG(st.st_mode))
		rc = -ENOENT;
	if (rc < 0) {
		close(fd);
		return rc;
	}
	o->fd = fd;
	o->ident = ident_of(&st);
	return 0;
}

/* f->beside[i] of the file o. *best may become it. 0, or what only a thread can find out. */
static int try_beside(struct disk_file *f, const struct disk_root *root, unsigned flags, unsigned i,
	const struct opened *o, struct opened *best)
{
	struct slice extension = coding_extensions[f->beside[i]];
	size_t n = strlen(f->path);
	struct opened found;
	int rc;

	f->path[n] = '.';
	memcpy(f->path + n + 1, extension.p, extension.n);
	/* No link: the image, which holds no links, would not have it. */
	rc = open_regular(root, f->path, flags | BENEATH_NO_LINK, &found);
	memset(f->path + n, '\0', 1 + extension.n);
	if (rc < 0)
		return flags != 0 && (rc == -EAGAIN || rc == -EXDEV) ? rc : 0;
	/* No coding makes nothing of something: who empties it is about to write it. */
	if (found.ident.size == 0 || found.ident.mtime_ns < o->ident.mtime_ns) {
		close(found.fd);
		return 0;
	}
	f->has_beside = true;
	if (i >= f->nwanted || best->fd != o->fd) {
		close(found.fd);
		return 0;
	}
	*best = found;
	f->coding = f->beside[i];
	return 0;
}

/* The file, or one beside it. */
static int open_best(struct disk_file *f, const struct disk_root *root, unsigned flags)
{
	struct opened o, best;
	int rc = open_regular(root, f->path, flags, &o);

	if (rc < 0)
		return rc;
	best = o;
	f->coding = CODING_IDENTITY;
	f->has_beside = false;
	for (unsigned i = 0; i < f->nbeside && rc == 0; i++)
		rc = try_beside(f, root, flags, i, &o, &best);
	if (best.fd != o.fd)
		close(o.fd);
	if (rc < 0) {
		close(best.fd);
		return rc;
	}
	f->fd = best.fd;
	f->ident = best.ident;
	f->seen_ns = best.seen_ns;
	f->mtime = ident_mtime(&o.ident);
	return 0;
}

static void open_work(struct job *j)
{
	struct disk_file *f = disk_file_of(j);

	if (f->looks)
		f->newer = disk_root_look(f->tree->path, f->root);
	f->result = open_best(f, f->newer != NULL ? f->newer : f->root, 0);
	if (f->result == 0)
		f->kind = beneath_kind(f->fd);
}

/* The tree's root is what the last look found. */
static void looked(struct disk_file *f)
{
	struct disk_tree *t = f->tree;

	/* Another look began after this one and is done. */
	if ((int64_t)(f->asked_ms - t->looked_ms) < 0)
		return;
	t->looked_ms = f->asked_ms;
	t->doubted = false;
	if (f->newer == NULL || (t->root->dev == f->newer->dev && t->root->ino == f->newer->ino))
		return;
	log_notice("root %s: %s", t->path,
		f->newer->fd >= 0 ? "another directory from now on" : "there is none any more");
	ref_put(&t->root->ref);
	t->root = f->newer;
	ref_get(&t->root->ref);
}

static int opened(struct disk_file *f, int rc)
{
	if (rc == 0) {
		COUNT(files_open, 1);
		f->counted = true;
	}
	return rc;
}

static void open_finish(struct disk_file *f)
{
	if (f->looks)
		looked(f);
	f->fn(f, opened(f, f->result));
}

void disk_file_beside(struct disk_file *f, enum coding coding, bool wanted)
{
	f->beside[f->nbeside++] = coding;
	f->nwanted += wanted;
}

int disk_file_open(struct disk_file *f)
{
	if (f->root == NULL)
		return -ENOENT;
	f->asked_ms = clock_ms();
	f->looks = f->tree->doubted || f->asked_ms - f->tree->looked_ms >= DISK_LOOK_MS;
	if (!f->looks && f->root->fd < 0)
		return -ENOENT;
	if (!f->looks && f->root->kind != BENEATH_REMOTE) {
		/* What lies on other mounts may be FUSE: its open() waits for an answer. */
		int rc = open_best(f, f->root, BENEATH_CACHED | BENEATH_SAME_MOUNT);

		f->kind = f->root->kind;
		if (rc != -EAGAIN && rc != -EXDEV)
			return opened(f, rc);
	}
	return disk_file_later(f, open_work, open_finish);
}
