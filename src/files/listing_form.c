/*
 * listing_form: constant text around one URL. Style and script are files of src/files/page/, which
 * the build embeds and hashes.
 */
#include "files/listing_form.h"

#include "http/path.h"
#include "request/req_client.h"
#include "share/access.h"
#include "src/files/page_parts.h"

const struct slice listing_form_policy =
	SLICE_LIT("default-src 'none'; img-src data:; style-src " PAGE_CSS_HASH " " LIST_CSS_HASH
		  " " FORM_CSS_HASH "; script-src " FORM_JS_HASH "; connect-src 'self'; "
		  "base-uri 'none'; form-action 'self'; frame-ancestors 'self'");

void listing_form_write(struct slice action, struct strbuf *t)
{
	strbuf_add(t, SLICE("<style>" FORM_CSS "</style>\n<form method=\"post\" action=\""));
	strbuf_html(t, action);
	strbuf_add(t, SLICE("\" enctype=\"multipart/form-data\">\n"
			    "<label for=\"file\">Upload files</label>\n"
			    "<input id=\"file\" name=\"file\" type=\"file\" multiple required>\n"
			    "<button>Upload</button>\n<p role=\"status\"></p>\n<ul></ul>\n</form>\n"
			    "<script>" FORM_JS "</script>\n"));
}

/* --- where ------------------------------------------------------------------------------------ */

/* Whether the rules of a location may let the client in; passwords are asked for later. */
static bool lets_in(const struct h2d_req *req, const struct location *location)
{
	return !(location->refused_methods & 1u << H2D_POST) &&
	       (location->access == NULL || access_allows(location->access, req_client(req)));
}

/* As store_gate.c will see it. */
static bool may_write(const struct h2d_req *req, struct slice own, struct slice asked)
{
	const struct location *a = site_location(req->site, own),
			      *b = site_location(req->site, asked);

	return (a->writers || b->writers) && lets_in(req, a) && lets_in(req, b);
}

/* Segments of a path that begins and ends with "/". */
static unsigned segments(struct slice path)
{
	unsigned n = 0;

	for (size_t i = 1; i < path.n; i++)
		n += path.p[i] == '/';
	return n;
}

/* Whether path is the folder of uploads, or one below it, as it is listed: in the server's own
 * tree, by its own name. */
static bool is_folder(const struct h2d_req *req, struct slice path)
{
	const struct site *site = req->site;
	size_t n = site->uploads.n;

	return n > 0 && req->location->root == site->root && path.n > n && path.p[n] == '/' &&
	       slice_starts(path, site->uploads) &&
	       segments(slice_of(path.p + n, path.n - n)) <= site->upload_depth;
}

/* Where the routes have the folder: "/files", and of one below it "/files/a/". */
static struct slice public_path(struct h2d_req *req, struct slice path)
{
	struct slice below = slice_of(path.p + req->site->uploads.n, path.n - req->site->uploads.n);

	return arena_join(&req->arena, SLICE(SITE_UPLOADS_AT), below.n > 1 ? below : SLICE(""));
}

struct slice listing_form_action(struct h2d_req *req, struct slice path)
{
	static const struct slice up = SLICE_LIT("../"), nowhere;
	unsigned n = segments(path);
	struct slice to;
	char *text, *at;

	if (!is_folder(req, path))
		return nowhere;
	to = public_path(req, path);
	if (to.p == NULL || !may_write(req, path, to))
		return nowhere;
	to = path_encode(to, &req->arena);
	text = at = arena_alloc(&req->arena, n * up.n + to.n);
	if (to.p == NULL || text == NULL)
		return nowhere;
	while (n-- > 0)
		at = (char *)memcpy(at, up.p, up.n) + up.n;
	memcpy(at, to.p + 1, to.n - 1);
	return slice_of(text, (size_t)(at - text) + to.n - 1);
}
