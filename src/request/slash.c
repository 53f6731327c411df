/*
 * slash: who sees the target as it came (a proxy in front, with rules of its own) may see one
 * segment where h2d sees two. So nothing may depend on which it is: neither access, nor a route,
 * nor a location. What does is not served.
 */
#include "request/slash.h"

#include "request/handler_choice.h"

/* The folder of the segment that has the first encoded slash. No segment was taken away, so it is
 * the beginning of the path: an escape of the target is one byte of it. */
static struct slice folder(const struct h2d_req *req)
{
	struct slice t = req->target;
	size_t n = 0, escapes = 0;

	while (n + 2 < t.n && strncasecmp(t.p + n, "%2f", 3) != 0)
		n++;
	while (n > 0 && t.p[n - 1] != '/')
		n--;
	for (size_t i = 0; i < n; i++)
		escapes += t.p[i] == '%';
	return slice_of(req->path.p, n - 2 * escapes);
}

static bool is_one_location(const struct h2d_req *req)
{
	return site_location(req->site, folder(req)) == site_location(req->site, req->path);
}

bool slash_is_harmless(struct h2d_req *req)
{
	if (req->method != H2D_GET && req->method != H2D_HEAD)
		return false;
	return !req->conn->admin && !req->conn->trusted && !req->site->guarded &&
	       handler_choice_is_file(req) && is_one_location(req);
}
