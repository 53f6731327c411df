/*
 * files: the document root; answers every path that no route owns. It is the fallback of the
 * request core, not a row of routes.def.
 */
#include "h2d/handler.h"

static void start(struct h2d_req *req, void *state)
{
	enum h2d_method method = h2d_req_method(req);
	size_t len;
	const char *path = h2d_req_path(req, &len);

	(void)state;
	if (method != H2D_GET && method != H2D_HEAD) {
		h2d_reply_field(req, "allow", "GET, HEAD, OPTIONS");
		h2d_reply_error(req, 405);
		return;
	}
	h2d_reply_file(req, H2D_DOCUMENT_ROOT, path, len);
}

const struct h2d_handler h2d_handler_files = {
	.name = "files",
	.start = start,
};
