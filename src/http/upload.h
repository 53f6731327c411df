/*
 * upload: what a client says of an upload: the request fields of resumable uploads
 * (draft-ietf-httpbis-resumable-upload-12, whose interop version is 8), content-digest and
 * repr-digest (RFC 9530), and the name that the file is to have. Pure: who calls it computes the
 * hashes.
 */
#ifndef H2D_HTTP_UPLOAD_H
#define H2D_HTTP_UPLOAD_H

#include "base/err.h"
#include "base/slice.h"
#include "http/field.h"

enum { UPLOAD_INTEROP_VERSION = 8 };
#define UPLOAD_INTEROP_TEXT "8"
#define UPLOAD_MEDIA_TYPE   "application/partial-upload"

/* The fields of a client. A field that is malformed, or there twice, is as if it were not there
 * (4.1 of the draft). */
struct upload_field {
	bool has_complete, complete; /* upload-complete */
	bool has_offset, has_length;
	uint64_t offset; /* upload-offset */
	uint64_t length; /* upload-length */
	bool takes_104;  /* upload-draft-interop-version is ours */
};

void upload_field_parse(const struct field *fields, unsigned n, struct upload_field *u);

/* Whether a content-type is that of a part of an upload (6 of the draft); parameters mean nothing.
 */
bool upload_field_is_partial(struct slice content_type);

/* --- digests --- */

/* The active ones of RFC 9530, 5. */
enum digest_algorithm { DIGEST_SHA_256, DIGEST_SHA_512, DIGEST_ALGORITHMS };

enum {
	DIGEST_SIZE_MAX = 64,       /* bytes of a hash */
	DIGEST_FIELD_MAX = 10 + 88, /* bytes that digest_field_write() writes at most */
};

/* The content of one field. */
struct digest_field {
	bool given[DIGEST_ALGORITHMS];
	unsigned char hash[DIGEST_ALGORITHMS][DIGEST_SIZE_MAX];
};

/*
 * Reads all lines of the field of that name (lower case) among fields: a dictionary of byte
 * sequences (RFC 9651, 3.2). Other algorithms are ignored; of a key that is there twice the last
 * counts. No such field gives nothing, and no error. ERR_DIGEST_FIELD: malformed, or a hash of a
 * length that its algorithm has not; then nothing of *d counts.
 */
const struct err *digest_field_parse(
	const struct field *fields, unsigned n, struct slice name, struct digest_field *d);

/*
 * Whether want-repr-digest among fields (RFC 9530, 4) has a weight above 0 for one of the
 * algorithms here. A malformed line says nothing: it is a preference, not a claim.
 */
bool digest_field_wanted(const struct field *fields, unsigned n);

/* True: d gives at least one digest. */
bool digest_field_any(const struct digest_field *d);

/* NULL if the field says nothing of a, or the same as hash; else
 * ERR_DIGEST_WRONG. */
const struct err *digest_field_compare(
	const struct digest_field *d, enum digest_algorithm a, const unsigned char *hash);

/* Writes the value, sha-256=:…:, to out (no NUL); the number of bytes. */
size_t digest_field_write(
	char out[DIGEST_FIELD_MAX], enum digest_algorithm a, const unsigned char *hash);

/* --- its name --- */

enum { FILE_NAME_LEN_MAX = 255 }; /* bytes: NAME_MAX of Linux */

/*
 * name: decoded. NULL if it may be used, else which rule it breaks, the first of these:
 *
 *	ERR_FILE_NAME_EMPTY      it is empty
 *	ERR_FILE_NAME_LONG       it has more than FILE_NAME_LEN_MAX bytes
 *	ERR_FILE_NAME_DOT        it begins with a dot: hidden, "." and ".." (.well-known is no
 *exception) ERR_FILE_NAME_SLASH      it has a slash or backslash: a path, be it of Unix or of
 *Windows ERR_FILE_NAME_UTF8       it is not UTF-8 (RFC 3629) ERR_FILE_NAME_CONTROL    it has a
 *control character: U+0000 to U+001F, U+007F to U+009F, or a line or paragraph separator, U+2028,
 *U+2029 ERR_FILE_NAME_DIRECTION  it has one of U+202A to U+202E or U+2066 to U+2069, which show
 *	                         "cod.exe" as "exe.doc"
 *
 * Other invisible characters may be there: names in use hold marks of direction, joiners (emoji,
 * Persian) and variation selectors.
 */
const struct err *file_name_check(struct slice name);

/*
 * The end of a form's file name, behind its last slash or backslash: for a file of a folder that
 * was chosen browsers send the way to it, and old ones did for any.
 */
struct slice file_name_last(struct slice name);

#endif
