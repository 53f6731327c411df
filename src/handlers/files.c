/*
 * files: reads files: the document root, which answers every path without a route and is no row of
 * routes.def, and the directory of uploads. PUT and POST: the body becomes a file in that
 * directory, or the files of a form do; the store checks and stores, and the client's answer is
 * made here.
 */
#include "h2d/upload_scope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* --- an uploaded file ------------------------------------------------------------------------- */

static void describe(struct h2d_req *req, const struct h2d_stored *file)
{
	if (file->etag != NULL)
		h2d_reply_header(req, "etag", file->etag);
	if (file->repr_digest != NULL)
		h2d_reply_header(req, "repr-digest", file->repr_digest);
	h2d_reply_header(req, "content-location", file->path);
	if (file->created)
		h2d_reply_header(req, "location", file->path);
}

static void file_stored(
	struct h2d_req *req, void *state, int status, const struct h2d_stored *files, size_t n)
{
	(void)state;
	if (status >= 400) {
		h2d_reply_error(req, status);
		return;
	}
	if (n > 0)
		describe(req, files);
	h2d_reply_bytes(req, status, NULL, NULL, 0);
}

static void put_start(struct h2d_req *req, void *state)
{
	size_t len;
	const char *name = h2d_req_param(req, "file_name", &len);

	(void)state;
	h2d_store_resumable(req, name, len, file_stored);
}

const struct h2d_handler h2d_handler_files_put = {
	.name = "files_put",
	.scope = H2D_ON_UPLOADS,
	.start = put_start,
};

/* An interrupted upload: its offset, its next part, or its end. */
static void resume_start(struct h2d_req *req, void *state)
{
	size_t len, upload_len;
	const char *name = h2d_req_param(req, "file_name", &len);
	const char *upload = h2d_req_param(req, "upload", &upload_len);

	(void)state;
	h2d_store_resume(req, name, len, upload, upload_len, file_stored);
}

const struct h2d_handler h2d_handler_files_resume = {
	.name = "files_resume",
	.scope = H2D_ON_UPLOADS,
	.start = resume_start,
};

static void options_start(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_store_offer(req);
	h2d_reply_options(req);
}

const struct h2d_handler h2d_handler_files_options = {
	.name = "files_options",
	.scope = H2D_ON_UPLOADS,
	.start = options_start,
};

/* --- a form ----------------------------------------------------------------------------------- */

/* s as a JSON string (RFC 8259, 7): names are UTF-8 without control characters. */
static void put_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s != '\0'; s++)
		fprintf(out, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
	fputc('"', out);
}

static void put_file(FILE *out, const struct h2d_stored *f)
{
	fputs("{\"name\":", out);
	put_string(out, f->name);
	fprintf(out, ",\"size\":%llu", (unsigned long long)f->size);
	if (f->etag != NULL) {
		fputs(",\"etag\":", out);
		put_string(out, f->etag);
	}
	fputs(",\"location\":", out);
	put_string(out, f->path);
	fputc('}', out);
}

/* {"files":[…]}, for free(3); NULL: memory is out. */
static char *json(const struct h2d_stored *files, size_t n, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	if (out == NULL)
		return NULL;
	fputs("{\"files\":[", out);
	for (size_t i = 0; i < n; i++) {
		fputs(i > 0 ? "," : "", out);
		put_file(out, &files[i]);
	}
	fputs("]}\n", out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static void form_stored(
	struct h2d_req *req, void *state, int status, const struct h2d_stored *files, size_t n)
{
	char *text;
	size_t len;

	(void)state;
	if (n == 0) {
		h2d_reply_error(req, status);
		return;
	}
	if (h2d_store_show(req, status, files, n))
		return;
	text = json(files, n, &len);
	if (text == NULL) {
		h2d_reply_error(req, 503);
		return;
	}
	h2d_reply_header(req, "location", files->path);
	h2d_reply_memory(req, status, "application/json", text, len, free);
}

static void form_start(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_store_form(req, form_stored);
}

const struct h2d_handler h2d_handler_files_form = {
	.name = "files_form",
	.scope = H2D_ON_UPLOADS,
	.start = form_start,
};

/* --- in directories below --------------------------------------------------------------------- */

/* Calls h2d_store_resume() if the path is that of an upload: no name begins with a dot. */
static bool below_resume(struct h2d_req *req)
{
	size_t len, mark = sizeof(H2D_UPLOAD_PATH) - 1;
	const char *path = h2d_req_param(req, "*", &len),
		   *at = memmem(path, len, H2D_UPLOAD_PATH, mark);

	if (at == NULL)
		return false;
	h2d_store_resume(req, path, (size_t)(at - path), at + mark,
		(size_t)(path + len - at) - mark, file_stored);
	return true;
}

/* A file in a directory below that of uploads, or an upload; a directory itself is the document
 * root's. */
static void below_start(struct h2d_req *req, void *state)
{
	size_t len;
	const char *path = h2d_req_param(req, "*", &len);

	if (h2d_req_method(req) == H2D_HEAD && below_resume(req))
		return;
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

static void below_put_start(struct h2d_req *req, void *state)
{
	size_t len;
	const char *path = h2d_req_param(req, "*", &len);

	(void)state;
	h2d_store_resumable(req, path, len, file_stored);
}

const struct h2d_handler h2d_handler_files_below_put = {
	.name = "files_below_put",
	.scope = H2D_ON_FOLDERS,
	.start = below_put_start,
};

/* A form into the directory whose path ends in a slash. */
static void below_post_start(struct h2d_req *req, void *state)
{
	size_t len;
	const char *path = h2d_req_param(req, "*", &len);

	if (len == 0)
		h2d_store_form(req, form_stored);
	else if (path[len - 1] == '/')
		h2d_store_form_in(req, path, len - 1, form_stored);
	else
		below_put_start(req, state);
}

const struct h2d_handler h2d_handler_files_below_post = {
	.name = "files_below_post",
	.scope = H2D_ON_FOLDERS,
	.start = below_post_start,
};

/* --- the end of a file ------------------------------------------------------------------------ */

/* The pattern has one parameter: a name, or a path. */
static void delete_start(struct h2d_req *req, void *state)
{
	size_t len;
	const char *name = h2d_req_param_at(req, 0, NULL, &len);

	(void)state;
	h2d_store_remove(req, name, len, file_stored);
}

const struct h2d_handler h2d_handler_files_delete = {
	.name = "files_delete",
	.scope = H2D_ON_UPLOADS,
	.start = delete_start,
};

/* OPTIONS, and PATCH and DELETE of an upload, or DELETE of a file. */
static void below_other_start(struct h2d_req *req, void *state)
{
	enum h2d_method method = h2d_req_method(req);

	if (method == H2D_OPTIONS)
		options_start(req, state);
	else if (below_resume(req))
		return;
	else if (method == H2D_DELETE)
		delete_start(req, state);
	else
		h2d_reply_error(req, 404);
}

const struct h2d_handler h2d_handler_files_below_other = {
	.name = "files_below_other",
	.scope = H2D_ON_FOLDERS,
	.start = below_other_start,
};
