/* check_store: what an upload does on the disk, with and without files that have no name. */
#include <dirent.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/vfs.h>

#include "request/body.h"
#include "states_unit.h"
#include "store/store.h"
#include "tree_unit.h"
#include "unit.h"

static int root = -1;
static struct store_work w;
static const struct store_plan *plan;

/* no_tmpfile: as where the file system cannot. */
static void begin(const char *name, bool no_tmpfile)
{
	memset(&w, 0, sizeof(w));
	plan = &store_whole;
	w.at = (struct store_dir){ .fd = -1, .lock = -1 };
	w.root = root;
	w.dir = "/up";
	w.folder = "";
	w.name = name;
	w.overwrite = true;
	w.max_file_size = 1 << 20;
	w.quota.fd = -1;
	w.length = BODY_UNKNOWN;
	w.at.no_tmpfile = no_tmpfile;
}

/* Takes a step of the plan: 0, the status of the error that refuses it, or -errno. */
static int step(enum store_state state)
{
	int rc = state == STORE_BEGIN ? store_work_open(&w) : 0;
	struct store_result r = rc == 0 ? plan->steps[state].run(&w) : store_errno(rc);

	return r.err != NULL ? r.err->status : -r.error;
}

/* Takes a step with that text as the next piece of the body. */
static int take(enum store_state state, const char *text)
{
	size_t n = strlen(text);
	int rc;

	w.pieces = calloc(1, sizeof(*w.pieces) + n);
	w.pieces->n = n;
	memcpy(w.pieces->bytes, text, n);
	rc = step(state);
	free(w.pieces);
	w.pieces = NULL;
	return rc;
}

static int store(const char *text)
{
	int rc = step(STORE_BEGIN);

	if (rc == 0)
		rc = take(STORE_SEAL, text);
	return rc == 0 && plan == &store_form ? step(STORE_PLACE) : rc;
}

static void end(void)
{
	if (w.part != NULL)
		store_part_close(&w);
	store_work_close(&w);
	store_work_free_replaced(&w);
	store_work_free(&w);
}

static unsigned entries(void)
{
	DIR *dir = opendir(tree_path("up"));
	unsigned n = 0;

	ck_assert_ptr_nonnull(dir);
	for (const struct dirent *e; (e = readdir(dir)) != NULL;)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
		     strcmp(e->d_name, ".h2d-lock") != 0;
	closedir(dir);
	return n;
}

static bool holds(const char *name, const char *text)
{
	char path[64], buf[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "up/%s", name);
	fd = open(tree_path(path), O_RDONLY);
	if (fd < 0)
		return false;
	n = read(fd, buf, sizeof(buf));
	close(fd);
	return n == (ssize_t)strlen(text) && memcmp(buf, text, (size_t)n) == 0;
}

/* Bytes that were lost on the way here, or are too many, are no file. _i: how the body is sent. */
TEST_EACH(not_the_length_that_was_said, 3)
{
	static const char form[] =
		"--b\r\ncontent-disposition: form-data; name=f; filename=a\r\n\r\n"
		"one\r\n--b--";

	begin("a", false);
	w.length = _i == 0 ? 4 : _i == 1 ? 2 : sizeof(form);
	if (_i == 2) {
		w.form = calloc(1, sizeof(*w.form));
		ck_assert_ptr_null(multipart_init(
			w.form, SLICE("multipart/form-data; boundary=b"), STORE_FORM_PARTS));
		plan = &store_form;
	}
	ck_assert_int_eq(store(_i == 2 ? form : "one"), 500);
	end();
	ck_assert_uint_eq(entries(), 0);
}

/* _i: whether names are needed from the start. */
TEST_EACH(new_and_replaced, 2)
{
	begin("a", _i);
	ck_assert_int_eq(store("one"), 0);
	ck_assert(w.files[0]->created);
	end();
	ck_assert(holds("a", "one"));
	begin("a", _i);
	ck_assert_int_eq(store("another"), 0);
	ck_assert(!w.files[0]->created);
	end();
	ck_assert(holds("a", "another"));
	begin("a", _i);
	w.overwrite = false;
	ck_assert_int_eq(store("third"), 409);
	end();
	ck_assert(holds("a", "another"));
	ck_assert_uint_eq(entries(), 1);
}

/* To free a long file takes a while, which is not the client's: it goes with the second call. */
TEST_EACH(replaced_and_long, 2)
{
	int fd;
	struct stat st;

	tree_write("up/a", "short", 5);
	begin("a", _i);
	ck_assert_int_eq(store("long"), 0);
	store_work_close(&w);
	ck_assert(!store_work_is_open(&w));
	end();
	ck_assert_int_eq(truncate(tree_path("up/a"), 100 << 20), 0);
	begin("a", _i);
	ck_assert_int_eq(store("other"), 0);
	fd = w.files[0]->replaced;
	store_work_close(&w);
	ck_assert(store_work_is_open(&w));
	ck_assert(fstat(fd, &st) == 0 && st.st_size == 100 << 20 && st.st_nlink == 0);
	store_work_free_replaced(&w);
	ck_assert(fstat(fd, &st) < 0);
	ck_assert(!store_work_is_open(&w));
	end();
	ck_assert(holds("a", "other"));
}

/* Somebody who takes no lock made the name between the look and the link. */
TEST_EACH(made_by_others, 2)
{
	begin("a", _i);
	w.overwrite = false;
	ck_assert_int_eq(step(STORE_BEGIN), 0);
	ck_assert_int_eq(take(STORE_TAKE, "ours"), 0);
	tree_write("up/a", "theirs", 6);
	ck_assert_int_eq(store_file_place(w.files[0], &w.at, false), -EEXIST);
	end();
	ck_assert(holds("a", "theirs"));
	ck_assert_uint_eq(entries(), 1);
}

TEST_EACH(given_up, 2)
{
	begin("a", _i);
	ck_assert_int_eq(step(STORE_BEGIN), 0);
	ck_assert_int_eq(take(STORE_TAKE, "begun"), 0);
	ck_assert_uint_eq(entries(), (unsigned)_i);
	end();
	ck_assert_uint_eq(entries(), 0);
}

/* The names of an upload that lives stay, those of one that died go. */
TEST(swept)
{
	struct store_dir d = { .fd = -1, .lock = -1 };

	begin("a", true);
	ck_assert_int_eq(step(STORE_BEGIN), 0);
	ck_assert_int_eq(store_dir_open(&d, root, "/up"), 0);
	ck_assert_int_eq(store_dir_sweep(&d), 0);
	ck_assert_uint_eq(entries(), 1);
	/* Its process dies: the descriptors go, and nobody removes the name. */
	close(w.files[0]->fd);
	store_dir_close(&w.at);
	w.files[0]->fd = -1;
	w.files[0]->hidden[0] = '\0';
	ck_assert_int_eq(store_dir_sweep(&d), 1);
	ck_assert_uint_eq(entries(), 0);
	store_dir_close(&d);
	end();
}

/* Another worker sweeps whenever a hidden name is to become a file's. */
static bool sweeps;
int __real_renameat(int from, const char *old, int to, const char *name);
int __wrap_renameat(int from, const char *old, int to, const char *name);
int __wrap_renameat(int from, const char *old, int to, const char *name)
{
	struct store_dir d = { .fd = -1, .lock = -1 };

	if (sweeps) {
		ck_assert_int_eq(store_dir_open(&d, root, "/up"), 0);
		ck_assert_int_eq(store_dir_sweep(&d), 0);
		store_dir_close(&d);
	}
	return __real_renameat(from, old, to, name);
}

/* The second file's hidden name is there when the first one's, which was locked, is not any more.
 */
TEST(swept_while_it_is_placed)
{
	static const char part[] = "--b\r\ncontent-disposition: form-data; name=f; filename=%s\r\n"
				   "\r\n%s\r\n%s";
	char second[128], both[256];

	snprintf(second, sizeof(second), part, "b", "new b", "--b--\r\n");
	snprintf(both, sizeof(both), part, "a", "new a", second);
	tree_write("up/a", "old a", 5);
	tree_write("up/b", "old b", 5);
	begin(NULL, false);
	plan = &store_form;
	w.form = calloc(1, sizeof(*w.form));
	ck_assert_ptr_null(multipart_init(w.form, SLICE("multipart/form-data; boundary=b"), 2));
	sweeps = true;
	ck_assert_int_eq(store(both), 0);
	end();
	ck_assert(holds("a", "new a"));
	ck_assert(holds("b", "new b"));
	ck_assert_uint_eq(entries(), 2);
}

/* The name stands for the new bytes, and a power cut may undo that: nothing else is to be said. */
static bool fsync_fails;
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	if (!fsync_fails || fd != w.at.fd)
		return __real_fsync(fd);
	errno = EIO;
	return -1;
}

TEST_EACH(folder_is_not_synced, 2)
{
	fsync_fails = true;
	begin("a", _i);
	ck_assert_int_eq(store("one"), -EIO);
	ck_assert(w.changed);
	end();
	ck_assert(holds("a", "one"));
	begin("a", _i);
	w.overwrite = false;
	ck_assert_int_eq(store("two"), 409);
	ck_assert(!w.changed);
	end();
	begin("a", _i);
	plan = &store_remove;
	ck_assert_int_eq(step(STORE_BEGIN), -EIO);
	ck_assert(w.changed);
	end();
	ck_assert_uint_eq(entries(), 0);
}

TEST(locked)
{
	struct store_dir d = { .fd = -1, .lock = -1 };
	struct stat st;
	int fd;

	begin("a", false);
	ck_assert_int_eq(step(STORE_BEGIN), 0);
	ck_assert_int_eq(store_dir_open(&d, root, "/up"), 0);
	/* Whoever may read the folder can do that. */
	ck_assert_int_eq(flock(d.fd, LOCK_EX | LOCK_NB), 0);
	ck_assert_int_eq(store_dir_lock(&w.at, NULL), 0);
	ck_assert_int_eq(stat(tree_path("up/.h2d-lock"), &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	fd = open(tree_path("up/.h2d-lock"), O_RDWR);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), -1);
	store_dir_unlock(&w.at);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	close(fd);
	store_dir_close(&d);
	end();
}

/* Whether the file system is one that other machines write to. */
static bool is_shared;
int __real_fstatfs(int fd, struct statfs *fs);
int __wrap_fstatfs(int fd, struct statfs *fs);
int __wrap_fstatfs(int fd, struct statfs *fs)
{
	int rc = __real_fstatfs(fd, fs);

	if (is_shared)
		fs->f_type = NFS_SUPER_MAGIC;
	return rc;
}

/* The lock is that of a file, and what is replaced is not open while it loses its name: a client of
 * NFS would rename it first. */
TEST_EACH(shared, 2)
{
	int fd;

	is_shared = true;
	tree_write("up/a", "", 0);
	ck_assert_int_eq(truncate(tree_path("up/a"), 100 << 20), 0);
	begin("a", _i);
	ck_assert_int_eq(store("other"), 0);
	ck_assert_int_eq(w.files[0]->replaced, -1);
	end();
	ck_assert(holds("a", "other"));
	ck_assert_uint_eq(entries(), 1);
	fd = open(tree_path("up/.h2d-lock"), O_RDWR);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	begin("a", _i);
	ck_assert_int_eq(store("late"), -EAGAIN);
	end();
	ck_assert(holds("a", "other"));
	close(fd);
	is_shared = false;
}

/* What the disk was told to begin with. */
static uint64_t sent_off;
int __wrap_sync_file_range(int fd, off_t at, off_t n, unsigned flags);
int __wrap_sync_file_range(int fd, off_t at, off_t n, unsigned flags)
{
	ck_assert_int_eq(fd, w.files[0]->fd);
	ck_assert_uint_eq((uint64_t)at, sent_off);
	ck_assert_uint_eq(flags, SYNC_FILE_RANGE_WRITE);
	sent_off += (uint64_t)n;
	return 0;
}

/* The disk is at work before the body has its end, and each byte is its own once. */
TEST(sent_off_early)
{
	static char text[(1 << 20) + 1];

	memset(text, 'x', sizeof(text) - 1);
	begin("a", false);
	ck_assert_int_eq(step(STORE_BEGIN), 0);
	for (unsigned i = 0; i < 7; i++)
		ck_assert_int_eq(take(STORE_TAKE, text), 0);
	ck_assert_uint_eq(sent_off, 0);
	for (unsigned i = 0; i < 20; i++)
		ck_assert_int_eq(take(STORE_TAKE, text), 0);
	ck_assert_uint_eq(sent_off, 24 << 20);
	end();
}

static void begin_part(const struct job *job)
{
	begin("a", false);
	w.job = job;
	w.part = calloc(1, sizeof(*w.part));
	ck_assert_ptr_nonnull(w.part);
	plan = &store_resumable;
	*w.part = (struct store_part){ .last = true,
		.length = BODY_UNKNOWN,
		.max = UINT64_MAX,
		.user = "",
		.path = "a",
		.ticket = { .fd = -1 } };
	ck_assert_int_eq(step(STORE_BEGIN), 0);
}

/* A part of which bytes were lost is not appended. */
TEST(part_of_another_length)
{
	begin_part(NULL);
	w.length = 4;
	ck_assert_int_eq(take(STORE_SEAL, "one"), 500);
	end();
	ck_assert_uint_eq(entries(), 0);
}

/* A client's end finds a job that has not got the lock yet: what the client sent stays. */
TEST(kept_for_who_has_gone)
{
	struct job job = { .cancelled = false };
	char part[STORE_HIDDEN_NAME], path[STORE_HIDDEN_NAME + 8];
	struct stat st;

	begin_part(&job);
	store_dir_token_name(w.part->ticket.token, STORE_DIR_PART, part);
	snprintf(path, sizeof(path), "up/%s", part);
	ck_assert_int_eq(take(STORE_TAKE, "one"), 0);
	job.cancelled = true;
	ck_assert_int_eq(take(STORE_TAKE, "more"), 0);
	end();
	ck_assert_int_eq(stat(tree_path(path), &st), 0);
	ck_assert_int_eq(st.st_size, 7);
}

static unsigned go(unsigned from, unsigned to)
{
	struct store s = { .state = from };

	store_go(&s, to);
	return s.state;
}

TEST(states)
{
	states_unit_walk(&store_states,
		"GATE>LINE GATE>ANSWER GATE>OVER LINE>BEGIN LINE>ANSWER LINE>OVER "
		"BEGIN>BODY BEGIN>TELL BEGIN>ANSWER BEGIN>KEEP BEGIN>DROP BEGIN>OVER "
		"BODY>TAKE BODY>SEAL BODY>ANSWER BODY>KEEP BODY>DROP "
		"TAKE>BODY TAKE>ANSWER TAKE>KEEP TAKE>DROP TAKE>OVER "
		"SEAL>READ SEAL>FILES SEAL>TELL SEAL>ANSWER SEAL>KEEP SEAL>DROP SEAL>OVER "
		"READ>READ READ>TELL READ>ANSWER READ>DROP READ>OVER "
		"FILES>PLACE FILES>ANSWER FILES>DROP "
		"PLACE>TELL PLACE>ANSWER PLACE>DROP PLACE>OVER "
		"TELL>ANSWER TELL>DROP TELL>OVER ANSWER>DROP ANSWER>OVER "
		"KEEP>OVER DROP>OVER",
		go);
}

/* A state in which a thread has the upload is one with a step; each but the last has a sequel. */
TEST_EACH(plans, 6)
{
	static const struct store_plan *const all[] = { &store_whole, &store_form, &store_resumable,
		&store_look, &store_cancel, &store_remove };
	const unsigned threads = 1u << STORE_BEGIN | 1u << STORE_TAKE | 1u << STORE_SEAL |
				 1u << STORE_READ | 1u << STORE_PLACE | 1u << STORE_KEEP;

	ck_assert_ptr_nonnull(all[_i]->steps[STORE_BEGIN].run);
	for (unsigned state = 0; state < STORE_STATES; state++) {
		bool step = all[_i]->steps[state].run != NULL;

		ck_assert(!step || threads & 1u << state);
		ck_assert((all[_i]->steps[state].then != NULL) == (step && state != STORE_KEEP));
	}
}

UNIT_SETUP(setup)
{
	tree_dir("up");
	root = open(tree, O_PATH | O_DIRECTORY);
	ck_assert_int_ge(root, 0);
}

UNIT_TEARDOWN(teardown)
{
	close(root);
}
