/*
 * slash: who sees the target as it came (a proxy in front, with rules of its own) may see one
 * segment where h2d sees two. So nothing may depend on which it is: neither access, nor a route,
 * nor a location. What does is not served.
 */
#include "request/slash.h"

#include "http/path.h"
#include "request/handler_choice.h"

/* The folder of the segment that has the first encoded slash. */
static struct slice folder(const struct h2d_req *req)
{
	struct slice t = req->target;
	size_t n = 0;

	while (n + 2 < t.n && strncasecmp(t.p + n, "%2f", 3) != 0)
		n++;
	while (n > 0 && t.p[n - 1] != '/')
		n--;
	return slice_of(t.p, n);
}

static bool is_one_location(struct h2d_req *req)
{
	struct slice path, query;

	return path_parse(folder(req), &req->arena, &path, &query) == NULL &&
	       site_location(req->site, path) == site_location(req->site, req->path);
}

bool slash_is_harmless(struct h2d_req *req)
{
	if (req->method != H2D_GET && req->method != H2D_HEAD)
		return false;
	return !req->conn->admin && !req->conn->trusted && !req->site->guarded &&
	       handler_choice_is_file(req) && is_one_location(req);
}
