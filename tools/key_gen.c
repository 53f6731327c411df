/*
 * key_gen: the program that make runs to turn the conf.def and the metrics.def of handlers into C
 * on stdout: the table of their sections in h2d.conf, and that of their metrics. A fault in a row
 * ends it with 1 and a line "FILE:LINE: …" on stderr.
 */
#include <stdlib.h>

#include "tools/key_build.h"
#include "tools/metric_build.h"

#define ROW(handler, name, type, dflt, min, max, choices, help) \
	{ __FILE__, __LINE__, #handler, name, #type, dflt, min, max, choices, help },
static const struct key_row rows[] = {
#ifdef HANDLERS_KEYS /* of the directories of configure --with-handlers */
#define KEY ROW
#include HANDLERS_KEYS
#endif
	{ .file = NULL },
};

#define COUNTS(handler, name, help) { __FILE__, __LINE__, #handler, name, help, NULL, 0 },
#define OBSERVES(handler, name, help, ...) \
	{ __FILE__, __LINE__, #handler, name, help, (const double[]){ __VA_ARGS__ }, \
		sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double) },
static const struct metric_row metrics[] = {
#ifdef HANDLERS_METRICS
#define COUNTER   COUNTS
#define HISTOGRAM OBSERVES
#include HANDLERS_METRICS
#endif
	{ .file = NULL },
};

int main(void)
{
	int failed =
		key_build(rows, sizeof(rows) / sizeof(rows[0]) - 1, stdout, stderr) |
		metric_build(metrics, sizeof(metrics) / sizeof(metrics[0]) - 1, stdout, stderr);

	if (fflush(stdout) != 0 || ferror(stdout)) {
		perror("key_gen");
		failed = -1;
	}
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
