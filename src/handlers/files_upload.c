/*
 * files_upload: PUT and POST: the body becomes a file in the upload directory, or the files of a
 * form do. The store checks and stores; the client's answer is made here.
 */
#include "h2d/upload_scope.h"

#include <stdio.h>
#include <string.h>

enum { PER_FILE = 64 }; /* of JSON, beside strings */

/* --- one file --------------------------------------------------------------------------------- */

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
static char *put_string(char *at, const char *s)
{
	*at++ = '"';
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			*at++ = '\\';
		*at++ = *s;
	}
	*at++ = '"';
	return at;
}

static char *put_text(char *at, const char *s)
{
	size_t n = strlen(s);

	memcpy(at, s, n);
	return at + n;
}

static char *put_file(char *at, const struct h2d_stored *f)
{
	at = put_string(put_text(at, "{\"name\":"), f->name);
	at += sprintf(at, ",\"size\":%llu", (unsigned long long)f->size);
	if (f->etag != NULL)
		at = put_string(put_text(at, ",\"etag\":"), f->etag);
	at = put_string(put_text(at, ",\"location\":"), f->path);
	return put_text(at, "}");
}

static size_t etag_len(const struct h2d_stored *f)
{
	return f->etag != NULL ? strlen(f->etag) : 0;
}

/* {"files":[…]}; NULL when the request's memory is full. */
static char *json(struct h2d_req *req, const struct h2d_stored *files, size_t n, size_t *len)
{
	size_t room = PER_FILE;
	char *text, *at;

	for (size_t i = 0; i < n; i++)
		room += PER_FILE + 2 * (strlen(files[i].name) + etag_len(&files[i])) +
			strlen(files[i].path);
	text = h2d_req_alloc(req, room);
	if (text == NULL)
		return NULL;
	at = put_text(text, "{\"files\":[");
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			*at++ = ',';
		at = put_file(at, &files[i]);
	}
	at = put_text(at, "]}\n");
	*len = (size_t)(at - text);
	return text;
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
	text = json(req, files, n, &len);
	if (text == NULL) {
		h2d_reply_error(req, 503);
		return;
	}
	h2d_reply_header(req, "location", files->path);
	h2d_reply_bytes(req, status, "application/json", text, len);
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

static void below_put_start(struct h2d_req *req, void *state)
{
	size_t len;
	const char *path = h2d_req_param(req, "*", &len);

	(void)state;
	h2d_store(req, path, len, file_stored);
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

const struct h2d_handler h2d_handler_files_below_delete = {
	.name = "files_below_delete",
	.scope = H2D_ON_FOLDERS,
	.start = delete_start,
};
