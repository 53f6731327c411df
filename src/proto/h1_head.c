/* h1_head: see h1_head.h. Called by h1_stream for each field that h1_parse finds. */
#include "proto/h1_head.h"

#include "http/field.h"

enum {
	HEX = 1,
	HOST = 2,  /* of a reg-name: unreserved and sub-delims (RFC 3986, 3.2.2) */
};

static const uint8_t class[256] = {
	['0' ... '9'] = HEX | HOST, ['a' ... 'f'] = HEX | HOST, ['A' ... 'F'] = HEX | HOST,
	['g' ... 'z'] = HOST, ['G' ... 'Z'] = HOST, ['-'] = HOST, ['.'] = HOST, ['_'] = HOST,
	['~'] = HOST, ['!'] = HOST, ['$'] = HOST, ['&'] = HOST, ['\''] = HOST, ['('] = HOST,
	[')'] = HOST, ['*'] = HOST, ['+'] = HOST, [','] = HOST, [';'] = HOST, ['='] = HOST,
};

static bool is(char c, uint8_t of)
{
	return class[(uint8_t)c] & of;
}

/* The length of the host in front, 0 if there is none. */
static size_t host_length(struct slice s)
{
	size_t i = 0;

	if (s.n > 0 && s.p[0] == '[') {
		for (i = 1; i < s.n && (is(s.p[i], HEX) || s.p[i] == ':' || s.p[i] == '.'); i++)
			;
		return i > 1 && i < s.n && s.p[i] == ']' ? i + 1 : 0;
	}
	while (i < s.n) {
		if (is(s.p[i], HOST))
			i++;
		else if (s.p[i] == '%' && s.n - i > 2 && is(s.p[i + 1], HEX) && is(s.p[i + 2], HEX))
			i += 3;
		else
			break;
	}
	return i;
}

/* uri-host [ ":" port ], and not empty (RFC 9110, 4.2.1); no user information (4.2.4). */
static bool authority_valid(struct slice s)
{
	size_t i = host_length(s);

	if (i == 0 || (i < s.n && s.p[i++] != ':'))
		return false;
	for (; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return true;
}

static const struct err *host(struct h1_head *h, struct slice value)
{
	if (h->has_host || !authority_valid(value))
		return ERR_HOST;
	h->has_host = true;
	h->host = value;
	return NULL;
}

/* RFC 9112, 6.3: one number; "5, 5" and two fields of it are refused, though the RFC would allow them. */
static const struct err *content_length(struct h1_head *h, struct slice value)
{
	if (h->has_length || value.n == 0)
		return ERR_CONTENT_LENGTH;
	h->has_length = true;
	for (size_t i = 0; i < value.n; i++) {
		unsigned d = (unsigned)value.p[i] - '0';

		if (d > 9 || h->length > ((uint64_t)INT64_MAX - d) / 10)
			return ERR_CONTENT_LENGTH;
		h->length = h->length * 10 + d;
	}
	return NULL;
}

/* RFC 9112, 6.1: chunked, once and last; no other coding is known. */
static const struct err *transfer_encoding(struct h1_head *h, struct slice value)
{
	struct slice rest = value, first;

	if (!h->chunked && slice_ieq(value, SLICE("chunked"))) {
		h->chunked = true;
		return NULL;
	}
	/* Whatever this is, it is refused: only the status is still open. */
	if (h->chunked || !field_list_next(&rest, &first) || slice_ieq(first, SLICE("chunked")))
		return ERR_TRANSFER_CODING;
	return ERR_CODING_UNKNOWN;
}

static const struct err *connection(struct h1_head *h, struct slice value)
{
	struct slice option;

	while (field_list_next(&value, &option)) {
		if (slice_ieq(option, SLICE("close")))
			h->close = true;
		else if (slice_ieq(option, SLICE("keep-alive")))
			h->keep_alive = true;
	}
	return NULL;
}

static const struct err *expect(struct h1_head *h, struct slice value)
{
	if (slice_ieq(value, SLICE("100-continue")))
		h->wants_continue = true;
	else
		h->expects_other = true;
	return NULL;
}

const struct err *h1_head_field(struct h1_head *h, struct slice name, struct slice value, bool *keep)
{
	*keep = false;
	switch (name.n) {
	case 4:
		if (slice_eq(name, SLICE("host")))
			return host(h, value);
		break;
	case 6:
		if (slice_eq(name, SLICE("expect")))
			return expect(h, value);
		break;
	case 7: /* RFC 9113, 3.1: h2c by upgrade is obsolete */
		if (slice_eq(name, SLICE("upgrade")))
			return NULL;
		break;
	case 10:
		if (slice_eq(name, SLICE("connection")))
			return connection(h, value);
		if (slice_eq(name, SLICE("keep-alive")))
			return NULL;
		break;
	case 14:
		*keep = true;
		if (slice_eq(name, SLICE("content-length")))
			return content_length(h, value);
		break;
	case 16:
		if (slice_eq(name, SLICE("proxy-connection")))
			return NULL;
		break;
	case 17:
		if (slice_eq(name, SLICE("transfer-encoding")))
			return transfer_encoding(h, value);
		break;
	default:
		break;
	}
	*keep = true;
	return NULL;
}

const struct err *h1_head_end(struct h1_head *h, unsigned minor)
{
	/* RFC 9112, 6.1: both, or a coding in HTTP/1.0, are signs of an attack. */
	if (h->chunked && (h->has_length || minor == 0))
		return ERR_TRANSFER_CODING;
	/* RFC 9112, 3.2 */
	if (minor > 0 && !h->has_host)
		return ERR_HOST;
	/* RFC 9110, 10.1.1: HTTP/1.0 has no expectations. */
	if (minor == 0)
		h->wants_continue = h->expects_other = false;
	return h->expects_other ? ERR_EXPECTATION : NULL;
}

int h1_head_absolute(struct h1_head *h, struct slice target, struct slice *scheme,
	struct slice *authority, struct slice *rest)
{
	static const struct slice schemes[] = { SLICE_LIT("http"), SLICE_LIT("https") };
	const char *colon = memmem(target.p, target.n, "://", 3);
	size_t n, i;

	if (target.n == 0 || target.p[0] == '/' || colon == NULL)
		return 0;
	n = (size_t)(colon - target.p);
	for (i = 0; i < 2 && !slice_ieq(slice_of(target.p, n), schemes[i]); i++)
		;
	if (i == 2)
		return -1;
	*scheme = schemes[i];
	n += 3;
	*rest = slice_of(target.p + n, target.n - n);
	for (i = 0; i < rest->n && rest->p[i] != '/' && rest->p[i] != '?'; i++)
		;
	*authority = slice_of(rest->p, i);
	*rest = slice_of(rest->p + i, rest->n - i);
	h->absolute = true;
	return authority_valid(*authority) ? 1 : -1;
}
