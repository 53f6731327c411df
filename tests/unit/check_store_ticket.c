/* check_store_ticket: what is kept of a resumable upload, whose it is, and when it goes. */
#include "store/store_quota.h"
#include "store/store_ticket.h"

#include <dirent.h>
#include <sys/resource.h>
#include <time.h>

#include "request/body.h"
#include "tree_unit.h"
#include "unit.h"

static int root = -1, part = -1;
static struct store_dir dir;
static struct store_ticket first, second;
static uint64_t size;

static const struct field fields[] = {
	{ SLICE_LIT("if-match"), SLICE_LIT("\"a\"") },
	{ SLICE_LIT("repr-digest"), SLICE_LIT("") },
};

static const char *path_of(const char *token, enum store_dir_kind kind)
{
	char name[STORE_HIDDEN_NAME];
	static char path[64 + STORE_HIDDEN_NAME];

	store_dir_token_name(token, kind, name);
	snprintf(path, sizeof(path), "up/%s", name);
	return tree_path(path);
}

/* 0, the status of an error, or -errno. */
static int code(struct store_result r)
{
	return r.err != NULL ? r.err->status : -r.error;
}

static int open_second(void)
{
	store_ticket_close(&second);
	second.fd = -1;
	memcpy(second.token, first.token, sizeof(second.token));
	return code(store_ticket_open(&second, &dir));
}

static void age(enum store_dir_kind kind, time_t seconds)
{
	const struct timespec then[2] = { { .tv_sec = time(NULL) - seconds },
		{ .tv_sec = time(NULL) - seconds } };

	ck_assert_int_eq(utimensat(AT_FDCWD, path_of(first.token, kind), then, 0), 0);
}

TEST(kept)
{
	ck_assert_int_eq(open_second(), 0);
	ck_assert_str_eq(second.name, "name");
	ck_assert_str_eq(second.user, "user");
	ck_assert_uint_eq(second.nfields, 2);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert(slice_eq(second.fields[i].name, fields[i].name));
		ck_assert(slice_eq(second.fields[i].value, fields[i].value));
	}
	ck_assert_uint_eq(second.head.length, 77);
	ck_assert_uint_eq(second.head.stage, STORE_TICKET_OPEN);
}

/* Who claims it has it, and who had it has not. */
TEST(claimed)
{
	ck_assert_int_eq(code(store_ticket_enter(&first)), 0);
	store_ticket_leave(&first);
	ck_assert_int_eq(open_second(), 0);
	ck_assert_int_eq(code(store_ticket_claim(&second, NULL)), 0);
	store_ticket_leave(&second);
	ck_assert_int_eq(code(store_ticket_enter(&first)), 409);
	ck_assert_int_eq(code(store_ticket_enter(&second)), 0);
	store_ticket_leave(&second);
	ck_assert_int_eq(code(store_ticket_claim(&first, NULL)), 0);
	store_ticket_leave(&first);
	ck_assert_int_eq(code(store_ticket_enter(&second)), 409);
}

TEST(removed)
{
	ck_assert_int_eq(open_second(), 0);
	ck_assert_int_eq(code(store_ticket_enter(&first)), 0);
	store_ticket_remove(&first, &dir);
	store_ticket_leave(&first);
	ck_assert_int_eq(code(store_ticket_enter(&first)), 409);
	ck_assert_int_eq(code(store_ticket_claim(&second, NULL)), 404);
	ck_assert_int_eq(store_ticket_part(&second, &dir, &size), -ENOENT);
	ck_assert_int_eq(open_second(), 404);
}

static unsigned entries(void)
{
	DIR *folder = opendir(tree_path("up"));
	unsigned n = 0;

	ck_assert_ptr_nonnull(folder);
	while (readdir(folder) != NULL)
		n++;
	closedir(folder);
	return n;
}

/* A disk that is full leaves no ticket behind, and nothing open. */
TEST(not_created)
{
	unsigned before = entries();
	struct rlimit full;

	store_ticket_close(&second);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &full), 0);
	full.rlim_cur = 8;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &full), 0);
	ck_assert_int_eq(store_ticket_create(&second, &dir, "name", "user", fields, 2, 77), -EFBIG);
	full.rlim_cur = full.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &full), 0);
	ck_assert_int_lt(second.fd, 0);
	ck_assert_uint_eq(entries(), before);
}

/* What a worker leaves that dies between a link and the end of the hidden name. */
TEST(placed_twice)
{
	ck_assert_int_eq(link(path_of(first.token, STORE_DIR_PART), tree_path("up/name")), 0);
	ck_assert_int_eq(store_ticket_part(&first, &dir, &size), -ENOENT);
	ck_assert_int_eq(access(tree_path("up/name"), F_OK), 0);
	ck_assert_int_eq(access(path_of(first.token, STORE_DIR_PART), F_OK), -1);
}

TEST(tokens)
{
	static const char *const bad[] = { "", "..", "0123456789abcdef0123456789abcde",
		"0123456789ABCDEF0123456789abcdef", "0123456789abcdef0123456789abcde/" };

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct store_ticket t = { .fd = -1 };

		strcpy(t.token, bad[i]);
		ck_assert_int_eq(code(store_ticket_open(&t, &dir)), 404);
	}
}

/* Cut anywhere, and with any byte changed, it is read as what it is, or not at all. */
TEST(damaged)
{
	char bytes[256], path[256];
	struct stat st;
	int fd;

	strcpy(path, path_of(first.token, STORE_DIR_TICKET));
	fd = open(path, O_RDWR);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_lt(st.st_size, (off_t)sizeof(bytes));
	ck_assert_int_eq(pread(fd, bytes, sizeof(bytes), 0), st.st_size);
	for (off_t i = 0; i < st.st_size; i++) {
		char other = (char)(bytes[i] ^ 0x81);

		ck_assert_int_eq(pwrite(fd, &other, 1, i), 1);
		open_second();
		ck_assert_int_eq(pwrite(fd, &bytes[i], 1, i), 1);
	}
	for (off_t n = st.st_size - 1; n >= 0; n--) {
		ck_assert_int_eq(ftruncate(fd, n), 0);
		ck_assert_int_eq(open_second(), 404);
	}
	close(fd);
}

TEST(swept)
{
	ck_assert_int_eq(store_ticket_sweep(&dir, 100), 0);
	age(STORE_DIR_TICKET, 200);
	ck_assert_int_eq(store_ticket_sweep(&dir, 100), 0);
	age(STORE_DIR_PART, 200);
	ck_assert_int_eq(store_ticket_sweep(&dir, 300), 0);
	ck_assert_int_eq(open_second(), 0);
	ck_assert_int_eq(code(store_ticket_claim(&second, NULL)), 0);
	age(STORE_DIR_TICKET, 200);
	ck_assert_int_eq(store_ticket_sweep(&dir, 100), 0);
	store_ticket_leave(&second);
	ck_assert_int_eq(store_ticket_sweep(&dir, 100), 1);
	ck_assert_int_eq(code(store_ticket_enter(&second)), 409);
	ck_assert_int_eq(open_second(), 404);
}

/* A part without a ticket is nobody's. */
TEST(orphan)
{
	ck_assert_int_eq(unlink(path_of(first.token, STORE_DIR_TICKET)), 0);
	ck_assert_int_eq(store_ticket_sweep(&dir, 100), 0);
	age(STORE_DIR_PART, 200);
	ck_assert_int_eq(store_ticket_sweep(&dir, 100), 1);
}

TEST(counted)
{
	uint64_t used;

	ck_assert_int_eq(pwrite(part, "12345", 5, 0), 5);
	tree_write("up/file", "123", 3);
	tree_write("up/.hidden", "123", 3);
	ck_assert_int_eq(store_dir_used(&dir, &used), 0);
	ck_assert_uint_eq(used, 3 * STORE_DIR_FILE);
}

/* A client has a say in how much is kept of its request. */
TEST(a_large_ticket_is_counted)
{
	char value[20000] = "";
	const struct field large = { SLICE("if-match"), slice_of(value, sizeof(value)) };
	uint64_t before, used;
	int fd;

	memset(value, 'x', sizeof(value));
	ck_assert_int_eq(store_dir_used(&dir, &before), 0);
	fd = store_ticket_create(&second, &dir, "name", "user", &large, 1, 77);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(store_dir_used(&dir, &used), 0);
	ck_assert_uint_gt(used - before, sizeof(value) + STORE_DIR_FILE);
	ck_assert_uint_eq(
		used - before, store_ticket_cost("name", "user", &large, 1) + STORE_DIR_FILE);
}

UNIT_SETUP(setup)
{
	tree_dir("up");
	root = open(tree, O_PATH | O_DIRECTORY);
	ck_assert_int_eq(store_dir_open(&dir, root, "/up"), 0);
	first.fd = second.fd = -1;
	part = store_ticket_create(&first, &dir, "name", "user", fields, 2, 77);
	ck_assert_int_ge(part, 0);
}

UNIT_TEARDOWN(teardown)
{
	store_ticket_close(&first);
	store_ticket_close(&second);
	close(part);
	store_dir_close(&dir);
	close(root);
}
