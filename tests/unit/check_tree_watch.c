/* check_tree_watch: what is told of real directories, their links, moves, floods and limits. */
#include <sched.h>
#include <stdarg.h>
#include <sys/mount.h>

#include "base/clock.h"
#include "base/log.h"
#include "keeper/tree_watch.h"
#include "loop_unit.h"
#include "tree_unit.h"

enum { ROOTS = 8, TOLD_MAX = 64, WAIT_MS = 50000 };

static struct tree_watch *watch;

static struct told {
	enum tree_change what;
	unsigned root;
	char path[512];
} told[TOLD_MAX]; /* each once, in their order */
static unsigned ntold, nlost;
static uint64_t calls;

static void on_change(void *ctx, enum tree_change what, unsigned root, const char *path)
{
	ck_assert_ptr_eq(ctx, &loop);
	calls++;
	if (what == TREE_LOST)
		nlost++;
	for (unsigned i = 0; i < ntold; i++)
		if (told[i].what == what && told[i].root == root && strcmp(told[i].path, path) == 0)
			return;
	if (ntold == TOLD_MAX)
		return;
	told[ntold].what = what;
	told[ntold].root = root;
	snprintf(told[ntold++].path, sizeof(told[0].path), "%s", path);
}

UNIT_SETUP(setup)
{
	watch = tree_watch_new(&loop, ROOTS, on_change, &loop);
	ck_assert_ptr_nonnull(watch);
	ntold = nlost = 0;
	calls = 0;
}

UNIT_TEARDOWN(teardown)
{
	tree_watch_free(&watch);
	ck_assert_ptr_null(watch);
}

static void forget_told(void)
{
	tree_watch_read(watch);
	ntold = 0;
	calls = 0;
}

static bool was_told(enum tree_change what, unsigned root, const char *path)
{
	for (unsigned i = 0; i < ntold; i++)
		if (told[i].what == what && told[i].root == root && strcmp(told[i].path, path) == 0)
			return true;
	return false;
}

/* By the loop, as the keeper is told. */
static void wait_told(enum tree_change what, unsigned root, const char *path)
{
	uint64_t until = clock_read_us() + WAIT_MS * 1000;

	while (!was_told(what, root, path)) {
		ck_assert_msg(clock_read_us() < until, "never told: %d %u %s", what, root, path);
		ck_assert_int_eq(loop_turn(&loop, 100), 0);
	}
}

/* All that the kernel has queued, and nothing but that was told: "0/a" (a file),
 * "0/dir/". */
#define expect(...) expect_at(__LINE__, __VA_ARGS__)

static void expect_at(int line, const char *first, ...)
{
	char got[TOLD_MAX * 64] = "", want[TOLD_MAX * 64] = "";
	va_list ap;

	tree_watch_read(watch);
	va_start(ap, first);
	for (const char *s = first; s != NULL; s = va_arg(ap, const char *))
		snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s\n", s);
	va_end(ap);
	for (unsigned i = 0; i < ntold; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%u%s\n", told[i].root,
			told[i].path);
	ck_assert_msg(strcmp(got, want) == 0, "line %d: told\n%sinstead of\n%s", line, got, want);
	forget_told();
}

static int dir_watch(unsigned root, const char *path, const char *name)
{
	int fd = open(tree_path(name), O_PATH | O_DIRECTORY | O_CLOEXEC), rc;

	ck_assert_int_ge(fd, 0);
	rc = tree_watch_dir(watch, root, path, fd);
	close(fd);
	return rc;
}

static void root_watch(unsigned root, const char *name)
{
	static char paths[ROOTS][512];

	snprintf(paths[root], sizeof(paths[root]), "%s", tree_path(name));
	tree_watch_root(watch, root, paths[root]);
}

static void move(const char *from, const char *to)
{
	ck_assert_int_eq(rename(tree_path(from), tree_path(to)), 0);
}

/* A root with two directories, /a/ and /a/b/. */
static void make_tree(void)
{
	tree_dir("root");
	tree_dir("root/a");
	tree_dir("root/a/b");
	root_watch(0, "root");
	ck_assert_int_eq(dir_watch(0, "/", "root"), 0);
	ck_assert_int_eq(dir_watch(0, "/a/", "root/a"), 0);
	ck_assert_int_eq(dir_watch(0, "/a/b/", "root/a/b"), 0);
	ck_assert_uint_eq(tree_watch_count(watch), 3);
	forget_told();
}

TEST(files)
{
	int fd;

	make_tree();
	tree_text("root/x", "1");
	expect("0/x", NULL);
	tree_text("root/a/b/y", "2");
	expect("0/a/b/y", NULL);
	fd = open(tree_path("root/a/z"), O_RDWR | O_CREAT, 0644);
	expect("0/a/z", NULL);
	/* Before it is closed. */
	ck_assert_int_eq(write(fd, "123", 3), 3);
	expect("0/a/z", NULL);
	ck_assert_int_eq(ftruncate(fd, 1), 0);
	expect("0/a/z", NULL);
	close(fd);
	expect("0/a/z", NULL);
	ck_assert_int_eq(truncate(tree_path("root/x"), 0), 0);
	expect("0/x", NULL);
	ck_assert_int_eq(chmod(tree_path("root/x"), 0600), 0);
	expect("0/x", NULL);
	tree_date("root/x", 1000000);
	expect("0/x", NULL);
	move("root/x", "root/a/x");
	expect("0/x", "0/a/x", NULL);
	move("root/a/x", "root/a/z");
	expect("0/a/x", "0/a/z", NULL);
	ck_assert_int_eq(link(tree_path("root/a/z"), tree_path("root/hard")), 0);
	tree_text("root/hard", "by one name");
	tree_watch_read(watch);
	ck_assert(was_told(TREE_FILE, 0, "/hard"));
	forget_told();
	tree_link("a/z", "root/soft");
	expect("0/soft", NULL);
	ck_assert_int_eq(unlink(tree_path("root/soft")), 0);
	expect("0/soft", NULL);
	/* Reading changes nothing. */
	fd = open(tree_path("root/hard"), O_RDONLY);
	close(fd);
	expect(NULL, NULL);
	/* From outside, and to there. */
	tree_text("new", "new");
	move("new", "root/a/b/new");
	expect("0/a/b/new", NULL);
	move("root/a/b/new", "new");
	expect("0/a/b/new", NULL);
}

/* A directory takes its ancestor's place: each name is tied to what is there, whatever came first.
 */
TEST(directory_above_itself)
{
	make_tree();
	move("root/a/b", "root/b");
	ck_assert_int_eq(rmdir(tree_path("root/a")), 0);
	move("root/b", "root/a");
	tree_dir("root/a/b");
	ck_assert_int_eq(dir_watch(0, "/a/", "root/a"), 0);
	ck_assert_int_eq(dir_watch(0, "/a/b/", "root/a/b"), 0);
	ck_assert_uint_eq(tree_watch_count(watch), 3);
	tree_watch_read(watch);
	/* Whatever was forgotten was told. */
	ck_assert(was_told(TREE_DIR, 0, "/a/"));
	ck_assert_int_eq(dir_watch(0, "/a/", "root/a"), 0);
	ck_assert_int_eq(dir_watch(0, "/a/b/", "root/a/b"), 0);
	forget_told();
	tree_text("root/a/b/f", "");
	expect("0/a/b/f", NULL);
	/* Under an old name of its own ancestor. */
	ck_assert_int_eq(dir_watch(0, "/a/b/c/", "root/a"), 0);
	ck_assert_int_eq(dir_watch(0, "/a/", "root/a"), 0);
	tree_text("root/a/f", "");
	expect("0/a/f", NULL);
}

TEST(permissions)
{
	make_tree();
	/* What rsync and tar do to every directory. */
	tree_date("root/a", 1000000);
	tree_date("root", 1000000);
	expect(NULL, NULL);
	if (geteuid() == 0) {
		/* Root may read what it likes. */
		ck_assert_int_eq(chmod(tree_path("root/a"), 0), 0);
		expect(NULL, NULL);
	}
}

/* As a user who may be refused. In a process of its own. */
TEST(permissions_of_a_user)
{
	const unsigned nobody = 65534;
	int status;
	pid_t pid;

	ck_assert_int_eq(chmod(tree, 0777), 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && (setgid(nobody) != 0 || setuid(nobody) != 0))
			_exit(9);
		make_tree();
		ck_assert_int_eq(chmod(tree_path("root/a"), 0), 0);
		expect("0/a/", NULL);
		tree_date("root/a", 1000000);
		expect(NULL, NULL);
		ck_assert_int_eq(chmod(tree_path("root/a"), 0755), 0);
		expect("0/a/", NULL);
		/* Not searched: names can be had, files cannot. */
		ck_assert_int_eq(chmod(tree_path("root/a/b"), 0644), 0);
		expect("0/a/b/", NULL);
		fflush(NULL);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

TEST(by_the_loop)
{
	make_tree();
	tree_text("root/f", "");
	wait_told(TREE_FILE, 0, "/f");
	ntold = 0;
	move("root/a", "root/c");
	wait_told(TREE_DIR, 0, "/c/");
}

/* What was forgotten is removed in the kernel, a while later, or is used again. */
static unsigned kernel_watches(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 64; fd++) {
		char path[64], line[512];
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
		f = fopen(path, "r");
		while (f != NULL && fgets(line, sizeof(line), f) != NULL)
			n += strncmp(line, "inotify wd:", 11) == 0;
		if (f != NULL)
			fclose(f);
	}
	return n;
}

TEST(watches_are_given_back)
{
	uint64_t until;
	unsigned before;

	make_tree();
	before = kernel_watches();
	tree_dir("many");
	for (int i = 0; i < 3000; i++) {
		char name[32], path[32];

		snprintf(name, sizeof(name), "many/%d", i);
		snprintf(path, sizeof(path), "/m/%d/", i);
		tree_dir(name);
		ck_assert_int_eq(dir_watch(0, path, name), 0);
	}
	ck_assert_uint_eq(kernel_watches(), before + 3000);
	ck_assert_uint_eq(tree_watch_count(watch), 3003);
	tree_watch_forget(watch, 0, "/m/");
	ck_assert_uint_eq(tree_watch_count(watch), 3);
	ck_assert_int_eq(dir_watch(0, "/keep/", "many/7"), 0);
	until = clock_read_us() + WAIT_MS * 1000;
	while (kernel_watches() > before + 1) {
		ck_assert(clock_read_us() < until);
		ck_assert_int_eq(loop_turn(&loop, 100), 0);
	}
	forget_told();
	tree_text("many/8/f", "");
	tree_text("many/7/f", "");
	expect("0/keep/f", NULL);
	ck_assert_uint_eq(nlost, 0);
}

static unsigned limit_of(const char *name)
{
	char path[128];
	unsigned n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/fs/inotify/%s", name);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%u", &n), 1);
	fclose(f);
	return n;
}

TEST(overflow)
{
	unsigned n = limit_of("max_queued_events") / 2 + 100;

	make_tree();
	/* Events of two files in turn are not merged. */
	tree_text("root/f", "");
	tree_text("root/g", "");
	for (unsigned i = 0; i < n; i++) {
		ck_assert_int_eq(truncate(tree_path("root/f"), 0), 0);
		ck_assert_int_eq(truncate(tree_path("root/g"), 0), 0);
	}
	move("root", "toor");
	tree_watch_read(watch);
	ck_assert_uint_eq(nlost, 1);
	ck_assert_uint_eq(tree_watch_count(watch), 0);
	forget_told();
	/* From the beginning. */
	move("toor", "root");
	tree_watch_read(watch);
	ck_assert_uint_eq(calls, 0);
	ck_assert_int_eq(dir_watch(0, "/", "root"), -ENOENT);
	root_watch(0, "root");
	ck_assert_int_eq(dir_watch(0, "/", "root"), 0);
	ck_assert_int_eq(dir_watch(0, "/a/", "root/a"), 0);
	tree_text("root/a/f", "");
	expect("0/a/f", NULL);
	ck_assert_uint_eq(nlost, 1);
}

/* Harmless if pid is no more. */
static void put_map(pid_t pid, const char *name, const char *text)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	f = fopen(path, "w");
	if (f == NULL)
		return;
	fputs(text, f);
	fclose(f);
}

/* Body, in a namespace of users and mounts of its own, where it is root. 77: such are forbidden
 * here. */
static int in_namespace(int (*body)(void))
{
	int status, sync[2];
	char path[64], map[64];
	pid_t pid;

	ck_assert_int_eq(pipe(sync), 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		char byte;

		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
			_exit(77);
		close(sync[1]);
		ck_assert_int_eq(read(sync[0], &byte, 1), 0);
		_exit(body());
	}
	close(sync[0]);
	/* The map of ids is written from outside, once there is a namespace. */
	for (int i = 0; i < 30000; i++) {
		struct timespec moment = { .tv_nsec = 1000000 };
		char own[64], theirs[64];
		ssize_t n, m;

		snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
		n = readlink(path, theirs, sizeof(theirs));
		m = readlink("/proc/self/ns/user", own, sizeof(own));
		if (n > 0 && (n != m || memcmp(own, theirs, (size_t)n) != 0))
			break;
		nanosleep(&moment, NULL);
	}
	put_map(pid, "setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", geteuid());
	put_map(pid, "uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", getegid());
	put_map(pid, "gid_map", map);
	close(sync[1]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void set_limit(const char *name, unsigned n)
{
	char path[128];
	FILE *f;

	/* Unlike fs.inotify, the namespace's own. */
	snprintf(path, sizeof(path), "/proc/sys/user/max_inotify_%s", name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_gt(fprintf(f, "%u", n), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static int without_watches(void)
{
	char name[32], path[32];
	int rc = 0, n = 0;
	struct tree_watch *w, *other;

	set_limit("watches", 20);
	set_limit("instances", 2);
	w = watch;
	watch = tree_watch_new(&loop, ROOTS, on_change, &loop);
	ck_assert_ptr_nonnull(watch);
	tree_dir("root");
	root_watch(0, "root");
	while (rc == 0 && n < 100) {
		snprintf(name, sizeof(name), "root/%d", n);
		snprintf(path, sizeof(path), "/%d/", n++);
		tree_dir(name);
		rc = dir_watch(0, path, name);
	}
	ck_assert_int_eq(rc, -ENOSPC);
	ck_assert_int_eq(dir_watch(0, path, name), -ENOSPC);
	/* Those that there are go on; and what was forgotten makes room at once. */
	forget_told();
	tree_text("root/0/f", "");
	expect("0/0/f", NULL);
	tree_watch_forget(watch, 0, "/0/");
	ck_assert_int_eq(dir_watch(0, path, name), 0);
	other = tree_watch_new(&loop, ROOTS, on_change, &loop);
	ck_assert_ptr_nonnull(other);
	errno = 0;
	ck_assert_ptr_null(tree_watch_new(&loop, ROOTS, on_change, &loop));
	ck_assert_int_eq(errno, EMFILE);
	tree_watch_free(&other);
	tree_watch_free(&watch);
	watch = w;
	return 0;
}

static int mounted(void)
{
	tree_dir("mount");
	ck_assert_int_eq(mount("none", tree_path("mount"), "tmpfs", 0, NULL), 0);
	tree_dir("mount/top");
	tree_dir("mount/top/a");
	root_watch(0, "mount/top");
	ck_assert_int_eq(dir_watch(0, "/", "mount/top"), 0);
	ck_assert_int_eq(dir_watch(0, "/a/", "mount/top/a"), 0);
	forget_told();
	tree_text("mount/top/a/f", "");
	expect("0/a/f", NULL);
	ck_assert_int_eq(umount(tree_path("mount")), 0);
	tree_watch_read(watch);
	ck_assert(was_told(TREE_DIR, 0, "/a/"));
	ck_assert_uint_eq(tree_watch_count(watch), 0);
	return 0;
}

TEST(unmount)
{
	int rc = in_namespace(mounted);

	if (rc == 77)
		return;
	ck_assert_int_eq(rc, 0);
}

TEST(limits)
{
	int rc = in_namespace(without_watches);

	if (rc == 77)
		return;
	ck_assert_int_eq(rc, 0);
}

/* Each directory is found by what it is called, not by looking at all of them. */
TEST(many_directories)
{
	enum { MANY = 20000, PER = 100 };
	char name[64], path[64];

	tree_dir("root");
	root_watch(0, "root");
	ck_assert_int_eq(dir_watch(0, "/", "root"), 0);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "root/%d", i / PER);
		if (i % PER == 0)
			tree_dir(name);
		snprintf(name, sizeof(name), "root/%d/%d", i / PER, i);
		tree_dir(name);
	}
	forget_told();
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "root/%d", i / PER);
		snprintf(path, sizeof(path), "/%d/", i / PER);
		if (i % PER == 0)
			ck_assert_int_eq(dir_watch(0, path, name), 0);
		snprintf(name, sizeof(name), "root/%d/%d", i / PER, i);
		snprintf(path, sizeof(path), "/%d/%d/", i / PER, i);
		ck_assert_int_eq(dir_watch(0, path, name), 0);
	}
	ck_assert_uint_eq(tree_watch_count(watch), MANY + MANY / PER + 1);
	tree_text("root/199/19999/f", "");
	expect("0/199/19999/f", NULL);
}
