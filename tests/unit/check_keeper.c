/*
 * check_keeper: the keeper as a process of its own: it publishes, ticks,
 * compresses, starts warm, waits for those who hold images, and leaves when told.
 */
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/compress.h"
#include "image/doc_root.h"
#include "image/image.h"
#include "image/memfd.h"
#include "ipc/ctl.h"
#include "keeper/catalog.h"
#include "keeper/keeper.h"
#include "states_unit.h"
#include "tree_unit.h"
#include "unit.h"

static int ctl;
static pid_t keeper;
static struct doc_roots conf;
static int warm[IMAGE_FDS + IMAGE_SEGMENTS], nwarm; /* what the next keeper is given */

static struct cache_facts facts; /* as told last */
static struct image_head *head;  /* of the newest image; NULL: this keeper has sent none yet */

static uint64_t max_file_size; /* 0: 1 MiB */

static void start(uint64_t max_size)
{
	int fds[2];

	facts = (struct cache_facts){ .v = { [CACHE_FACT_pending] = 1 } };
	free(head);
	head = NULL;
	ck_assert_int_eq(scm_pair(fds), 0);
	ctl = fds[0];
	fflush(NULL);
	keeper = fork();
	ck_assert_int_ge(keeper, 0);
	if (keeper == 0) {
		struct doc_root root = { .root = tree, .charset = "", .precompressed = true };
		struct doc_roots files = conf;

		files.roots = &root;
		files.nroots = 1;
		files.max_file_size = max_file_size != 0 ? max_file_size : 1 << 20;
		close(fds[0]);
		_exit(keeper_run(&(struct gifts){
			.files = &files,
			.cache_size = max_size,
			.ctl = fds[1],
			.generation = 3,
			.first_image = 42,
			.image = { warm, (unsigned)nwarm },
		}));
	}
	close(fds[1]);
}

static void receive_one(struct ctl_msg *msg, int *fds, int *nfds)
{
	struct pollfd p = { .fd = ctl, .events = POLLIN };

	ck_assert_int_eq(poll(&p, 1, 30000), 1);
	ck_assert_int_eq(ctl_recv(ctl, msg, fds, nfds), 1);
	if (msg->type == CTL_CACHE)
		facts = msg->facts;
}

static int exit_status(void)
{
	int status;

	ck_assert_int_eq(waitpid(keeper, &status, 0), keeper);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST(leaves_with_the_master)
{
	start(1 << 20);
	close(ctl);
	ck_assert_int_eq(exit_status(), EXIT_SUCCESS);
}

TEST(caches_nothing_if_told_so)
{
	struct pollfd p;

	start(0);
	p = (struct pollfd){ .fd = ctl, .events = POLLIN };
	ck_assert_int_eq(ctl_send(ctl, &(struct ctl_msg){ .type = CTL_DRAIN }, NULL, 0), 0);
	ck_assert_int_eq(exit_status(), EXIT_SUCCESS);
	/* Only its end. */
	ck_assert_int_eq(poll(&p, 1, 10000), 1);
	ck_assert(p.revents & POLLHUP);
}

/* --- a worker's part -------------------------------------------------------------------------- */

static int image[CTL_FDS_MAX], nimage; /* the newest */

static void let_go(void)
{
	while (nimage > 0)
		close(image[--nimage]);
}

/* One message, whatever it says. The image before is held until the next is there: one that nobody
 * holds is made again. */
static void take_message(struct ctl_msg *msg)
{
	int fds[CTL_FDS_MAX], nfds;
	off_t size;

	receive_one(msg, fds, &nfds);
	if (msg->type == CTL_CACHE || msg->type == CTL_TICK)
		return;
	ck_assert_uint_eq(msg->type, CTL_IMAGE);
	let_go();
	memcpy(image, fds, sizeof(fds));
	nimage = nfds;
	size = lseek(image[0], 0, SEEK_END);
	free(head);
	head = malloc((size_t)size);
	ck_assert_int_eq(pread(image[0], head, (size_t)size, 0), size);
}

static void take_image(struct ctl_msg *msg)
{
	do
		take_message(msg);
	while (msg->type != CTL_IMAGE);
}

/* Until there is nothing to do, and nothing to come back to. */
static void wait_idle(void)
{
	struct ctl_msg msg;

	do
		take_message(&msg);
	while (facts.v[CACHE_FACT_pending] > 0 || facts.v[CACHE_FACT_unsettled] > 0);
}

static const struct image_entry *find(const char *path)
{
	return image_find(head, 0, slice_str(path));
}

static bool has(const char *path, const char *text)
{
	const struct image_entry *e = find(path);
	char data[256];

	if (e == NULL || e->body.n != strlen(text))
		return false;
	ck_assert_int_eq(
		pread(image[IMAGE_FDS + e->body.segment], data, e->body.n, e->body.at), e->body.n);
	return memcmp(data, text, e->body.n) == 0;
}

/*
 * Images until one is right. The first ones may lack files.
 */
#define WAIT(condition) \
	do { \
		struct ctl_msg wait_msg; \
\
		while (head == NULL || !(condition)) \
			take_image(&wait_msg); \
	} while (0)

static bool is_stale(int marks_fd, uint32_t entry)
{
	uint8_t stale = 0;

	ck_assert_int_eq(
		pread(marks_fd, &stale, 1, (off_t)(offsetof(struct image_marks, stale) + entry)),
		1);
	return stale != 0;
}

static void end(void)
{
	ck_assert_int_eq(kill(keeper, SIGTERM), 0);
	ck_assert_int_eq(exit_status(), EXIT_SUCCESS);
	close(ctl);
}

TEST(publishes_and_ticks)
{
	struct ctl_msg msg;
	struct timespec moment = { .tv_nsec = 10000000 };
	const struct image_marks *marks;
	uint64_t first, until;

	tree_text("a", "hello");
	start(1 << 20);
	take_image(&msg);
	ck_assert_uint_eq(msg.arg, 42);
	while (!has("/a", "hello"))
		take_image(&msg);
	ck_assert_uint_eq(msg.arg, head->number);
	ck_assert_uint_eq(msg.size, 5);
	ck_assert_uint_eq(head->nentries, 1);
	ck_assert_int_eq(nimage, IMAGE_FDS + 1);
	marks = mmap(NULL, sizeof(*marks) + 1, PROT_READ, MAP_SHARED, image[1], 0);
	ck_assert_ptr_ne(marks, MAP_FAILED);
	first = __atomic_load_n(&marks->tick_ms, __ATOMIC_ACQUIRE);
	ck_assert_uint_le(first, clock_read_us() / 1000);
	until = clock_read_us() + 30000000;
	while (__atomic_load_n(&marks->tick_ms, __ATOMIC_ACQUIRE) == first) {
		ck_assert(clock_read_us() < until);
		nanosleep(&moment, NULL);
	}
	/* What a terminal sends to the whole group does not concern it. */
	ck_assert_int_eq(kill(keeper, SIGINT), 0);
	ck_assert_int_eq(kill(keeper, SIGHUP), 0);
	ck_assert_int_eq(ctl_send(ctl, &(struct ctl_msg){ .type = CTL_DRAIN }, NULL, 0), 0);
	ck_assert_int_eq(exit_status(), EXIT_SUCCESS);
	/* Its image outlives it. */
	ck_assert_int_eq(memfd_sealed_size(image[IMAGE_FDS], true), 5);
}

static bool settled(const char *path)
{
	return find(path) != NULL && (find(path)->flags & IMAGE_SETTLED) != 0;
}

/* A store to a page that is dirty already moves no time stamp; the close is told, and is enough. */
TEST(closed_after_a_store)
{
	char *map;
	int fd;

	conf.rescan_ms = 200; /* which finds the first store */
	tree_text("a", "one");
	start(1 << 20); /* before the file is open, or it would be there, too */
	fd = open(tree_path("a"), O_RDWR | O_CLOEXEC);
	map = mmap(NULL, 3, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	memcpy(map, "1st", 3);
	WAIT(has("/a", "1st") && settled("/a"));
	memcpy(map, "2nd", 3);
	munmap(map, 3);
	close(fd);
	WAIT(has("/a", "2nd"));
	end();
}

static char *text_of(unsigned n, unsigned seed)
{
	char *p = malloc(n + 1);

	for (unsigned i = 0; i < n; i++)
		p[i] = "the quick brown fox jumps over the lazy dog "[(i + seed) % 44];
	p[n] = '\0';
	return p;
}

static bool variants_of(const char *path, unsigned codings)
{
	const struct image_entry *e = find(path);

	for (enum coding i = 0; e != NULL && i < CODINGS; i++)
		if ((codings & 1U << i) != 0 && e->variants[i].n == 0)
			return false;
	return e != NULL;
}

static bool has_flags(const char *path, unsigned mask, unsigned flags)
{
	const struct image_entry *e = find(path);

	return e != NULL && (e->flags & mask) == flags;
}

static bool is_coded(const char *path, enum coding coding, uint32_t n)
{
	const struct image_entry *e = find(path);

	return e != NULL && e->variants[coding].n == n;
}

TEST_EACH(variants_and_sidecars, compress_has(CODING_GZIP))
{
	char *text = text_of(5000, 0);

	conf.codings = compress_built();
	tree_text("a.css", text);
	tree_text("b.css", text);
	tree_text("b.css.gz", "made elsewhere");
	tree_text("c.png", text);
	start(1 << 20);
	WAIT(head->nentries == 4);
	WAIT(variants_of("/a.css", conf.codings) && variants_of("/b.css", conf.codings));
	ck_assert_uint_lt(find("/a.css")->variants[CODING_GZIP].n, 500);
	ck_assert(find("/a.css")->flags & IMAGE_VARIES);
	/* What is being read once more, late, may not be in this one. */
	WAIT(has_flags("/c.png", IMAGE_VARIES, 0));
	WAIT(has_flags("/b.css", IMAGE_SIDECAR << CODING_GZIP, IMAGE_SIDECAR << CODING_GZIP) &&
		is_coded("/b.css", CODING_GZIP, 14) && find("/b.css.gz") != NULL);
	ck_assert_mem_eq(find("/b.css")->variants[CODING_GZIP].etag, find("/b.css.gz")->body.etag,
		IMAGE_ETAG);

	/* Without what lay beside, it is compressed; what comes beside takes the place of a
	 * variant.
	 */
	ck_assert_int_eq(unlink(tree_path("b.css.gz")), 0);
	tree_text("a.css.gz", "made elsewhere");
	WAIT(find("/b.css.gz") == NULL && variants_of("/b.css", conf.codings) &&
		has_flags("/b.css", IMAGE_SIDECAR << CODING_GZIP, 0) &&
		has_flags("/a.css", IMAGE_SIDECAR << CODING_GZIP, IMAGE_SIDECAR << CODING_GZIP));

	/* What is older than it is of no use, and it is compressed. */
	tree_date("a.css.gz", 1);
	WAIT(has_flags("/a.css", IMAGE_SIDECAR << CODING_GZIP, 0) &&
		variants_of("/a.css", conf.codings));

	/* A change drops them at once, and the next ones are of the new bytes. */
	free(text);
	text = text_of(7000, 3);
	tree_text("b.css", text);
	WAIT(find("/b.css") != NULL && find("/b.css")->body.n == 7000);
	WAIT(variants_of("/b.css", conf.codings));
	free(text);
	end();
}

TEST_EACH(warm_start_takes_what_is_settled, compress_has(CODING_GZIP))
{
	struct ctl_msg msg;
	char *text = text_of(5000, 0);
	uint64_t compressed;

	conf.codings = compress_built();
	tree_text("a.css", text);
	tree_text("b.css", text);
	tree_text("short.css", "no use");
	tree_text("c.css", text);
	tree_text("c.css.gz", "made elsewhere");
	start(1 << 20);
	WAIT(settled("/a.css") && settled("/b.css") && settled("/c.css") && settled("/c.css.gz") &&
		settled("/short.css") && variants_of("/a.css", conf.codings) &&
		variants_of("/b.css", conf.codings) && variants_of("/c.css", conf.codings) &&
		(find("/short.css")->flags & IMAGE_TRIED << CODING_GZIP) != 0);
	ck_assert_int_eq(kill(keeper, SIGKILL), 0);
	ck_assert_int_eq(waitpid(keeper, NULL, 0), keeper);
	close(ctl);

	tree_text("b.css", "changed meanwhile");
	memcpy(warm, image, sizeof(warm));
	nwarm = nimage;
	nimage = 0;
	start(1 << 20);
	for (int i = 0; i < nwarm; i++)
		close(warm[i]);
	take_image(&msg);
	/* The very first one has the variants. */
	ck_assert(variants_of("/a.css", conf.codings));
	ck_assert(variants_of("/c.css", conf.codings));
	ck_assert_uint_eq(
		find("/c.css")->flags & IMAGE_SIDECAR << CODING_GZIP, IMAGE_SIDECAR << CODING_GZIP);
	WAIT(has("/b.css", "changed meanwhile"));
	wait_idle();
	ck_assert_uint_eq(facts.v[CACHE_FACT_adopted], 4);
	compressed = facts.v[CACHE_FACT_compressed];
	/* b.css alone. */
	ck_assert_uint_eq(compressed, (unsigned)__builtin_popcount(conf.codings));
	free(text);
	end();
}

/* What another process left is checked: nothing of it is used, and nothing is lost but time. */
TEST(warm_start_takes_nothing_broken)
{
	/* The bytes of a segment are believed, as workers believe them; that they are there is not.
	 */
	static const char *const broken[] = { "index", "marks", "s", "number of them" };

	tree_text("a", "one");
	start(1 << 20);
	WAIT(settled("/a"));
	end();
	for (int i = 0; i < 4; i++) {
		int bad = memfd_new(broken[i]);

		ck_assert_int_eq(memfd_write(bad, broken[i], strlen(broken[i]), 0), 0);
		for (int k = 0; k < nimage; k++)
			warm[k] = dup(image[k]);
		nwarm = nimage - (i == 3);
		/* Sealed, so that it is what it says that is wrong. */
		bad = memfd_seal(bad, false);
		if (i < 3)
			ck_assert_int_ge(dup2(bad, warm[i < 2 ? i : IMAGE_FDS]), 0);
		close(bad);
		start(1 << 20);
		for (int k = 0; k < nimage; k++)
			close(warm[k]);
		nimage = 0;
		WAIT(has("/a", "one"));
		wait_idle();
		ck_assert_uint_eq(facts.v[CACHE_FACT_adopted], 0);
		end();
	}
}

/* Whoever holds images makes it wait, and the marks keep him right. */
TEST(four_images)
{
	struct ctl_msg msg;
	int held[4][CTL_FDS_MAX], nheld[4];
	struct pollfd p;
	char text[2] = "0";

	tree_text("a", text);
	start(1 << 20);
	for (int i = 0; i < 4; i++) {
		/* Another one would be the fourth too early. */
		for (take_image(&msg); !has("/a", text); take_image(&msg))
			let_go();
		memcpy(held[i], image, sizeof(image));
		nheld[i] = nimage;
		nimage = 0;
		text[0]++;
		tree_text("a", text);
	}
	/* No fifth; but that a changed is known. */
	p = (struct pollfd){ .fd = ctl, .events = POLLIN };
	while (!is_stale(held[3][1], 0))
		poll(&p, 1, 10);
	do {
		int fds[CTL_FDS_MAX], n;

		receive_one(&msg, fds, &n);
		ck_assert_uint_eq(msg.type, CTL_CACHE);
	} while (facts.v[CACHE_FACT_images] != 4 || facts.v[CACHE_FACT_pending] != 1);
	for (int k = 0; k < nheld[1]; k++)
		close(held[1][k]);
	WAIT(has("/a", "4"));
	end();
}

enum { PARTS = 16, PART = 200 << 10, WHOLE = 60 << 20, ROUNDS = 5 };

/* n bytes, all the same ones; a dot's name, which is not served, is renamed later. */
static void fill(const char *name, size_t n, int c)
{
	char *data = malloc(n);

	memset(data, c, n);
	tree_write(name, data, n);
	free(data);
}

static void show(const char *name)
{
	ck_assert_int_eq(rename(tree_path(name), tree_path(name + 1)), 0);
}

/* What the file of this image is made of; 0: there is none. */
static int made_of(const char *path)
{
	const struct image_entry *e = find(path);
	char *data;
	int c;

	if (e == NULL)
		return 0;
	data = malloc(e->body.n);
	ck_assert_int_eq(
		pread(image[IMAGE_FDS + e->body.segment], data, e->body.n, e->body.at), e->body.n);
	c = data[0];
	/* Every byte is the one before it. */
	ck_assert(memcmp(data, data + 1, e->body.n - 1) == 0);
	free(data);
	return c;
}

/*
 * Bodies are moved to new segments while a large file is being read: what both go through are
 * different buffers.
 */
TEST(moves_while_it_reads)
{
	struct ctl_msg msg;

	max_file_size = WHOLE;
	start(4 * WHOLE);
	for (int round = 0; round < ROUNDS; round++) {
		int c = 'a' + round;
		char name[24];

		/* While it reads, images are that long apart. */
		poll(NULL, 0, 1000);
		fill(".whole", WHOLE, c);
		for (int i = 0; i < PARTS; i++) {
			snprintf(name, sizeof(name), ".part%d", i);
			fill(name, PART, c);
			/* Those that stay are what is moved. */
			if (round == 0 || i % 3 != round % 3)
				show(name);
		}
		show(".whole");
		while (head == NULL || made_of("/whole") != c)
			take_image(&msg);
	}
	end();
}

enum { LOG_MAX = 4096 };

/* Until the log has it; text: all of the log. */
static void wait_text(int log, char text[LOG_MAX], const char *wanted)
{
	do {
		ssize_t n = pread(log, text, LOG_MAX - 1, 0);

		text[n > 0 ? n : 0] = '\0';
		poll(NULL, 0, 5);
	} while (strstr(text, wanted) == NULL);
}

/* A shortage is said once, the old image stays, and all goes on when it is over. */
TEST(out_of_descriptors)
{
	struct rlimit few = { 3, 3 }, before;
	char name[] = "keeper.log", text[LOG_MAX];
	const char *said;
	int log;

	log = open(tree_path(name), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	tree_text("a", "one");
	start(1 << 20);
	WAIT(has("/a", "one"));
	ck_assert_int_eq(ctl_send(ctl, &(struct ctl_msg){ .type = CTL_LOGS }, &log, 1), 0);
	ck_assert_int_eq(ctl_send(ctl, &(struct ctl_msg){ .type = CTL_UP }, NULL, 0), 0);
	wait_text(log, text, "unknown control message 1");
	ck_assert_int_eq(prlimit(keeper, RLIMIT_NOFILE, NULL, &before), 0);
	/* Only what lets it be raised again. */
	few.rlim_max = before.rlim_max;
	ck_assert_int_eq(prlimit(keeper, RLIMIT_NOFILE, &few, NULL), 0);
	tree_text("a", "two");
	wait_text(log, text, "Too many open files");
	ck_assert_int_eq(prlimit(keeper, RLIMIT_NOFILE, &before, NULL), 0);
	WAIT(has("/a", "two"));
	wait_text(log, text, "building images again");
	said = strstr(text, "Too many open files");
	ck_assert_ptr_null(strstr(said + 1, "Too many open files"));
	close(log);
	end();
}

/* --- memory ----------------------------------------------------------------------------------- */

enum { TURNS = 12, SMALL_FILES = 3000, SMALL_MAX = 1 << 20 };

/* Bytes of the memory files among n descriptors, each counted once. */
static uint64_t memory(const int *fds, unsigned n)
{
	ino_t seen[TURNS * CTL_FDS_MAX];
	uint64_t bytes = 0;

	for (unsigned i = 0, k; i < n; i++) {
		struct stat st;

		ck_assert_int_eq(fstat(fds[i], &st), 0);
		seen[i] = st.st_ino;
		for (k = 0; seen[k] != st.st_ino;)
			k++;
		if (k == i && S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
	}
	return bytes;
}

/* The indexes of many small files take most of it. All images are held until the keeper waits for
 * room. */
TEST(images_below_twice_max_size)
{
	int held[TURNS * CTL_FDS_MAX];
	unsigned n = 0, images = 0, most = 0;
	struct ctl_msg msg;
	char name[16];

	for (unsigned i = 0; i < SMALL_FILES; i++) {
		snprintf(name, sizeof(name), "%u", i);
		tree_write(name, "x", 1);
	}
	start(SMALL_MAX);
	WAIT(head->nentries == SMALL_FILES);
	for (unsigned turn = 0; turn < TURNS; turn++) {
		struct pollfd p = { .fd = ctl, .events = POLLIN };
		uint64_t until = clock_read_us() + 500000;

		for (images += nimage > 0; nimage > 0; n++)
			held[n] = image[--nimage];
		ck_assert_uint_le(memory(held, n), 2 * SMALL_MAX);
		most = images > most ? images : most;
		tree_text("0", name + turn % 4);
		while (nimage == 0 && clock_read_us() < until)
			if (poll(&p, 1, 20) == 1)
				take_message(&msg);
		if (nimage == 0)
			for (images = 0; n > 0;)
				close(held[--n]);
	}
	ck_assert_uint_ge(most, 2);
	end();
}

TEST(states)
{
	states_unit_walk(&keeper_states,
		"IDLE>WALK WALK>LIVE WALK>LEAVE WALK>DISMISSED LIVE>LEAVE LIVE>DISMISSED", NULL);
}
