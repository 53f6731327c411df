/*
 * explain_url: parses a URL. Paths and queries stay unchanged, so that the server's own rules
 * answer a malformed one. It never looks a name up.
 */
#include "cli/explain.h"

#include "http/authority.h"
#include "http/path.h"

#define NO_MEMORY "out of memory"

/* RFC 3986, 2.1; an invalid escape stays. p NULL when memory is out. */
static struct slice explain_url_decode(struct slice s, struct arena *a)
{
	char *out = arena_alloc(a, s.n + 1), *o = out;

	for (size_t i = 0; out != NULL && i < s.n; i++) {
		int byte = s.p[i] == '%' ? path_escape_byte(s, i) : -1;

		*o++ = byte >= 0 ? (char)byte : s.p[i];
		i += byte >= 0 ? 2 : 0;
	}
	return slice_of(out, out != NULL ? (size_t)(o - out) : 0);
}

/* Cuts the last c off s, with the text before it, which is *front; false: there is no c. */
static bool explain_url_cut(struct slice *s, char c, struct slice *front)
{
	const char *at = s->n > 0 ? memrchr(s->p, c, s->n) : NULL;

	if (at == NULL)
		return false;
	*front = slice_of(s->p, (size_t)(at - s->p));
	*s = slice_of(at + 1, s->n - front->n - 1);
	return true;
}

static const char *set_port(struct explain_url *url)
{
	struct slice rest = url->authority, host;
	unsigned long port = 0;

	if (!explain_url_cut(&rest, ':', &host) || memchr(rest.p, ']', rest.n) != NULL)
		return NULL;
	for (size_t i = 0; i < rest.n && port <= UINT16_MAX; i++)
		port = 10 * port + (unsigned long)(rest.p[i] - '0');
	if (port > UINT16_MAX || (port == 0 && rest.n > 0))
		return "its port is invalid";
	url->port = (uint16_t)port;
	return NULL;
}

static const char *set_authority(struct explain_url *url, struct slice text, struct arena *a)
{
	struct slice user = { 0 };

	url->authority = text;
	if (explain_url_cut(&url->authority, '@', &user)) {
		url->user = explain_url_decode(user, a);
		if (url->user.p == NULL)
			return NO_MEMORY;
	}
	url->host = authority_host(url->authority);
	if (url->host.n == 0)
		return "its host is missing or invalid";
	if (url->host.p[0] == '[')
		url->host = slice_of(url->host.p + 1, url->host.n - 2);
	return set_port(url);
}

static const char *set_target(struct explain_url *url, struct slice text, struct arena *a)
{
	const char *fragment = text.n > 0 ? memchr(text.p, '#', text.n) : NULL;

	if (fragment != NULL)
		text.n = (size_t)(fragment - text.p);
	if (text.n == 0 || text.p[0] != '/')
		text = arena_join(a, SLICE("/"), text);
	url->target = text;
	return text.p != NULL ? NULL : NO_MEMORY;
}

const char *explain_url_parse(struct explain_url *url, const char *text, struct arena *a)
{
	struct slice rest = slice_str(text);
	const char *why;
	size_t n;

	*url = (struct explain_url){ 0 };
	if (text[0] == '/')
		return set_target(url, rest, a);
	if (strncasecmp(text, "http://", 7) != 0 && strncasecmp(text, "https://", 8) != 0)
		return "write http://, https:// or / first";
	url->has_scheme = true;
	url->tls = (text[4] | 0x20) == 's';
	n = url->tls ? 8 : 7;
	rest = slice_of(rest.p + n, rest.n - n);
	n = strcspn(rest.p, "/?#");
	why = set_authority(url, slice_of(rest.p, n), a);
	return why != NULL ? why : set_target(url, slice_of(rest.p + n, rest.n - n), a);
}
