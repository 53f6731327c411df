/*
 * unit: the main() of every libcheck program. A test file defines `static TCase *tests(void)` (or
 * several cases in a Suite by suite_add_tcase in tests()) and ends with UNIT_MAIN("name").
 */
#ifndef H2D_TESTS_UNIT_H
#define H2D_TESTS_UNIT_H

#include <check.h>
#include <stdlib.h>

#define UNIT_MAIN(name) \
	int main(void) \
	{ \
		Suite *suite = suite_create(name); \
		SRunner *runner; \
		int failed; \
\
		suite_add_tcase(suite, tests()); \
		runner = srunner_create(suite); \
		srunner_run_all(runner, CK_ENV); \
		failed = srunner_ntests_failed(runner); \
		srunner_free(runner); \
		return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE; \
	}

#endif
