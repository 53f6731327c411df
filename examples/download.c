/*
 * download: GET /download/NAME sends the file NAME of the folder "downloads" below the document
 * root, to be saved rather than shown. Ranges, conditions, HEAD and the cache come with
 * h2d_reply_file().
 */
#include "h2d/handler.h"

#include <string.h>

#define FOLDER "/downloads/"

static void start(struct h2d_req *req, void *state)
{
	size_t len;
	const char *name = h2d_req_param(req, "name", &len);
	char *path = h2d_req_alloc(req, sizeof(FOLDER) + len);

	(void)state;
	if (path == NULL || h2d_reply_header(req, "content-disposition", "attachment") < 0) {
		h2d_reply_error(req, 503);
		return;
	}
	memcpy(path, FOLDER, sizeof(FOLDER) - 1);
	memcpy(path + sizeof(FOLDER) - 1, name, len);
	h2d_reply_file(req, H2D_DOCUMENT_ROOT, path, sizeof(FOLDER) - 1 + len);
}

const struct h2d_handler h2d_handler_download = {
	.name = "download",
	.start = start,
};
