/*
 * check_tree_random: a small keeper that knows what it is told of, and no more, against a tree that
 * is changed at random, also while it reads. When all is read and done, it knows the tree as it is.
 */
#include <dirent.h>

#include "keeper/tree_watch.h"
#include "loop_unit.h"
#include "tree_unit.h"

enum { ROOTS = 3, KNOWN_MAX = 4096, PENDING_MAX = 4096, STEPS = 400, ROUNDS = 16 };

struct known {
	unsigned root;
	char path[512];
	struct stat st;
};

struct pending {
	enum tree_change what;
	unsigned root;
	char path[512];
};

static struct tree_watch *watch;
static struct known known[KNOWN_MAX];
static struct pending pending[PENDING_MAX];
static unsigned nknown, npending, state, busy;
static int root_fds[ROOTS] = { -1, -1, -1 };

/* One inside the other, by a link; and a second name for one of its targets. */
static const char *const roots[ROOTS] = { "current", "current/a", "r1" };

static unsigned pick(unsigned n)
{
	state = state * 1664525 + 1013904223;
	return (state >> 16) % n;
}

static void on_change(void *ctx, enum tree_change what, unsigned root, const char *path)
{
	ck_assert_uint_lt(npending, PENDING_MAX);
	pending[npending] = (struct pending){ .what = what, .root = root };
	snprintf(pending[npending++].path, sizeof(pending[0].path), "%s", path);
}

/* Somewhere below r1 or r2, up to four names deep. */
static char *any_path(char buf[512])
{
	snprintf(buf, 512, "%s/r%u", tree, 1 + pick(2));
	for (unsigned depth = 1 + pick(4); depth > 0; depth--)
		snprintf(buf + strlen(buf), 512 - strlen(buf), "/%c", 'a' + pick(3));
	return buf;
}

static void write_some(const char *path, int flags)
{
	static const char data[64];
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644);

	if (fd < 0)
		return;
	ck_assert_int_ge(write(fd, data, 1 + pick(63)), 0);
	close(fd);
}

/* Most of these fail, as they may. */
static void change_something(void)
{
	char a[512], b[512];

	switch (pick(12)) {
	case 0:
	case 1:
	case 2:
		mkdir(any_path(a), 0755);
		break;
	case 3:
		rmdir(any_path(a));
		break;
	case 4:
	case 5:
		write_some(any_path(a), O_CREAT);
		break;
	case 6:
		write_some(any_path(a), O_APPEND);
		break;
	case 7:
		unlink(any_path(a));
		break;
	case 8:
		rename(any_path(a), any_path(b));
		break;
	case 9:
		renameat2(AT_FDCWD, any_path(a), AT_FDCWD, any_path(b), RENAME_EXCHANGE);
		break;
	case 10:
		snprintf(b, sizeof(b), "%s/new", tree);
		if (pick(8) == 0 && symlink(pick(2) == 0 ? "r1" : "r2", b) == 0)
			rename(b, tree_path("current"));
		break;
	default:
		if (pick(8) == 0)
			renameat2(AT_FDCWD, tree_path("r1"), AT_FDCWD, tree_path("r2"),
				RENAME_EXCHANGE);
		break;
	}
}

static void forget(unsigned root, const char *prefix)
{
	unsigned n = 0;

	for (unsigned i = 0; i < nknown; i++)
		if (known[i].root != root || strncmp(known[i].path, prefix, strlen(prefix)) != 0)
			known[n++] = known[i];
	nknown = n;
}

static void learn(unsigned root, const char *path, int dirfd, const char *name)
{
	struct known *k = &known[nknown];

	ck_assert_uint_lt(nknown, KNOWN_MAX);
	if (fstatat(dirfd, name, &k->st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(k->st.st_mode))
		return;
	for (unsigned i = 0; i < nknown; i++) {
		if (known[i].root == root && strcmp(known[i].path, path) == 0) {
			known[i].st = k->st;
			return;
		}
	}
	k->root = root;
	snprintf(k->path, sizeof(k->path), "%s", path);
	nknown++;
}

/* The directory, and those in it; dir is given away. */
static void scan(unsigned root, const char *path, int fd, bool watching)
{
	struct dirent *e;
	DIR *dir;

	if (watching)
		ck_assert_int_eq(tree_watch_dir(watch, root, path, fd), 0);
	dir = fdopendir(fd);
	ck_assert_ptr_nonnull(dir);
	while ((e = readdir(dir)) != NULL) {
		char sub[512];
		int subfd;

		if (e->d_name[0] == '.')
			continue;
		if (busy > 0 && pick(3) == 0) {
			busy--;
			change_something();
		}
		subfd = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		snprintf(sub, sizeof(sub), "%.200s%.20s%s", path, e->d_name, subfd >= 0 ? "/" : "");
		if (subfd >= 0)
			scan(root, sub, subfd, watching);
		else
			learn(root, sub, fd, e->d_name);
	}
	closedir(dir);
}

static int open_below(unsigned root, const char *path, int flags)
{
	char name[600];

	snprintf(name, sizeof(name), ".%s", path);
	return openat(root_fds[root], name, flags | O_CLOEXEC);
}

static void scan_dir(unsigned root, const char *path, bool watching)
{
	int fd = open_below(root, path, O_RDONLY | O_DIRECTORY);

	/* What came or went was forgotten: nothing depends on this. */
	if (watching && pick(2) == 0)
		tree_watch_forget(watch, root, path);
	forget(root, path);
	if (fd >= 0)
		scan(root, path, fd, watching);
}

static void read_root(unsigned root)
{
	static char paths[ROOTS][512];

	snprintf(paths[root], sizeof(paths[root]), "%s", tree_path(roots[root]));
	tree_watch_root(watch, root, paths[root]);
	if (root_fds[root] >= 0)
		close(root_fds[root]);
	root_fds[root] = open(paths[root], O_PATH | O_DIRECTORY | O_CLOEXEC);
	scan_dir(root, "/", true);
}

/* As the keeper does: where the paths lead to is nobody else's to say. */
static void look_at_roots(void)
{
	for (unsigned i = 0; i < ROOTS; i++) {
		struct stat now, then;
		bool there = stat(tree_path(roots[i]), &now) == 0 && S_ISDIR(now.st_mode);

		if (there != (root_fds[i] >= 0) ||
			(there && (fstat(root_fds[i], &then) != 0 || now.st_ino != then.st_ino)))
			on_change(NULL, TREE_ROOT, i, "/");
	}
}

static void work(struct pending p)
{
	char parent[512], *slash;
	unsigned n = 0;
	int fd;

	switch (p.what) {
	case TREE_FILE:
		for (unsigned i = 0; i < nknown; i++)
			if (known[i].root != p.root || strcmp(known[i].path, p.path) != 0)
				known[n++] = known[i];
		nknown = n;
		snprintf(parent, sizeof(parent), "%s", p.path);
		slash = strrchr(parent, '/') + 1;
		*slash = '\0';
		fd = open_below(p.root, parent, O_PATH);
		if (fd >= 0) {
			learn(p.root, p.path, fd, strrchr(p.path, '/') + 1);
			close(fd);
		}
		break;
	case TREE_DIR:
		scan_dir(p.root, p.path, true);
		break;
	case TREE_ROOT:
		read_root(p.root);
		break;
	case TREE_LOST:
		for (unsigned i = 0; i < ROOTS; i++)
			read_root(i);
		break;
	case TREE_DOUBT:
		ck_abort_msg("tree_watch has no doubts");
	}
}

/* Some of what there is to do, in its order. */
static void work_some(unsigned n)
{
	while (n-- > 0 && npending > 0) {
		struct pending p = pending[0];

		memmove(pending, pending + 1, --npending * sizeof(p));
		work(p);
	}
}

static int by_path(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return x->root != y->root ? (x->root < y->root ? -1 : 1) : strcmp(x->path, y->path);
}

static void compare(void)
{
	static struct known mine[KNOWN_MAX];
	unsigned n = nknown;

	memcpy(mine, known, sizeof(known));
	nknown = 0;
	for (unsigned i = 0; i < ROOTS; i++)
		scan_dir(i, "/", false);
	qsort(mine, n, sizeof(*mine), by_path);
	qsort(known, nknown, sizeof(*known), by_path);
	for (unsigned i = 0; i < n && i < nknown; i++) {
		const struct stat *a = &mine[i].st, *b = &known[i].st;

		ck_assert_msg(by_path(&mine[i], &known[i]) == 0, "%u%s is known, %u%s is there",
			mine[i].root, mine[i].path, known[i].root, known[i].path);
		ck_assert_msg(a->st_ino == b->st_ino && a->st_size == b->st_size &&
				      a->st_ctim.tv_nsec == b->st_ctim.tv_nsec,
			"%u%s is another", mine[i].root, mine[i].path);
	}
	ck_assert_uint_eq(n, nknown);
}

static void settle(void)
{
	busy = 0;
	for (;;) {
		look_at_roots();
		tree_watch_read(watch);
		if (npending == 0)
			break;
		work_some(npending);
	}
}

TEST_EACH(it_is_told_of_everything, 10)
{
	watch = tree_watch_new(&loop, ROOTS, on_change, NULL);
	ck_assert_ptr_nonnull(watch);
	state = (unsigned)_i * 7919 + 1;
	nknown = npending = 0;
	tree_dir("r1");
	tree_dir("r2");
	tree_link("r1", "current");
	for (unsigned i = 0; i < ROOTS; i++)
		read_root(i);
	for (unsigned round = 0; round < ROUNDS; round++) {
		busy = STEPS / 10;
		for (unsigned i = pick(STEPS); i > 0; i--) {
			change_something();
			if (pick(40) == 0)
				tree_watch_read(watch);
			if (pick(20) == 0)
				work_some(1 + pick(10));
			if (pick(100) == 0)
				ck_assert_int_eq(loop_turn(&loop, 0), 0);
		}
		settle();
		compare();
	}
	for (unsigned i = 0; i < ROOTS; i++)
		close(root_fds[i]);
	tree_watch_free(&watch);
}
