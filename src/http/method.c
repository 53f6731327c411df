/* method: the table of names, and its look-ups. */
#include "http/method.h"

#include <stdio.h>

/* Ordered like enum h2d_method. */
static const struct slice names[H2D_METHODS] = {
	[H2D_GET] = SLICE_LIT("GET"),
	[H2D_HEAD] = SLICE_LIT("HEAD"),
	[H2D_POST] = SLICE_LIT("POST"),
	[H2D_PUT] = SLICE_LIT("PUT"),
	[H2D_DELETE] = SLICE_LIT("DELETE"),
	[H2D_OPTIONS] = SLICE_LIT("OPTIONS"),
	[H2D_PATCH] = SLICE_LIT("PATCH"),
};

enum h2d_method method_parse(struct slice name)
{
	/* Compared without a call, as the most common. */
	if (slice_eq(name, SLICE("GET")))
		return H2D_GET;
	for (unsigned i = 0; i < H2D_METHODS; i++)
		if (slice_eq(name, names[i]))
			return (enum h2d_method)i;
	return H2D_METHOD_UNKNOWN;
}

const char *method_name(enum h2d_method method)
{
	return method < H2D_METHODS ? names[method].p : "unknown";
}

void method_list(unsigned methods, char buf[METHOD_LIST])
{
	size_t n = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < H2D_METHODS; i++)
		if (methods & 1u << i)
			n += (size_t)sprintf(buf + n, "%s%s", n > 0 ? ", " : "", names[i].p);
}
