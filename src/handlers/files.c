/*
 * files: reads files: the document root, which answers every path without a route and is no row of
 * routes.def, and the directory of uploads.
 */
#include "h2d/upload_scope.h"

static void files_start(struct h2d_req *req, void *state)
{
	enum h2d_method method = h2d_req_method(req);
	size_t len;
	const char *path = h2d_req_path(req, &len);

	(void)state;
	if (method != H2D_GET && method != H2D_HEAD) {
		h2d_reply_header(req, "allow", "GET, HEAD, OPTIONS");
		h2d_reply_error(req, 405);
		return;
	}
	h2d_reply_file(req, H2D_DOCUMENT_ROOT, path, len);
}

const struct h2d_handler h2d_handler_files = {
	.name = "files",
	.start = files_start,
};

/* The last len bytes of the path, with the slash before them, are the path of the file. */
static void reply_upload(struct h2d_req *req, size_t len)
{
	size_t n;
	const char *path = h2d_req_path(req, &n);

	h2d_reply_file(req, H2D_UPLOAD_DIR, path + n - len - 1, len + 1);
}

static void download_start(struct h2d_req *req, void *state)
{
	size_t len;

	(void)state;
	h2d_req_param(req, "file_name", &len);
	reply_upload(req, len);
}

/* Uploaded pages must not run as pages of this site: the file reply adds headers against that. */
const struct h2d_handler h2d_handler_files_download = {
	.name = "files_download",
	.scope = H2D_ON_UPLOADS,
	.start = download_start,
};

/* A file in a directory below that of uploads; a directory itself is the document root's. */
static void below_start(struct h2d_req *req, void *state)
{
	size_t len;
	const char *path = h2d_req_param(req, "*", &len);

	if (len > 0 && path[len - 1] != '/')
		reply_upload(req, len);
	else
		files_start(req, state);
}

const struct h2d_handler h2d_handler_files_below = {
	.name = "files_below",
	.scope = H2D_ON_FOLDERS,
	.start = below_start,
};
