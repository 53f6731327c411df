/*
 * digest_field: content-digest and repr-digest (RFC 9530): reads what a client says of its bytes,
 * compares, and writes what h2d says. Pure; who calls it computes the hashes.
 */
#ifndef H2D_HTTP_DIGEST_FIELD_H
#define H2D_HTTP_DIGEST_FIELD_H

#include "base/err.h"
#include "http/field.h"

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

#endif
