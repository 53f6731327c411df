/*
 * unit: the main() of every libcheck program. A test file defines `static TCase *tests(void)` (or
 * several cases in a Suite by suite_add_tcase in tests()) and ends with UNIT_MAIN("name"), where
 * each check is a process of its own, or UNIT_MAIN_PURE("name"), where pure functions share one: a
 * fork costs more than such a check, and under sanitizers a hundred times as much.
 */
#ifndef H2D_TESTS_UNIT_H
#define H2D_TESTS_UNIT_H

#include <check.h>
#include <stdlib.h>
#include <sys/stat.h>

#define UNIT_MAIN(name)      UNIT_MAIN_FORKS(name, CK_FORK_GETENV)
#define UNIT_MAIN_PURE(name) UNIT_MAIN_FORKS(name, CK_NOFORK)

#define UNIT_MAIN_FORKS(name, forks) \
	int main(void) \
	{ \
		Suite *suite = suite_create(name); \
		SRunner *runner; \
		int failed; \
\
		umask(022); /* other users may read what a test writes, unless it says so */ \
		suite_add_tcase(suite, tests()); \
		runner = srunner_create(suite); \
		srunner_set_fork_status(runner, forks); \
		srunner_run_all(runner, CK_ENV); \
		failed = srunner_ntests_failed(runner); \
		srunner_free(runner); \
		return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE; \
	}

#endif
