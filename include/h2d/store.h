/*
 * h2d/store.h: the calls by which a handler stores its request's body as files in the site's
 * upload-dir, and removes files there. Included by h2d/handler.h.
 */
#ifndef H2D_STORE_H
#define H2D_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct h2d_req;

/* A file in the site's upload-dir. */
struct h2d_stored {
	const char *name; /* ends in NUL */
	const char *path; /* where it can be asked for, percent-encoded: for a location field */
	uint64_t size;
	/* As GET will say it, with its quotes; NULL: the file is longer than cache.max-file-size.
	 */
	const char *etag;
	/* The digest of its content, for a field of that name (RFC 9530); NULL: the file is longer
	 * than cache.max-file-size, and the request has neither a digest nor want-repr-digest. */
	const char *repr_digest;
	bool created; /* nothing had that name before */
};

/*
 * The outcome of an upload; called once in the loop, perhaps before the call that it belongs to
 * returns, and not at all if the request went away or was answered by the server meanwhile (401,
 * 413). It gives the reply. status: what to answer with; below 400 the n files are in place, on the
 * disk and what every worker answers with; else none is. files and what they point to live for the
 * call.
 */
typedef void h2d_stored_fn(
	struct h2d_req *req, void *state, int status, const struct h2d_stored *files, size_t n);

/*
 * Takes the request's body from here on, instead of the handler's body() and end(), and stores it
 * as the file of that name (decoded, len bytes, copied) in upload-dir, or in a folder below it,
 * "a/b/name", as deep as the configuration says; whole or not at all. From start(), for a route
 * that streams its body; or later, where start() has called h2d_body_pause(): what comes of the
 * body before, and is not paused, would be missing, and is a mistake of the handler that ends the
 * worker. The configuration says who may write, or leaves it to the handler, which has a folder of
 * its own then (store-folder of its location, in front of name); and how much, and whether a file
 * may be replaced; conditions (RFC 9110, 13) and digests (RFC 9530) of the request are heeded.
 */
void h2d_store(struct h2d_req *req, const char *name, size_t len, h2d_stored_fn *done);

/* Stores a body of multipart/form-data (RFC 7578): each part with a file name becomes a file, all
 * of them or none. */
void h2d_store_form(struct h2d_req *req, h2d_stored_fn *done);

/* h2d_store_form() in the folder "a/b" below upload-dir, len bytes, as deep as may be. */
void h2d_store_form_in(struct h2d_req *req, const char *folder, size_t len, h2d_stored_fn *done);

/*
 * Answers a form of a person, from the done() of h2d_store_form(): where the client would rather
 * have text/html than application/json, it is sent (303) to the listing of the folder, or, where
 * that has none, shown with that status what was stored. False: it would rather have something
 * else, and has no answer yet.
 */
bool h2d_store_show(struct h2d_req *req, int status, const struct h2d_stored *files, size_t n);

/*
 * Resumable uploads (draft-ietf-httpbis-resumable-upload-12). h2d_store_resumable() is h2d_store()
 * but that the client may ask, by its field upload-complete, for an upload that survives its
 * connection, and the server. Such an upload is a resource of its own: its path is that of the
 * request, H2D_UPLOAD_PATH and a name that cannot be guessed. So a route that calls it needs
 * another one for HEAD, PATCH (which streams its body) and DELETE: its pattern, H2D_UPLOAD_PATH and
 * {upload}. The handler of that one calls h2d_store_resume() with the same file name and upload.
 *
 * done() of either may get a status below 400 and no files: then the request is done, and the file
 * not complete; the fields of the response are there.
 */
#define H2D_UPLOAD_PATH "/.upload/"
void h2d_store_resumable(struct h2d_req *req, const char *name, size_t len, h2d_stored_fn *done);
void h2d_store_resume(struct h2d_req *req, const char *name, size_t len, const char *upload,
	size_t upload_len, h2d_stored_fn *done);

/* Adds the fields by which an answer to OPTIONS says that uploads can be resumed, where they can.
 */
void h2d_store_offer(struct h2d_req *req);

/* Removes the file of that name, by the same rules. done() gets no files. */
void h2d_store_remove(struct h2d_req *req, const char *name, size_t len, h2d_stored_fn *done);

#ifdef __cplusplus
}
#endif

#endif
