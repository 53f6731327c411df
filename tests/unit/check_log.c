/*
 * check_log: the form of a line, that it is one write(2) (a datagram socket shows each), that no
 * message forges one, that none waits for a reader, is torn by a full disk or repeats what a peer
 * does; and what a failed assertion leaves behind.
 */
#include "base/log.h"

#include <regex.h>
#include <sys/resource.h>
#include <time.h>

#include "base/assert.h"
#include "base/err.h"
#include "unit.h"

static int ends[2];
static char got[8192];

UNIT_SETUP(setup)
{
	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	log_to(ends[1]);
	log_who("worker 3");
}

UNIT_TEARDOWN(teardown)
{
	log_to(STDERR_FILENO);
	close(ends[0]);
	close(ends[1]);
}

/* The next line, or "" if there is none. */
static const char *next_line(void)
{
	ssize_t n = read(ends[0], got, sizeof(got) - 1);

	got[n > 0 ? n : 0] = '\0';
	return got;
}

/* A target is the peer's: shown to its 200th byte, with nothing that a reader could mistake. */
TEST(what_an_error_is_about)
{
	static const char *const shown[] = { ": /a%zz\n", ": /\\x1b[2J\\x5c\\x20\\xff\n" };
	const struct slice targets[] = { SLICE("/a%zz"), SLICE("/\033[2J\\ \xff") };
	const struct addr peer = { 0 };
	char large[300];

	log_max = LEVEL_INFO;
	for (int i = 0; i < 2; i++) {
		ERR_BAD_PATH->kind->until_ms = 0;
		err_log_about(ERR_BAD_PATH, &peer, targets[i]);
		ck_assert_msg(strstr(next_line(), shown[i]) != NULL, "%s", got);
	}
	memset(large, 'x', sizeof(large));
	ERR_BAD_PATH->kind->until_ms = 0;
	err_log_about(ERR_BAD_PATH, &peer, slice_of(large, sizeof(large)));
	ck_assert_ptr_nonnull(strstr(next_line(), "xx...\n"));
	ck_assert_uint_eq(strspn(strstr(got, ": x") + 2, "x"), 200);
}

TEST(form)
{
	char pattern[200];
	regex_t re;

	snprintf(pattern, sizeof(pattern),
		"^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3}Z "
		"notice \\[%d\\] worker 3: up with 7 listeners\n$",
		(int)getpid());
	ck_assert_int_eq(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
	log_notice("up with %d %s", 7, "listeners");
	next_line();
	ck_assert_msg(regexec(&re, got, 0, NULL, 0) == 0, "%s", got);
	regfree(&re);
	ck_assert_str_eq(next_line(), "");
}

TEST(levels)
{
	static const char *const names[] = { "alert", "error", "warn", "notice", "info", "debug" };

	for (int i = 0; i < 6; i++)
		ck_assert_str_eq(log_level_name((enum log_level)i), names[i]);

	log_debug("unseen");
	ck_assert_str_eq(next_line(), "");
	log_max = LEVEL_WARN;
	log_notice("unseen");
	ck_assert_str_eq(next_line(), "");
	log_warn("seen");
	ck_assert_ptr_nonnull(strstr(next_line(), " warn ["));
	log_alert("seen");
	ck_assert_ptr_nonnull(strstr(next_line(), " alert ["));
}

static const struct {
	const char *in, *out;
} escapes[] = {
	{ "a\nb", "a\\x0ab\n" },
	{ "\r\n2026-01-01T00:00:00.000Z alert", "\\x0d\\x0a2026-01-01T00:00:00.000Z alert\n" },
	{ "\x1b[31m\x7f\t\x01", "\\x1b[31m\\x7f\\x09\\x01\n" },
	{ "na\xc3\xafve %s %n", "na\xc3\xafve %s %n\n" },
	{ "", "\n" },
};

TEST_ROWS(escape, escapes)
{
	log_info("%s", escapes[_i].in);
	next_line();
	ck_assert_str_eq(strstr(got, "worker 3: ") + 10, escapes[_i].out);
}

TEST_EACH(cut, 2)
{
	static char text[6000];

	for (size_t n = 3900; n < 4100; n++) {
		memset(text, _i == 0 ? 'x' : '\n', n);
		text[n] = '\0';
		log_info("%s", text);
		next_line();
		ck_assert_uint_le(strlen(got), 4000);
		ck_assert_uint_gt(strlen(got), 3900);
		ck_assert_ptr_eq(strchr(got, '\n'), got + strlen(got) - 1);
	}
	ck_assert_str_eq(next_line(), "");
}

TEST(errno_is_kept)
{
	errno = ENOENT;
	log_info("%s", strerror(errno));
	ck_assert_int_eq(errno, ENOENT);
	log_to(ends[0]);
	close(ends[1]);
	errno = EMFILE;
	log_info("nobody reads this");
	ck_assert_int_eq(errno, EMFILE);
	ends[1] = -1;
}

TEST(long_who)
{
	log_who("a name of more than thirty-one bytes");
	log_info("x");
	ck_assert_ptr_nonnull(strstr(next_line(), "] a name of more than thirty-one : x\n"));
}

TEST(syslog_keeps_no_descriptor)
{
	int before = fcntl(ends[0], F_DUPFD_CLOEXEC, 0), after;

	close(before);
	log_to(-1);
	log_debug("unseen");
	log_write(LEVEL_DEBUG, "check_log");
	after = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
	ck_assert_int_eq(after, before);
	close(after);
	ck_assert_str_eq(next_line(), "");
}

TEST(assertion)
{
	char *words = mmap(NULL, 64, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;
	int status;

	ck_assert(words != MAP_FAILED);
	H2D_ASSERT(1 + 1 == 2);
	pid = fork();
	if (pid == 0) {
		assert_last_words_to(words, 64);
		H2D_ASSERT(1 + 1 == 3);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	next_line();
	ck_assert_ptr_nonnull(strstr(got, "Z alert ["));
	ck_assert_ptr_nonnull(strstr(got, "assertion failed: 1 + 1 == 3 ("));
	ck_assert_ptr_nonnull(strstr(got, "check_log.c:"));
	ck_assert_int_eq(strncmp(words, "assertion failed: 1 + 1 == 3 (", 30), 0);
	ck_assert_uint_lt(strnlen(words, 64), 64);
	munmap(words, 64);
}

/* All of a file or pipe. */
static size_t drink(int fd)
{
	size_t n = 0;
	ssize_t r;

	while ((r = read(fd, got + n, sizeof(got) - 1 - n)) > 0)
		n += (size_t)r;
	got[n] = '\0';
	return n;
}

static unsigned count(const char *what)
{
	unsigned n = 0;

	for (const char *p = got; (p = strstr(p, what)) != NULL; p++)
		n++;
	return n;
}

/* A pipe that nobody reads, and whose description is not ours to change. */
TEST(blocked_reader)
{
	int p[2];

	ck_assert_int_eq(pipe2(p, O_CLOEXEC), 0);
	ck_assert_int_ge(fcntl(p[1], F_SETPIPE_SZ, 4096), 4096);
	log_to(p[1]);
	for (int i = 0; i < 1000; i++)
		log_info("line %d", i);
	ck_assert_int_eq(fcntl(p[1], F_GETFL) & O_NONBLOCK, 0);
	ck_assert_int_eq(fcntl(p[0], F_SETFL, O_NONBLOCK), 0);
	drink(p[0]);
	ck_assert_uint_gt(count("line "), 10);
	unsigned lost = 1000 - count("line ");
	char said[64];
	log_tick(false);
	snprintf(said, sizeof(said), " error [%d] worker 3: %u log lines were lost\n",
		(int)getpid(), lost);
	drink(p[0]);
	ck_assert_msg(strstr(got, said) != NULL, "%s not in %s", said, got);
	log_info("and on");
	drink(p[0]);
	ck_assert_uint_eq(count("lost"), 0);
	ck_assert_uint_eq(count("and on"), 1);
	log_to(STDERR_FILENO);
	close(p[0]);
	close(p[1]);
}

/* Of a pipe of its own, what log_out_own() makes of a standard stream. */
TEST(own_description)
{
	int p[2], shared;

	ck_assert_int_eq(pipe2(p, O_CLOEXEC), 0);
	shared = fcntl(p[1], F_DUPFD_CLOEXEC, 0);
	log_out_own(p[1]);
	ck_assert_int_eq(fcntl(p[1], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	ck_assert_int_eq(fcntl(shared, F_GETFL) & O_NONBLOCK, 0);
	ck_assert_int_eq(write(p[1], "x", 1), 1);
	ck_assert_int_eq(read(p[0], got, sizeof(got)), 1);
	close(p[0]);
	close(p[1]);
	close(shared);
}

/* A disk that is full in the middle of a line, with and without O_APPEND. */
TEST_EACH(full_disk, 2)
{
	char path[] = "/tmp/check_log.XXXXXX";
	struct rlimit full = { 1000, RLIM_INFINITY }, room = { RLIM_INFINITY, RLIM_INFINITY };
	int fd = mkstemp(path), in;
	char *line, *save;

	ck_assert_int_ge(fd, 0);
	if (_i == 0)
		ck_assert_int_eq(fcntl(fd, F_SETFL, O_APPEND), 0);
	in = open(path, O_RDONLY | O_CLOEXEC);
	signal(SIGXFSZ, SIG_IGN);
	log_to(fd);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &full), 0);
	for (int i = 0; i < 50; i++)
		log_info("number %d of fifty and no more", i);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &room), 0);
	for (int i = 50; i < 53; i++)
		log_info("number %d of fifty and no more", i);
	log_to(STDERR_FILENO);
	drink(in);
	ck_assert_uint_eq(count("log lines were lost\n"), 1);
	ck_assert_uint_eq(count("number 52 of fifty and no more\n"), 1);
	ck_assert_ptr_eq(strrchr(got, '\n'), got + strlen(got) - 1);
	unsigned halves = 0, heads = 0;
	for (line = strtok_r(got, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
		ck_assert_int_eq(strncmp(line, "20", 2), 0);
		heads++;
		halves += strstr(line, "no more") == NULL && strstr(line, "lost") == NULL;
	}
	ck_assert_uint_gt(heads, 10);
	/* What cannot be taken back stays on a line of its own. */
	ck_assert_uint_le(halves, _i == 0 ? 0 : 1);
	close(in);
	close(fd);
	unlink(path);
}

static void one_kind(int i)
{
	log_peer(LEVEL_INFO, "peer %d is wrong", i);
}

TEST(one_per_second)
{
	struct timespec wait = { .tv_sec = 1, .tv_nsec = 20000000 };

	for (int i = 0; i < 500; i++)
		one_kind(i);
	log_peer(LEVEL_INFO, "of another kind");
	ck_assert_ptr_nonnull(strstr(next_line(), "worker 3: peer 0 is wrong\n"));
	ck_assert_ptr_nonnull(strstr(next_line(), "of another kind"));
	ck_assert_str_eq(next_line(), "");
	log_tick(false);
	ck_assert_str_eq(next_line(), "");
	nanosleep(&wait, NULL);
	one_kind(500);
	ck_assert_ptr_nonnull(
		strstr(next_line(), "peer 0 is wrong … and 499 more like it in the last second\n"));
	ck_assert_ptr_nonnull(strstr(next_line(), "peer 500 is wrong\n"));
	one_kind(501);
	log_tick(true);
	ck_assert_ptr_nonnull(
		strstr(next_line(), "peer 500 is wrong … and 1 more like it in the last second\n"));
	log_tick(true);
	ck_assert_str_eq(next_line(), "");
}
