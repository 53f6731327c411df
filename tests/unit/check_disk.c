/* check_disk: files read in pieces, and what happens to them and to their requests meanwhile. */
#include <sys/resource.h>

#include "files_unit.h"
#include "states_unit.h"
#include "unit.h"

enum { LARGE = 3000001 };

/* How a file is read: on the loop where that can be, by threads only, or not at all where its bytes
 * are in memory. */
enum { READ_NOW, READ_SLOW, SENDFILE, WAYS };

static void begin(int way)
{
	if (way == READ_SLOW)
		unit_be_slow();
	if (way == SENDFILE)
		unit_sendfile();
}

static struct h2d_req *get(const char *path)
{
	return unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, path, NULL, NULL);
}

TEST_EACH(all_sizes, WAYS)
{
	/* Around the sizes of buffers, of what is hashed, and nothing at all. */
	static const size_t sizes[] = { 0, 1, DISK_SMALL - 1, DISK_SMALL, DISK_SMALL + 1,
		DISK_LARGE - 1, DISK_LARGE, DISK_LARGE + 1, 1 << 20, (1 << 20) + 1, LARGE };

	begin(_i);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *data = tree_bytes(sizes[i], 3);
		struct h2d_req *req;
		char path[32];

		snprintf(path, sizeof(path), "/f%zu", sizes[i]);
		tree_write(path, data, sizes[i]);
		for (int times = 0; times < 2; times++) {
			req = get(path);
			unit_wait(req);
			ck_assert_int_eq(req->reply.status, 200);
			ck_assert_int_eq(counters->files_open, 1);
			unit_expect_body(req, data, sizes[i]);
			/* That of a long one is of its size and time, which have just changed. */
			if (sizes[i] <= 1 << 20)
				ck_assert_uint_eq(
					strlen(unit_field(req, "etag")), ETAG_CONTENT_LEN);
			else
				ck_assert(strncmp(unit_field(req, "etag"), "W/\"", 3) == 0);
			unit_end(req);
		}
		free(data);
	}
	unit_settle();
	ck_assert_uint_eq(unit_files->disk->small.live + unit_files->disk->large.live, 0);
}

/* What happens to a file while its first piece is out, and whether the response survives it. */
static const struct {
	const char *what;
	bool survives;
} events[] = {
	{ "shrinks", false },
	{ "is edited", false },
	{ "grows", true },
	{ "is replaced", true },
	{ "vanishes", true },
	{ "gets a mode", true },
	{ "grows in the middle of a write", true },
	{ "is written anew, longer", false },
	{ "grows and is edited behind that", false },
};

enum { IN_A_WRITE = 6, TWO_CHANGES = 8, EVENTS = sizeof(events) / sizeof(events[0]) };

static pthread_t writer;
static bool enough;

/* An append of n bytes. */
static void grow(size_t n)
{
	char *more = tree_bytes(n, 9);
	int fd = open(tree_path("f"), O_WRONLY | O_APPEND | O_CLOEXEC);

	ck_assert_int_eq(write(fd, more, n), (ssize_t)n);
	close(fd);
	free(more);
}

/* Again and again, so that some of it is always under way. */
static void *keep_writing(void *arg)
{
	static const char some[1 << 20];
	int fd = open(tree_path("f"), O_WRONLY | O_APPEND | O_CLOEXEC);

	for (int i = 0; i < 200 && !__atomic_load_n(&enough, __ATOMIC_RELAXED); i++)
		if (write(fd, some, sizeof(some)) < 0)
			break;
	close(fd);
	return arg;
}

static void edit(off_t at)
{
	int fd = open(tree_path("f"), O_WRONLY | O_CLOEXEC);

	ck_assert_int_eq(pwrite(fd, "xyz", 3, at), 3);
	close(fd);
}

static void happen(int event, const char *data)
{
	char *other;

	switch (event) {
	case 0:
		ck_assert_int_eq(truncate(tree_path("f"), LARGE / 2), 0);
		break;
	case 1:
		edit(LARGE - 100);
		break;
	case 2:
		grow(3);
		break;
	case 3:
		tree_write("new", data, 100);
		ck_assert_int_eq(rename(tree_path("new"), tree_path("f")), 0);
		break;
	case 4:
		ck_assert_int_eq(unlink(tree_path("f")), 0);
		break;
	case 5:
		ck_assert_int_eq(chmod(tree_path("f"), 0600), 0);
		break;
	case 6:
		ck_assert_int_eq(pthread_create(&writer, NULL, keep_writing, NULL), 0);
		break;
	case 7:
		other = tree_bytes(LARGE + 1000, 1 << 20);
		tree_write("f", other, LARGE + 1000);
		free(other);
		break;
	default:
		grow(3);
		tree_date("f", 784111778);
	}
}

TEST_EACH(changes_meanwhile, EVENTS *WAYS)
{
	int event = _i / WAYS;
	char *data = tree_bytes(LARGE, 4), *got = malloc(LARGE);
	struct h2d_req *req, *other;
	size_t at = 0;
	ssize_t n = 0;

	begin(_i % WAYS);
	tree_write("f", data, LARGE);
	/* An edit is seen by its time: not within the tick of the file system's clock. */
	tree_date("f", 784111777);
	tree_text("other", "fine");
	req = get("/f");
	unit_wait(req);
	n = unit_read(req, got, 1000);
	ck_assert_int_eq(n, 1000);
	happen(event, data);
	other = get("/other");
	for (at = 1000; at < LARGE; at += (size_t)n) {
		if (event == TWO_CHANGES && at > LARGE / 2)
			edit(LARGE - 100);
		n = unit_read(req, got + at, LARGE);
		if (n < 0)
			break;
	}
	if (event == IN_A_WRITE) {
		__atomic_store_n(&enough, true, __ATOMIC_RELAXED);
		pthread_join(writer, NULL);
	}
	ck_assert_msg(
		(n != UNIT_FAILED) == events[event].survives, "a file that %s", events[event].what);
	ck_assert_mem_eq(got, data, at);
	unit_end(req);
	unit_wait(other);
	unit_expect_body(other, "fine", 4);
	unit_end(other);
	free(data);
	free(got);
}

/* Behind its answer, in front of its first byte. A long file that nobody could take a sample of has
 * a weak entity tag: nothing was promised. */
static void change_before_its_first_byte(int way, size_t n)
{
	char *data = tree_bytes(n, 4), *other = tree_bytes(n + 1, 1 << 20), byte;
	struct h2d_req *req;

	for (int anew = 0; anew < 2; anew++) {
		tree_write("f", data, n);
		tree_date("f", 784111777);
		req = get("/f");
		unit_wait(req);
		if (anew)
			tree_write("f", other, n + 1);
		else
			grow(3);
		if (!anew)
			unit_expect_body(req, data, n);
		else if (n != LARGE || way != READ_SLOW)
			ck_assert_int_eq(unit_read(req, &byte, 1), UNIT_FAILED);
		unit_end(req);
	}
	free(data);
	free(other);
}

TEST_EACH(changes_before_its_first_byte, WAYS)
{
	begin(_i);
	change_before_its_first_byte(_i, 200000);
	change_before_its_first_byte(_i, LARGE);
}

/* A request goes away at every step; what its thread comes back with is let go. */
TEST(goes_away)
{
	char *data = tree_bytes(LARGE, 5);
	struct h2d_req *req;
	char byte;

	begin(true);
	tree_write("large", data, LARGE);
	tree_write("small", data, 200000);
	free(data);

	req = get("/large"); /* opening */
	ck_assert(!req->reply.ready);
	unit_end(req);
	unit_settle();

	req = get("/missing");
	unit_end(req);
	unit_settle();

	req = get("/small"); /* hashing */
	while (counters->files_open == 0)
		ck_assert_int_eq(loop_turn(&unit_loop, 1000), 0);
	unit_end(req);
	unit_settle();

	req = get("/large"); /* reading */
	unit_wait(req);
	((struct disk_file *)req->reply.body.src)->kind = BENEATH_REMOTE;
	ck_assert_int_eq(req->reply.body.ops->ready(&req->reply.body, 100), BODY_LATER);
	unit_end(req); /* a thread has it, or it is taken off the line */
	ck_assert_int_le(counters->files_open, 1);
	unit_settle();
	ck_assert_int_eq(counters->files_open, 0);

	req = get("/large"); /* in the middle */
	unit_wait(req);
	ck_assert_int_eq(unit_read(req, &byte, 1), 1);
	unit_end(req);

	req = get("/large"); /* unit_stop(): opening when the files go */
	unit_end(req);
}

TEST(remembers_hashes)
{
	struct h2d_req *req;

	tree_text("f", "some text");
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/f"), 200);
	ck_assert_uint_eq(counters->files_hashed, 1);
	req = get("/f");
	/* Without a thread. */
	ck_assert(req->reply.ready);
	ck_assert_uint_eq(strlen(unit_field(req, "etag")), ETAG_CONTENT_LEN);
	unit_expect_body(req, "some text", 9);
	unit_end(req);
	tree_text("f", "different");
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/f"), 200);
	ck_assert_uint_eq(counters->files_hashed, 2);
}

/* Descriptors run out: 503, and all is well afterwards. */
TEST_EACH(no_descriptors, 2)
{
	struct rlimit limit, few;
	struct h2d_req *req;

	begin(_i);
	tree_text("f", "x");
	/* What it takes to start threads is there. */
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/f"), 200);
	unit_settle();
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	few.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	req = get("/f");
	unit_wait(req);
	ck_assert_int_eq(req->reply.status, 503);
	unit_end(req);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(unit_status(H2D_DOCUMENT_ROOT, "/f"), 200);
}

TEST(classifies)
{
	int fd = open("/proc", O_PATH | O_CLOEXEC);

	ck_assert_int_eq(beneath_kind(fd), BENEATH_REMOTE);
	close(fd);
	fd = open("/dev/shm", O_PATH | O_CLOEXEC);
	if (fd >= 0)
		ck_assert_int_eq(beneath_kind(fd), BENEATH_MEMORY);
	close(fd);
}

/* Many slow readers of large files do not get large buffers without end. */
TEST(bounded)
{
	enum { READERS = DISK_LARGE_MAX + 20 };
	char *data = tree_bytes(LARGE, 6);
	static char some[DISK_EXACT];
	struct h2d_req *reqs[READERS];

	tree_write("f", data, LARGE);
	free(data);
	for (int i = 0; i < READERS; i++) {
		reqs[i] = get("/f");
		unit_wait(reqs[i]);
		ck_assert_int_eq(unit_read(reqs[i], some, sizeof(some)), sizeof(some));
	}
	ck_assert_uint_eq(unit_files->disk->large.live, DISK_LARGE_MAX);
	ck_assert_uint_eq(unit_files->disk->small.live, 20);
	ck_assert_int_eq(counters->files_open, READERS);
	for (int i = 0; i < READERS; i++)
		unit_end(reqs[i]);
	ck_assert_int_eq(counters->files_open, 0);
}

/* --- places ----------------------------------------------------------------------------------- */

/* Two responses with one place between them: each piece takes it from the other. */
TEST_EACH(place_is_shared, WAYS)
{
	char *data = tree_bytes(LARGE, 4), *got = malloc(LARGE);
	struct h2d_req *reqs[2];
	size_t at[2] = { 0, 0 };

	begin(_i);
	places_limit(&unit_files->disk->places, 1);
	tree_write("f0", data, LARGE);
	tree_write("f1", data, LARGE);
	for (unsigned i = 0; i < 2; i++) {
		reqs[i] = get(i == 0 ? "/f0" : "/f1");
		unit_wait(reqs[i]);
		ck_assert_int_eq(reqs[i]->reply.status, 200);
		ck_assert_int_eq(unit_read(reqs[i], got, 1000), 1000);
		at[i] = 1000;
	}
	while (at[0] < LARGE || at[1] < LARGE)
		for (unsigned i = 0; i < 2; i++) {
			ssize_t n = at[i] < LARGE ? unit_read(reqs[i], got, LARGE) : 0;

			ck_assert_int_ge(n, 0);
			ck_assert_mem_eq(got, data + at[i], (size_t)n);
			at[i] += (size_t)n;
			ck_assert_uint_eq(places_held(&unit_files->disk->places), 1);
			ck_assert_int_le(counters->files_open, 1);
		}
	ck_assert_uint_ge(counters->limit_files, _i == SENDFILE ? 5 : 10);
	for (unsigned i = 0; i < 2; i++)
		unit_end(reqs[i]);
	free(data);
	free(got);
}

/* While its place was another's: a response goes on where the name leads to what it has begun with.
 */
TEST_EACH(taken_back_meanwhile, IN_A_WRITE *WAYS)
{
	int event = _i / WAYS;
	/* 3, 4: its name leads elsewhere. */
	bool survives = events[event].survives && event != 3 && event != 4;
	char *data = tree_bytes(LARGE, 4), *got = malloc(LARGE);
	struct h2d_req *req, *other;
	ssize_t n = 0;

	begin(_i % WAYS);
	places_limit(&unit_files->disk->places, 1);
	tree_write("f", data, LARGE);
	tree_date("f", 784111777);
	tree_text("other", "fine");
	req = get("/f");
	unit_wait(req);
	ck_assert_int_eq(unit_read(req, got, 1000), 1000);
	req->reply.body.ops->rest(&req->reply.body);
	other = get("/other");
	unit_wait(other);
	unit_expect_body(other, "fine", 4);
	happen(event, data);
	for (size_t at = 1000; at < LARGE; at += (size_t)n) {
		n = unit_read(req, got + at, LARGE);
		if (n < 0)
			break;
		ck_assert_mem_eq(got + at, data + at, (size_t)n);
	}
	ck_assert_msg((n != UNIT_FAILED) == survives, "a file that %s", events[event].what);
	unit_end(req);
	unit_end(other);
	free(data);
	free(got);
}

static bool stands; /* the clock does */

void __real_clock_update(void);
void __wrap_clock_update(void);

void __wrap_clock_update(void)
{
	if (!stands)
		__real_clock_update();
}

/* Nobody takes its place in front of its first byte, so its file may be replaced then. */
TEST_EACH(keeps_its_place_until_it_is_read, 2)
{
	struct h2d_req *req, *other;

	begin(_i);
	places_limit(&unit_files->disk->places, 1);
	tree_text("f", "some text");
	tree_text("other", "fine");
	req = get("/f");
	unit_wait(req);
	stands = true;
	other = get("/other");
	unit_settle();
	tree_text("new", "another text");
	ck_assert_int_eq(rename(tree_path("new"), tree_path("f")), 0);
	unit_expect_body(req, "some text", 9);
	unit_wait(other);
	unit_expect_body(other, "fine", 4);
	unit_end(req);
	unit_end(other);
}

static void granted(struct place *p)
{
}

/* It is found out without a place what a file is, and that there is none. */
TEST_EACH(looked_at_without_a_place, 2)
{
	struct places *places = &unit_files->disk->places;
	struct place upload = { .upload = true, .granted = granted };
	struct h2d_req *req;
	char etag[100];

	begin(_i);
	places_limit(&unit_files->disk->places, 1);
	tree_text("f", "some text");
	ck_assert(places_take(places, NULL, NULL, &upload));
	req = get("/none");
	unit_wait(req);
	ck_assert_int_eq(req->reply.status, 404);
	unit_end(req);
	req = unit_ask(H2D_HEAD, H2D_DOCUMENT_ROOT, "/f", NULL, NULL);
	unit_wait(req);
	ck_assert_int_eq(req->reply.status, 200);
	ck_assert_str_eq(unit_field(req, "content-length"), "9");
	snprintf(etag, sizeof(etag), "%s", unit_field(req, "etag"));
	ck_assert_uint_eq(strlen(etag), ETAG_CONTENT_LEN);
	unit_end(req);
	req = unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, "/f", "if-none-match", etag);
	unit_wait(req);
	ck_assert_int_eq(req->reply.status, 304);
	unit_end(req);
	ck_assert_int_eq(counters->files_open, 0);
	req = get("/f");
	unit_settle();
	ck_assert(!req->reply.ready);
	places_leave(places, &upload);
	places_give(places, &upload);
	unit_wait(req);
	unit_expect_body(req, "some text", 9);
	unit_end(req);
}

TEST(states)
{
	states_unit_walk(&disk_states,
		"NEW>OPEN NEW>OVER "
		"OPEN>OPEN OPEN>TAG OPEN>LINE OPEN>SEND OPEN>AWAY OPEN>OVER "
		"TAG>OPEN TAG>LINE TAG>SEND TAG>AWAY TAG>OVER "
		"LINE>OPEN LINE>OVER "
		"SEND>READ SEND>CLOSE SEND>AWAY SEND>FAILED SEND>OVER "
		"READ>SEND READ>FAILED READ>OVER "
		"CLOSE>AWAY CLOSE>OVER "
		"AWAY>TURN AWAY>REOPEN AWAY>SEND AWAY>OVER "
		"TURN>REOPEN TURN>SEND TURN>OVER "
		"REOPEN>SEND REOPEN>FAILED REOPEN>OVER "
		"FAILED>OVER",
		NULL);
}
