/*
 * field: headers (RFC 9110, 5) as name and value slices, and their legal bytes. Names are lower
 * case everywhere in h2d.
 */
#pragma once

#include <sys/types.h>

#include "base/slice.h"

struct field {
	struct slice name, value;
};

/* The first header of that lower-case name; NULL: none. */
const struct field *field_find(const struct field *fields, unsigned n, struct slice name);

/* A lower-case token (RFC 9110, 5.6.2) of at least one byte. */
bool field_name_valid(struct slice name);

/* True for headers of one connection (RFC 9110, 7.6.1), and of the message's framing. */
bool field_is_hop(struct slice name);

/* True if name is one of names, a list with spaces. Not for each request. */
bool field_among(struct slice name, const char *names);

/* A byte of a token, upper case included. */
bool field_is_tchar(unsigned char c);
/* Bytes of the token that s begins with. */
size_t field_token_length(struct slice s);

/* No control bytes but HTAB, no leading or trailing white space (RFC 9110, 5.5). */
bool field_value_valid(struct slice value);

/* s without the spaces and tabs around it (OWS of RFC 9110, 5.6.3). */
struct slice field_trim(struct slice s);

/*
 * Walks a comma-separated list (RFC 9110, 5.6.1), quoted strings respected: cuts the next element
 * off *rest into *element, white space trimmed. Empty elements are skipped. False at the end.
 */
bool field_list_next(struct slice *rest, struct slice *element);

/* True if such a list has that word, in any case. */
bool field_list_has(struct slice list, struct slice word);

/*
 * The value of the first cookie of that name, byte for byte, from the one cookie header (RFC 6265,
 * 4.2.1): with quotation marks, as only the setter of a cookie knows its encoding. False: none.
 */
bool field_cookie(struct slice all, struct slice name, struct slice *value);

/* A parameter after a value, `; name=value; other="quoted value"` (RFC 9110, 5.6.6). */
struct field_param {
	struct slice name;  /* a token, in the client's case */
	struct slice value; /* a token, or the text between the quotes, with its quoted-pairs */
	bool quoted;
};

/* Cuts name=value off *rest. False: it is malformed. */
bool field_pair_cut(struct slice *rest, struct field_param *p);

enum field_param_result {
	FIELD_PARAM_FOUND,
	FIELD_PARAM_NONE, /* the end */
	FIELD_PARAM_BAD,
};

/* Cuts the next parameter, with the semicolon before it, off *rest. Empty ones are skipped. */
enum field_param_result field_param_next(struct slice *rest, struct field_param *p);
/* Writes the value to out with its quoted-pairs decoded: the number of bytes, -1 if they exceed
 * size. */
ssize_t field_param_value(const struct field_param *p, char *out, size_t size);
