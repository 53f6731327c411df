/* check_keeper: the keeper as a process of its own: it publishes, ticks, and leaves when told. */
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "cache/image.h"
#include "cache/keeper.h"
#include "cache/memfd.h"
#include "net/ctl.h"
#include "tree_unit.h"
#include "unit.h"

static int ctl;
static pid_t keeper;

static void start(uint64_t max_size)
{
	int fds[2];

	ck_assert_int_eq(ctl_pair(fds), 0);
	ctl = fds[0];
	fflush(NULL);
	keeper = fork();
	ck_assert_int_ge(keeper, 0);
	if (keeper == 0) {
		struct files_root root = { .root = tree, .upload_dir = "", .charset = "" };
		struct keeper_args args = {
			.files = { .roots = &root, .nroots = 1, .max_size = max_size,
				.max_file_size = 1 << 20 },
			.ctl = fds[1],
			.generation = 3,
			.first_number = 42,
			.error_log = -1,
		};

		close(fds[0]);
		_exit(keeper_run(&args));
	}
	close(fds[1]);
}

static int receive(struct ctl_msg *msg, int *fds)
{
	struct pollfd p = { .fd = ctl, .events = POLLIN };
	int nfds = 0;

	ck_assert_int_eq(poll(&p, 1, 10000), 1);
	ck_assert_int_eq(ctl_recv(ctl, msg, fds, &nfds), 1);
	return nfds;
}

static int exit_status(void)
{
	int status;

	ck_assert_int_eq(waitpid(keeper, &status, 0), keeper);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(publishes_and_ticks)
{
	struct ctl_msg msg;
	int fds[CTL_FDS_MAX];
	struct timespec moment = { .tv_nsec = 10000000 };
	const struct image_marks *marks;
	uint64_t first, until = clock_read_us() + 10000000;
	struct image_head h;

	tree_text("a", "hello");
	start(1 << 20);
	ck_assert_int_eq(receive(&msg, fds), 3);
	ck_assert_uint_eq(msg.type, CTL_IMAGE);
	ck_assert_uint_eq(msg.generation, 3);
	ck_assert_uint_eq(msg.arg, 42);
	ck_assert_uint_eq(msg.size, 5);
	ck_assert_int_eq(pread(fds[0], &h, sizeof(h), 0), sizeof(h));
	ck_assert_uint_eq(h.number, 42);
	ck_assert_uint_eq(h.nentries, 1);
	marks = mmap(NULL, sizeof(*marks) + 1, PROT_READ, MAP_SHARED, fds[1], 0);
	ck_assert_ptr_ne(marks, MAP_FAILED);
	first = __atomic_load_n(&marks->tick_ms, __ATOMIC_ACQUIRE);
	ck_assert_uint_le(first, clock_read_us() / 1000);
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
	ck_assert_int_eq(memfd_sealed_size(fds[2], true), 5);
}
END_TEST

START_TEST(leaves_with_the_master)
{
	start(1 << 20);
	close(ctl);
	ck_assert_int_eq(exit_status(), EXIT_SUCCESS);
}
END_TEST

START_TEST(leaves_on_term)
{
	struct ctl_msg msg;
	int fds[CTL_FDS_MAX];

	start(1 << 20);
	receive(&msg, fds);
	ck_assert_int_eq(kill(keeper, SIGTERM), 0);
	ck_assert_int_eq(exit_status(), EXIT_SUCCESS);
}
END_TEST

START_TEST(takes_a_new_log)
{
	struct ctl_msg msg;
	int fds[CTL_FDS_MAX], log;
	char name[8] = "new.log", text[4096];
	ssize_t n;

	start(1 << 20);
	receive(&msg, fds);
	log = open(tree_path(name), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	ck_assert_int_eq(ctl_send(ctl, &(struct ctl_msg){ .type = CTL_LOGS }, &log, 1), 0);
	ck_assert_int_eq(ctl_send(ctl, &(struct ctl_msg){ .type = CTL_UP }, NULL, 0), 0);
	ck_assert_int_eq(ctl_send(ctl, &(struct ctl_msg){ .type = CTL_DRAIN }, NULL, 0), 0);
	ck_assert_int_eq(exit_status(), EXIT_SUCCESS);
	n = pread(log, text, sizeof(text) - 1, 0);
	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	ck_assert_ptr_nonnull(strstr(text, "unknown message 1"));
}
END_TEST

START_TEST(caches_nothing_if_told_so)
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
END_TEST

static TCase *tests(void)
{
	TCase *tc = tcase_create("keeper");

	tcase_add_checked_fixture(tc, tree_init, tree_fini);
	tcase_set_timeout(tc, 20);
	tcase_add_test(tc, publishes_and_ticks);
	tcase_add_test(tc, leaves_with_the_master);
	tcase_add_test(tc, leaves_on_term);
	tcase_add_test(tc, takes_a_new_log);
	tcase_add_test(tc, caches_nothing_if_told_so);
	return tc;
}

UNIT_MAIN("keeper")
