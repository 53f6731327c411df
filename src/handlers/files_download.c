/*
 * files_download: GET /files/{file_name}: a file out of the upload directory. What strangers
 * uploaded must not run as a page of this site; the file reply adds the fields that see to it.
 */
#include "h2d/handler.h"

static void start(struct h2d_req *req, void *state)
{
	size_t len;
	const char *name = h2d_req_param(req, "file_name", &len);

	(void)state;
	/* The parameter is a part of the path: the slash in front of it belongs to the file's path.
	 */
	h2d_reply_file(req, H2D_UPLOAD_DIR, name - 1, len + 1);
}

const struct h2d_handler h2d_handler_files_download = {
	.name = "files_download",
	.scope = H2D_ON_UPLOADS,
	.start = start,
};
