/*
 * unit: the main() of every libcheck program. A test is TEST(name), or TEST_EACH(name, n), which
 * runs with _i from 0 to n - 1, or TEST_ROWS(name, rows); it is in the program's one test case by
 * being there, and so are UNIT_SETUP(name) and UNIT_TEARDOWN(name). Each test is a process of its
 * own, except in files that include unit_pure.h.
 */
#pragma once

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* libcheck writes the place of each assertion that holds, and reads them all for each test: in
 * quadratic time. */
#define _mark_point(file, line) ((void)0)

/* Functions that are called by pointer have the parameters of its type. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static inline TCase *unit_case(void)
{
	static TCase *all;

	if (all == NULL) {
		all = tcase_create("all");
		tcase_set_timeout(all, 300);
	}
	return all;
}

/* A statement of the test case: before main(), in the order of the file. */
#define UNIT_STATEMENT(name, ...) \
	__attribute__((constructor)) static void unit_##name(void) \
	{ \
		__VA_ARGS__; \
	}

/* TEST_EACH() over the rows of an array; tests of memory's layout leave the sanitizers out. */
#define TEST_ROWS(name, rows) TEST_RANGE(name, 0, (int)(sizeof(rows) / sizeof((rows)[0])))
#ifdef __SANITIZE_ADDRESS__
#define UNIT_SANITIZED 1
#else
#define UNIT_SANITIZED 0
#endif

#define TEST(name)         TEST_RANGE(name, 0, 1)
#define TEST_EACH(name, n) TEST_RANGE(name, 0, n)
#define TEST_RANGE(name, from, to) \
	UNIT_TEST(name, tcase_add_loop_test(unit_case(), &name##_test, from, to))
/* A test that ends by a signal, n times. */
#define TEST_SIGNAL(name, n, signal) \
	UNIT_TEST(name, tcase_add_loop_test_raise_signal(unit_case(), &name##_test, signal, 0, n))

#define UNIT_TEST(name, add) \
	static void name(int _i); \
	static const TTest name##_test = { #name, name, __FILE__, __LINE__ }; \
	UNIT_STATEMENT(add_##name, add) \
	static void name(int _i __attribute__((unused)))

/* Around each test, in its process: functions of this file, or of a header. */
#define UNIT_SETUP(name)    UNIT_AROUND(name, name, NULL)
#define UNIT_TEARDOWN(name) UNIT_AROUND(name, NULL, name)
#define UNIT_AROUND(name, setup, teardown) \
	static void name(void); \
	UNIT_STATEMENT(around_##name, tcase_add_checked_fixture(unit_case(), setup, teardown)) \
	static void name(void)
#define UNIT_FIXTURE(setup, teardown) \
	UNIT_STATEMENT(fixture, tcase_add_checked_fixture(unit_case(), setup, teardown))
/* Around all tests, in the process that forks them. */
#define UNIT_FIXTURE_ONCE(setup, teardown) \
	UNIT_STATEMENT(fixture_once, tcase_add_unchecked_fixture(unit_case(), setup, teardown))

static enum fork_status unit_forks = CK_FORK_GETENV;

int main(void)
{
	Suite *suite = suite_create(program_invocation_short_name);
	SRunner *runner = srunner_create(suite);
	int failed;

	umask(022); /* other users may read what a test writes, unless it says so */
	suite_add_tcase(suite, unit_case());
	srunner_set_fork_status(runner, unit_forks);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
