/*
 * redirect: makes location headers in a request's arena. Called by gate.c, for the few redirected
 * requests; never copies a byte from the client that no URI has.
 */
#include "rules/redirect.h"

#include <stdio.h>

#include "http/path.h"

enum { HTTPS_PORT = 443 };

/* Others of a request's target are percent-encoded (RFC 3986, 2), so that it is a legal value. */
static bool is_in_uris(unsigned char c)
{
	return c > ' ' && c < 0x7f && strchr("\"<>\\^`{|}", c) == NULL;
}

struct slice redirect_to_https(
	struct slice host, uint16_t port, struct slice target, struct arena *a)
{
	char port_text[8] = "";
	struct slice to = path_escape(target, is_in_uris, a);

	if (to.p == NULL)
		return to;
	if (port != HTTPS_PORT)
		snprintf(port_text, sizeof(port_text), ":%u", port);
	return slice_str(
		arena_printf(a, "https://%.*s%s%.*s", SLICE_ARG(host), port_text, SLICE_ARG(to)));
}

struct slice redirect_location(
	const struct redirect *r, struct slice path, struct slice query, struct arena *a)
{
	struct slice to = r->to, rest;
	const char *slash;

	if (!r->keeps)
		return to;
	rest = slice_of(path.p + r->prefix.n, path.n - r->prefix.n);
	/* A sidecar of the path itself: it has no path below it. */
	if (rest.n > 0 && rest.p[0] != '/' && r->prefix.p[r->prefix.n - 1] != '/')
		rest.n = 0;
	/* "/" and "/host" would be "//host", which is another host. */
	while (rest.n > 0 && rest.p[0] == '/')
		rest = slice_of(rest.p + 1, rest.n - 1);
	slash = rest.n > 0 && to.p[to.n - 1] != '/' ? "/" : "";
	rest = path_encode(rest, a);
	query = path_escape(query, is_in_uris, a);
	if (rest.p == NULL || query.p == NULL)
		return (struct slice){ 0 };
	return slice_str(arena_printf(a, "%.*s%s%.*s%s%.*s", SLICE_ARG(to), slash, SLICE_ARG(rest),
		query.n > 0 ? "?" : "", SLICE_ARG(query)));
}
