/*
 * conf_doc: a program of the build: `conf_doc example` prints conf/h2d.conf, `conf_doc manual` the
 * option list of h2d.conf(5) as mdoc. Not installed.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/conf_page.h"

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (strcmp(what, "example") == 0) {
		conf_page_example(stdout);
	} else if (strcmp(what, "manual") == 0) {
		conf_page_manual(stdout);
	} else {
		fprintf(stderr, "usage: conf_doc example|manual\n");
		return 2;
	}
	return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
