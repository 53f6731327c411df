/*
 * tree_watch: see tree_watch.h. Useless watches are removed later, a few at a time: a moved
 * directory gets its watch back, and the kernel's events for removed ones (IN_IGNORED) do not flood
 * its queue.
 */
#include "keeper/tree_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"

enum {
	READ_SIZE = 32 << 10,
	IDLE_MS = 100,     /* idle watches are removed at this interval, */
	IDLE_BATCH = 64,   /* so many, then the kernel's events for them are read, */
	IDLE_BATCHES = 16, /* so many times */
};

enum {
	SELF_GONE = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED,
	CAME = IN_CREATE | IN_MOVED_TO,
	WENT = IN_DELETE | IN_MOVED_FROM,
	MASK = CAME | WENT | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_MODIFY |
	       IN_CLOSE_WRITE | IN_ONLYDIR | IN_EXCL_UNLINK,
};

struct watched_root {
	const char *path; /* NULL: not watched */
	struct tree_dir *top;
};

struct tree_watch {
	struct loop *loop;
	tree_change_fn *fn;
	void *ctx;
	struct watch events;
	struct timer idle;
	struct tree_map map;
	unsigned nroots;
	bool lost;
	bool telling;
	bool said_short;
	char path[TREE_PATH_MAX];
	char buf[READ_SIZE] __attribute__((aligned(__alignof__(struct inotify_event))));
	struct watched_root roots[];
};

static void tell_change(
	struct tree_watch *w, enum tree_change what, unsigned root, const char *path)
{
	w->telling = true;
	w->fn(w->ctx, what, root, path);
	w->telling = false;
}

static void tell_of(
	struct tree_watch *w, enum tree_change what, const struct tree_dir *dir, const char *name)
{
	char *path = tree_dir_path(dir, name, w->path);

	if (what == TREE_DIR && name != NULL) {
		/* A directory's path ends with a slash; buf has room for it. */
		size_t n = strlen(path);

		path = memmove(path - 1, path, n);
		path[n] = '/';
	}
	tell_change(w, what, dir->root, path);
}

/* Removes at most max of them; returns how many. */
static unsigned remove_idle(struct tree_watch *w, unsigned max)
{
	unsigned n = 0;

	for (; n < max && !list_empty(&w->map.idle); n++) {
		struct tree_mark *mark = LIST_ENTRY(w->map.idle.next, struct tree_mark, idle);

		/* EINVAL: the kernel removed it, and IN_IGNORED will come. */
		inotify_rm_watch(w->events.fd, mark->wd);
		tree_map_remove_mark(&w->map, mark);
	}
	return n;
}

static void arm_idle(struct tree_watch *w)
{
	if (!list_empty(&w->map.idle) && !timer_armed(&w->idle))
		timer_arm(&w->loop->wheel, &w->idle, clock_ms() + IDLE_MS);
}

static void on_idle(struct timer *t)
{
	struct tree_watch *w = LIST_ENTRY(t, struct tree_watch, idle);

	for (unsigned i = 0; i < IDLE_BATCHES && remove_idle(w, IDLE_BATCH) > 0; i++)
		tree_watch_read(w);
	arm_idle(w);
}

/* True if the path, from outside, may be listed and searched. A hint: names may move meanwhile. */
static bool readable(const struct tree_watch *w, const struct tree_dir *dir)
{
	char path[2 * PATH_MAX], buf[TREE_PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s%s", w->roots[dir->root].path,
		tree_dir_path(dir, NULL, buf));

	return n < (int)sizeof(path) && faccessat(AT_FDCWD, path, R_OK | X_OK, AT_EACCESS) == 0;
}

/*
 * IN_ATTRIB of a directory is mostly for its time stamps (rsync and tar set them last); access to
 * the files below depends on its mode alone.
 */
static bool look_at_access(struct tree_watch *w, struct tree_dir *dir)
{
	bool was = dir->readable;

	dir->readable = readable(w, dir);
	return dir->readable != was;
}

static void on_dir_event(struct tree_watch *w, struct tree_dir *dir, const struct inotify_event *ev)
{
	struct tree_dir *child = tree_map_child(&w->map, dir, ev->name, strlen(ev->name));

	if (ev->mask & WENT && child != NULL)
		tree_map_drop(&w->map, child);
	else if (ev->mask & IN_ATTRIB && child != NULL && !look_at_access(w, child))
		return;
	tell_of(w, TREE_DIR, dir, ev->name);
}

/* An event of the directory itself, perhaps its last. */
static void on_self(struct tree_watch *w, struct tree_dir *dir, uint32_t mask)
{
	bool gone = mask & SELF_GONE;

	if (dir->parent == NULL)
		return;
	if (!gone) {
		if (look_at_access(w, dir))
			tell_of(w, TREE_DIR, dir, NULL);
	} else if (!(mask & IN_MOVE_SELF) || dir->parent->mark == NULL) {
		/* The parent reported a move, and the name may be the new one by now. */
		tell_of(w, TREE_DIR, dir, NULL);
		tree_map_drop(&w->map, dir);
	}
}

static void on_event(struct tree_watch *w, const struct inotify_event *ev)
{
	struct tree_mark *mark = tree_map_mark(&w->map, ev->wd);

	if (ev->mask & IN_Q_OVERFLOW)
		w->lost = true;
	if (mark == NULL || w->lost)
		return;
	LIST_EACH(struct tree_dir, dir, of_mark, &mark->dirs) {
		if (ev->len == 0)
			on_self(w, dir, ev->mask);
		else if (ev->mask & IN_ISDIR)
			on_dir_event(w, dir, ev);
		else
			tell_of(w, TREE_FILE, dir, ev->name);
	}
	if (ev->mask & IN_IGNORED) { /* the directory was deleted, or its file system unmounted */
		LIST_EACH(struct tree_dir, of, of_mark, &mark->dirs)
			tree_map_drop(&w->map, of);
		tree_map_remove_mark(&w->map, mark);
	}
}

static void forget_root(struct tree_watch *w, struct watched_root *r)
{
	tree_map_free_top(&w->map, &r->top);
	r->path = NULL;
}

void tree_watch_read(struct tree_watch *w)
{
	int queued = 0;

	H2D_ASSERT(!w->telling);
	/* Only the present ones, so that endless events do not block the loop. */
	if (ioctl(w->events.fd, FIONREAD, &queued) != 0)
		queued = 0;
	while (queued > 0) {
		ssize_t n = read(w->events.fd, w->buf, sizeof(w->buf));

		if (n <= 0)
			break;
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *ev = (const void *)(w->buf + at);

			at += (ssize_t)(sizeof(*ev) + ev->len);
			on_event(w, ev);
		}
		queued -= (int)n;
	}
	if (w->lost) {
		w->lost = false;
		for (unsigned i = 0; i < w->nroots; i++)
			forget_root(w, &w->roots[i]);
		tell_change(w, TREE_LOST, 0, "/");
	}
	arm_idle(w);
}

static void on_readable(struct watch *events, uint32_t mask)
{
	(void)mask;
	tree_watch_read(LIST_ENTRY(events, struct tree_watch, events));
}

struct tree_watch *tree_watch_new(struct loop *loop, unsigned nroots, tree_change_fn *fn, void *ctx)
{
	struct tree_watch *w = calloc(1, sizeof(*w) + nroots * sizeof(w->roots[0]));
	int rc;

	if (w == NULL)
		return NULL;
	w->loop = loop;
	w->fn = fn;
	w->ctx = ctx;
	w->events.fn = on_readable;
	timer_init(&w->idle, on_idle);
	w->nroots = nroots;
	rc = tree_map_init(&w->map);
	if (rc < 0) {
		free(w);
		errno = -rc;
		return NULL;
	}
	w->events.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	rc = w->events.fd < 0 ? -errno : loop_watch(loop, &w->events, EPOLLIN);
	if (rc < 0) {
		tree_watch_free(&w);
		errno = -rc;
	}
	return w;
}

void tree_watch_free(struct tree_watch **watch)
{
	struct tree_watch *w = *watch;

	if (w == NULL)
		return;
	H2D_ASSERT(!w->telling);
	timer_disarm(&w->loop->wheel, &w->idle);
	for (unsigned i = 0; i < w->nroots; i++)
		forget_root(w, &w->roots[i]);
	tree_map_fini(&w->map);
	loop_unwatch(w->loop, &w->events);
	if (w->events.fd >= 0)
		close(w->events.fd);
	free(w);
	*watch = NULL;
}

/* NULL with errno. inotify_add_watch(2) takes no descriptor, but a magic link to its file. */
static struct tree_mark *add_watch(struct tree_watch *w, int fd)
{
	struct tree_mark *mark;
	char path[32];
	int wd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* An inode has only one watch, also in overlapping roots. */
	do {
		wd = inotify_add_watch(w->events.fd, path, MASK);
	} while (wd < 0 && errno == ENOSPC && remove_idle(w, IDLE_BATCH) > 0);
	if (wd < 0) {
		if (errno == ENOSPC && !w->said_short) {
			log_error("inotify: limit of %u watches (fs.inotify.max_user_watches); "
				  "finding other changes by rescans",
				w->map.marks.n);
			w->said_short = true;
			errno = ENOSPC;
		}
		return NULL;
	}
	mark = tree_map_add_mark(&w->map, wd);
	if (mark == NULL) {
		inotify_rm_watch(w->events.fd, wd);
		errno = ENOMEM;
	}
	return mark;
}

void tree_watch_root(struct tree_watch *w, unsigned root, const char *root_path)
{
	H2D_ASSERT(!w->telling && root < w->nroots);
	forget_root(w, &w->roots[root]);
	w->roots[root].path = root_path;
	arm_idle(w);
}

int tree_watch_dir(struct tree_watch *w, unsigned root, const char *path, int dirfd)
{
	struct watched_root *r = &w->roots[root];
	struct tree_mark *mark;
	struct tree_dir *dir;

	H2D_ASSERT(!w->telling && root < w->nroots);
	if (r->path == NULL)
		return -ENOENT;
	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	mark = add_watch(w, dirfd);
	if (mark == NULL)
		return -errno;
	if (r->top == NULL)
		r->top = tree_dir_top(root);
	dir = r->top != NULL ? tree_map_find(&w->map, r->top, path, true) : NULL;
	if (dir != NULL) {
		tree_map_tie(&w->map, dir, mark);
		dir->readable = faccessat(dirfd, "", R_OK | X_OK, AT_EACCESS | AT_EMPTY_PATH) == 0;
	}
	arm_idle(w);
	return dir != NULL ? 0 : -ENOMEM;
}

void tree_watch_forget(struct tree_watch *w, unsigned root, const char *path)
{
	struct tree_dir *dir = NULL;

	H2D_ASSERT(!w->telling && root < w->nroots);
	if (w->roots[root].top != NULL)
		dir = tree_map_find(&w->map, w->roots[root].top, path, false);
	if (dir != NULL)
		tree_map_drop(&w->map, dir);
	arm_idle(w);
}

unsigned tree_watch_count(const struct tree_watch *w)
{
	return w->map.watched;
}
