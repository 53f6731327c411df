/*
 * store_show: what a person is shown whose form was stored, who has a browser and no use for JSON:
 * the folder again, or where no one may look into it, what is there now. On the loop.
 */
#include "base/human.h"
#include "base/strbuf.h"
#include "http/accept.h"
#include "http/page.h"
#include "http/path.h"
#include "request/handler_rule.h"
#include "store/store.h"

static bool wants_page(const struct h2d_req *req)
{
	return accept_weight(req->fields, req->nfields, SLICE("text/html")) >
	       accept_weight(req->fields, req->nfields, SLICE("application/json"));
}

/* The path of the folder's listing, encoded; NULL: it has none, or memory is out. */
static const char *listing_of(struct store *s)
{
	const struct site *site = s->req->site;
	struct slice path = store_own_path(s, "");
	const struct location *location;

	if (path.n == 0)
		return NULL;
	location = site_location(site, path);
	if (!location->autoindex || location->root != site->root || location->returned != NULL)
		return NULL;
	path = path_encode(path, &s->arena);
	return path.n > 0 ? arena_printf(&s->arena, "%.*s", SLICE_ARG(path)) : NULL;
}

static void write_file(const struct h2d_stored *file, struct strbuf *t)
{
	char size[HUMAN_SIZE];

	strbuf_add(t, SLICE("<tr><td><a href=\""));
	strbuf_html(t, slice_str(file->path));
	strbuf_add(t, SLICE("\"><bdi>"));
	strbuf_html(t, slice_str(file->name));
	strbuf_printf(t, "</bdi></a></td><td>%s</td></tr>\n", human_bytes(size, file->size));
}

static void write_page(const struct h2d_stored *files, size_t n, struct strbuf *t)
{
	strbuf_printf(t,
		"%s%zu file%s stored</title>\n%s</head>\n<body>\n<main>\n<h1>%zu file%s "
		"stored</h1>\n"
		"<table>\n<tbody>\n",
		page_head, n, n == 1 ? "" : "s", page_list_style, n, n == 1 ? "" : "s");
	for (size_t i = 0; i < n; i++)
		write_file(&files[i], t);
	strbuf_add(t, SLICE("</tbody>\n</table>\n</main>\n</body>\n</html>\n"));
}

static void reply_page(struct h2d_req *req, int status, const struct h2d_stored *files, size_t n)
{
	struct strbuf t = { 0 };

	write_page(files, n, &t);
	if (t.failed || reply_page_policy(req) < 0 ||
		h2d_reply_field(req, "location", files->path) < 0)
		h2d_reply_error(req, ERR_NO_MEMORY->status);
	else
		h2d_reply_bytes(req, status, "text/html; charset=utf-8", t.p, t.n);
	strbuf_fini(&t);
}

bool h2d_store_show(struct h2d_req *req, int status, const struct h2d_stored *files, size_t n)
{
	struct store *s = req->hook_state;
	const char *listing;

	HANDLER_CALL();
	if (!wants_page(req))
		return false;
	listing = listing_of(s);
	if (listing != NULL && h2d_reply_field(req, "location", listing) == 0)
		h2d_reply_bytes(req, 303, NULL, NULL, 0);
	else
		reply_page(req, status, files, n);
	return true;
}
