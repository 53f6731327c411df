/* top_none: stands for top where the library that reads JSON was not there when h2d was built. */
#include <stdio.h>

#include "tools/top/top.h"

enum { EXIT_USAGE = 2 };

bool top_built(void)
{
	return false;
}

int top_run(char *const *where, bool once, const struct conf_override *ov)
{
	(void)where, (void)once, (void)ov;
	fputs("h2d: top is not built in: it takes libjansson (Debian: libjansson-dev) at the "
	      "build\n",
		stderr);
	return EXIT_USAGE;
}
