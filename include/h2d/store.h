/*
 * h2d/store.h: how a handler stores its request's body as files in the site's upload-dir, and
 * removes files from it. Included by h2d/handler.h.
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
	const char *name;
	const char *path; /* of its URL, percent-encoded: for the header location */
	uint64_t size;
	/* The ETag of GET, with its quotes; NULL: the file exceeds cache.max-file-size. */
	const char *etag;
	/* The digest of its content, for the header repr-digest (RFC 9530); NULL: the file exceeds
	 * cache.max-file-size, and the request has neither a digest nor `want-repr-digest`. */
	const char *repr_digest;
	bool created; /* no file had that name before */
};

/*
 * The result of an upload. Called once on the loop, possibly before the call that began the upload
 * returns, but not if the request is gone or h2d has answered it (401, 413). It must reply with
 * status. Below 400 the n files are on the disk, and every worker serves them; otherwise none is
 * stored. files and its strings are valid during the call.
 */
typedef void h2d_stored_fn(
	struct h2d_req *req, void *state, int status, const struct h2d_stored *files, size_t n);

/*
 * Stores the request's body, instead of body() and end(), completely or not at all, as the file
 * name (decoded, len bytes, copied) in upload-dir or, "a/b/name", in a subdirectory, as deep as the
 * configuration allows. Call it from start(), on a route with BODY_STREAM; or later, if start() has
 * called h2d_body_pause(): an upload that would lack the beginning of the body is a mistake that
 * ends the worker. The configuration defines who may write, how much, and whether files may be
 * replaced. With `store-folder` in its location, the handler decides who may write, below that
 * directory. Conditions (RFC 9110, 13) and digests (RFC 9530) of the request apply.
 */
void h2d_store(struct h2d_req *req, const char *name, size_t len, h2d_stored_fn *done);

/* Stores each part with a file name of a multipart/form-data body (RFC 7578): all or none. A POST
 * from the page of another origin gets 403, unless upload-origins has that origin. */
void h2d_store_form(struct h2d_req *req, h2d_stored_fn *done);

/* Like h2d_store_form(), in the subdirectory "a/b" of upload-dir. */
void h2d_store_form_in(struct h2d_req *req, const char *directory, size_t len, h2d_stored_fn *done);

/*
 * Answers a browser's form, from the done() of h2d_store_form(): if the client prefers text/html to
 * application/json, redirects it (303) to the listing of the directory or, if there is none,
 * answers status with a page of the stored files. False: the client prefers another type, and there
 * is no reply yet.
 */
bool h2d_store_show(struct h2d_req *req, int status, const struct h2d_stored *files, size_t n);

/*
 * Resumable uploads (draft-ietf-httpbis-resumable-upload-12). h2d_store_resumable() is like
 * h2d_store(), but with the header upload-complete a client can request an upload that survives its
 * connection and a restart of h2d. The path of such an upload is that of the request,
 * H2D_UPLOAD_PATH and a name that cannot be guessed. A route that calls it needs a second one for
 * HEAD, PATCH (with BODY_STREAM) and DELETE: its pattern, H2D_UPLOAD_PATH and {upload}. The handler
 * of that route calls h2d_store_resume() with the same file name and upload.
 *
 * If done() gets a status below 400 and no files, the request is complete, but the file is not. The
 * response headers are set.
 */
#define H2D_UPLOAD_PATH "/.upload/"
void h2d_store_resumable(struct h2d_req *req, const char *name, size_t len, h2d_stored_fn *done);
void h2d_store_resume(struct h2d_req *req, const char *name, size_t len, const char *upload,
	size_t upload_len, h2d_stored_fn *done);

/* Adds the headers that announce resumable uploads in an answer to OPTIONS, if they are possible at
 * that path. */
void h2d_store_offer(struct h2d_req *req);

/* Removes the file name, by the same rules; on a drive also a directory with all that it contains.
 * done() gets no files. */
void h2d_store_remove(struct h2d_req *req, const char *name, size_t len, h2d_stored_fn *done);

/* --- a drive: an upload-dir with the key webdav ----------------------------------------------- */

/* Makes the directory "a/b"; a must exist. 405: the name exists. done() gets one file with the path
 * alone. */
void h2d_store_make(struct h2d_req *req, const char *path, size_t len, h2d_stored_fn *done);

/* How to copy; bits. */
enum h2d_copy {
	H2D_COPY_MOVE = 1,    /* rename it */
	H2D_COPY_REPLACE = 2, /* also if the destination exists; else 412 */
	H2D_COPY_WHOLE = 4,   /* a directory with all that it contains */
};

/*
 * Copies the file or directory path to the URL destination ("/files/b", or absolute), in the same
 * upload-dir: completely or not at all. The rules of access apply to both. 409: the destination has
 * no directory. done() gets one file with the path alone if the destination is new.
 */
void h2d_store_copy(struct h2d_req *req, const char *path, size_t len, const char *destination,
	unsigned how, h2d_stored_fn *done);

/* A file or directory. */
struct h2d_entry {
	const char *name; /* of a member; "": the one that was requested */
	uint64_t size;
	int64_t modified; /* seconds since 1970 */
	bool directory;
};

struct h2d_listing {
	const struct h2d_entry *entries; /* the requested one, then its members */
	size_t n;
	const char *etag;     /* of a requested file, as of a GET; NULL: none */
	uint64_t used, quota; /* bytes of upload-dir, and upload-quota; 0: unlimited */
};

/* The result of h2d_store_list(), like that of an upload. Below 400 listing and its strings are
 * valid as long as the request. */
typedef void h2d_listed_fn(
	struct h2d_req *req, void *state, int status, const struct h2d_listing *listing);

/* Lists the file or directory path ("": upload-dir itself), with the members of a directory that
 * the client may read if members is true. */
void h2d_store_list(
	struct h2d_req *req, const char *path, size_t len, bool members, h2d_listed_fn *done);

#ifdef __cplusplus
}
#endif

#endif
