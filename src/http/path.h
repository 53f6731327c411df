/*
 * path: from a request target to the path of routes and files (RFC 3986, 3.3 and 5.2.4). Pure. The
 * path begins with "/", has no empty, "." or ".." segment, no NUL, and is NUL-terminated; a
 * trailing slash stays.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

/*
 * target: origin-form, "/a%20b//./c?x=1" (RFC 9112, 3.2.1). The path is decoded into a, the query
 * is a part of target, undecoded. NULL, or ERR_BAD_PATH: no leading slash, a bad escape, an encoded
 * NUL, a control byte, a fragment, or ".." above the root; ERR_PATH_SLASH: a slash is encoded,
 * which separates segments in path, and no empty, "." or ".." segment was removed; ERR_NO_MEMORY
 * when a is full.
 */
const struct err *path_parse(
	struct slice target, struct arena *a, struct slice *path, struct slice *query);

/* s with all bytes percent-encoded except those that stay; p NULL when a is full. */
struct slice path_escape(struct slice s, bool (*stays)(unsigned char c), struct arena *a);

/* Writes path percent-encoded for a location header into a (unreserved, sub-delims, ":@/" stay). */
struct slice path_encode(struct slice path, struct arena *a);

/*
 * A name that begins with a dot is hidden: neither cached nor listed nor sent. ".well-known" (RFC
 * 8615) is not, in any directory.
 */
bool path_hidden_name(struct slice name);

/* The last segment of path; empty after a slash. */
static inline struct slice path_last(struct slice path)
{
	size_t at = path.n;

	while (at > 0 && path.p[at - 1] != '/')
		at--;
	return slice_of(path.p + at, path.n - at);
}

/* True if a segment of path is hidden. */
bool path_hidden(struct slice path);

/* --- one escape of percent-encoding (RFC 3986, 2.1); inline, as each request's path is parsed ---
 */

static inline int path_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The byte of the escape at in.p[i], a percent sign; -1 if it is none. */
static inline int path_escape_byte(struct slice in, size_t i)
{
	int high, low;

	if (in.n - i < 3)
		return -1;
	high = path_hex_digit(in.p[i + 1]);
	low = path_hex_digit(in.p[i + 2]);
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}
