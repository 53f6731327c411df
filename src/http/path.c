/*
 * path: decoding precedes the removal of dot segments, so that "%2e%2e" is removed too; no later
 * code may decode again.
 */
#include "http/path.h"

#include <ctype.h>
#include <sys/types.h>

enum { SLASH = 1, DOT = 2, QUERY = 4, PERCENT = 8, CONTROL = 16 };

static const uint8_t target_byte[256] = {
	[0x00 ... 0x1f] = CONTROL,
	[0x7f] = CONTROL,
	['/'] = SLASH,
	['.'] = DOT,
	['?'] = QUERY,
	['#'] = CONTROL, /* RFC 9112, 3.2.1: a target has no fragment */
	['%'] = PERCENT,
};

/* unreserved, sub-delims, ":", "@" (RFC 3986, 3.3: pchar), and the slash between segments */
static bool stays_in_path(unsigned char c)
{
	return isalnum(c) || (c != '\0' && strchr("-._~!$&'()*+,;=:@/", c) != NULL);
}

/*
 * Scans target once: where its path ends; *easy: the path is normal already, without an escape,
 * "//" or "/.".
 */
static const struct err *scan_target(struct slice target, size_t *path_n, bool *easy)
{
	unsigned seen = 0;
	bool plain = true;
	size_t i;

	for (i = 0; i < target.n; i++) {
		unsigned kind = target_byte[(unsigned char)target.p[i]];

		if (kind == 0) /* nearly every byte */
			continue;
		if (kind & QUERY)
			break;
		seen |= kind;
		if (kind & (SLASH | DOT) && i > 0 && target.p[i - 1] == '/')
			plain = false;
	}
	*path_n = i;
	*easy = plain && !(seen & PERCENT);
	for (; i < target.n; i++)
		seen |= target_byte[(unsigned char)target.p[i]];
	return seen & CONTROL ? ERR_BAD_PATH : NULL;
}

/*
 * The segment out[seg..o) is complete: returns the beginning of the next. "" and "." vanish, ".."
 * removes the one before it (RFC 3986, 5.2.4); -1 above the root. The caller adds the slash of a
 * segment that stays. out[seg - 1] is always a slash.
 */
static ssize_t end_segment(const char *out, size_t seg, size_t o)
{
	if (o == seg || (o == seg + 1 && out[seg] == '.'))
		return (ssize_t)seg;
	if (o != seg + 2 || out[seg] != '.' || out[seg + 1] != '.')
		return (ssize_t)o;
	if (seg == 1)
		return -1;
	for (seg--; out[seg - 1] != '/'; seg--)
		;
	return (ssize_t)seg;
}

/*
 * Decodes in into out, which has room for in.n + 1 bytes, *n of which are the path then.
 * ERR_PATH_SLASH: a slash is encoded. It separates segments like any; but if a segment is removed,
 * the path would differ for a reader who does not separate them there. Not inline: most paths are
 * normal.
 */
static __attribute__((noinline)) const struct err *normalise(struct slice in, char *out, size_t *n)
{
	size_t o = 1, seg = 1;
	bool removed = false, encoded = false, slash = false;
	ssize_t end;

	out[0] = '/';
	for (size_t i = 1; i < in.n; i++) {
		int c = (unsigned char)in.p[i];
		bool escape = c == '%';

		if (escape) {
			c = path_escape_byte(in, i);
			if (c <= 0) /* a bad one, or a NUL */
				return ERR_BAD_PATH;
			i += 2;
		}
		if (c == '/') {
			encoded = escape;
			slash |= escape;
			end = end_segment(out, seg, o);
			if (end < 0)
				return ERR_BAD_PATH;
			removed |= (size_t)end != o || o == seg;
			if ((size_t)end == o && o > seg)
				out[end++] = '/';
			o = seg = (size_t)end;
			continue;
		}
		out[o++] = (char)c;
	}
	end = end_segment(out, seg, o);
	if (end < 0)
		return ERR_BAD_PATH;
	removed |= (size_t)end != o;
	*n = (size_t)end;
	if (!slash)
		return NULL;
	return removed || (encoded && o == seg) ? ERR_BAD_PATH : ERR_PATH_SLASH;
}

const struct err *path_parse(
	struct slice target, struct arena *a, struct slice *path, struct slice *query)
{
	const struct err *err;
	size_t n = 0;
	bool easy = false;
	char *out;

	*path = *query = (struct slice){ NULL, 0 };
	if (target.n == 0 || target.p[0] != '/')
		return ERR_BAD_PATH;
	err = scan_target(target, &n, &easy);
	if (err != NULL)
		return err;
	out = arena_alloc(a, n + 1);
	if (out == NULL)
		return ERR_NO_MEMORY;
	if (n < target.n)
		*query = slice_of(target.p + n + 1, target.n - n - 1);
	if (easy) {
		memcpy(out, target.p, n);
		path->n = n;
	} else {
		err = normalise(slice_of(target.p, n), out, &path->n);
		if (err != NULL && err != ERR_PATH_SLASH)
			return err;
	}
	out[path->n] = '\0';
	path->p = out;
	return err;
}

struct slice path_escape(struct slice s, bool (*stays)(unsigned char c), struct arena *a)
{
	static const char hex[] = "0123456789ABCDEF";
	char *out = arena_alloc(a, 3 * s.n + 1), *o = out;

	if (out == NULL)
		return (struct slice){ 0 };
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (stays(c)) {
			*o++ = (char)c;
		} else {
			*o++ = '%';
			*o++ = hex[c >> 4];
			*o++ = hex[c & 15];
		}
	}
	*o = '\0';
	return slice_of(out, (size_t)(o - out));
}

struct slice path_encode(struct slice path, struct arena *a)
{
	return path_escape(path, stays_in_path, a);
}

bool path_hidden_name(struct slice name)
{
	return name.n > 0 && name.p[0] == '.' && !slice_eq(name, SLICE(".well-known"));
}

inline bool path_hidden(struct slice path)
{
	const char *end = path.p + path.n, *slash;

	for (const char *p = path.p; (p = memchr(p, '.', (size_t)(end - p))) != NULL; p++) {
		if (p == path.p || p[-1] != '/')
			continue;
		slash = memchr(p, '/', (size_t)(end - p));
		if (path_hidden_name(slice_of(p, (size_t)((slash != NULL ? slash : end) - p))))
			return true;
	}
	return false;
}
