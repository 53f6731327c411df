/*
 * upload: a client's description of an upload: the request headers of resumable uploads
 * (draft-ietf-httpbis-resumable-upload-12, interop version 8), content-digest and repr-digest (RFC
 * 9530), and the file's name. Pure: the caller computes the hashes.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "http/field.h"

enum { UPLOAD_INTEROP_VERSION = 8 };
#define UPLOAD_INTEROP_TEXT "8"
#define UPLOAD_MEDIA_TYPE   "application/partial-upload"

/* Headers of a client. A malformed or duplicate one is ignored (4.1 of the draft). */
struct upload_field {
	bool has_complete, complete; /* upload-complete */
	bool has_offset, has_length;
	uint64_t offset; /* upload-offset */
	uint64_t length; /* upload-length */
	bool takes_104;  /* upload-draft-interop-version is ours */
};

void upload_field_parse(const struct field *fields, unsigned n, struct upload_field *u);

/* True if a content-type is that of a part of an upload (6 of the draft); parameters are
 * ignored. */
bool upload_field_is_partial(struct slice content_type);

/* --- digests --- */

/* The active ones of RFC 9530, 5. */
enum digest_algorithm { DIGEST_SHA_256, DIGEST_SHA_512, DIGEST_ALGORITHMS };

enum {
	DIGEST_SIZE_MAX = 64,       /* bytes of a hash */
	DIGEST_FIELD_MAX = 10 + 88, /* the most bytes of digest_field_write() */
};

/* The content of one header. */
struct digest_field {
	bool given[DIGEST_ALGORITHMS];
	unsigned char hash[DIGEST_ALGORITHMS][DIGEST_SIZE_MAX];
};

/*
 * Reads all lines of the header of that name (lower case) among fields: a dictionary of byte
 * sequences (RFC 9651, 3.2). Other algorithms are ignored; of a duplicate key the last counts.
 * Without the header d is empty, without an error. ERR_DIGEST_FIELD: malformed, or a hash of a
 * wrong length; then *d is undefined.
 */
const struct err *digest_field_parse(
	const struct field *fields, unsigned n, struct slice name, struct digest_field *d);

/*
 * True if want-repr-digest among fields (RFC 9530, 4) has a weight above 0 for one of the
 * algorithms here. A malformed line is ignored: it is a preference, not a claim.
 */
bool digest_field_wanted(const struct field *fields, unsigned n);

/* True: d has at least one digest. */
bool digest_field_any(const struct digest_field *d);

/* NULL if the header has no a, or the same hash; else ERR_DIGEST_WRONG. */
const struct err *digest_field_compare(
	const struct digest_field *d, enum digest_algorithm a, const unsigned char *hash);

/* Writes the value, sha-256=:…:, to out (no NUL); the number of bytes. */
size_t digest_field_write(
	char out[DIGEST_FIELD_MAX], enum digest_algorithm a, const unsigned char *hash);

/* --- its name --- */

enum { FILE_NAME_LEN_MAX = 255 }; /* bytes: NAME_MAX of Linux */

/*
 * name: decoded. NULL if it may be used, else the first of these rules that it breaks:
 * ERR_FILE_NAME_EMPTY; _LONG: more than FILE_NAME_LEN_MAX bytes; _DOT: it begins with a dot
 * (.well-known too); _SLASH: a slash or backslash, of a path of Unix or Windows; _UTF8: not UTF-8
 * (RFC 3629); _CONTROL: a control character, U+0000 to U+001F, U+007F to U+009F, or a line or
 * paragraph separator, U+2028, U+2029; _DIRECTION: one of U+202A to U+202E or U+2066 to U+2069,
 * which show "cod.exe" as "exe.doc".
 *
 * Other invisible characters are allowed: names in use have marks of direction, joiners (emoji,
 * Persian) and variation selectors.
 */
const struct err *file_name_check(struct slice name);

/*
 * The end of a form's file name, after its last slash or backslash: browsers send the path of a
 * file in a chosen directory, and old ones of any file.
 */
struct slice file_name_last(struct slice name);
