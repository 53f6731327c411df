/* h1_head: knows the headers that decide the end of a message and of its connection. */
#include "proto/h1_parse.h"

#include "http/authority.h"
#include "http/field.h"

enum { UPGRADE_MAX = 64 }; /* bytes of a protocol's name */

static const struct err *host(struct h1_head *h, struct slice value)
{
	if (h->host.n > 0 || authority_host(value).n == 0)
		return ERR_HOST;
	h->host = value;
	return NULL;
}

/* RFC 9112, 6.3: one number; "5, 5" and two headers are refused, though the RFC would allow
 * them. */
static const struct err *content_length(struct h1_head *h, struct slice value)
{
	if (h->length != BODY_UNKNOWN || value.n == 0)
		return ERR_CONTENT_LENGTH;
	h->length = 0;
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
	/* All of these are refused: only the status is still open. */
	if (h->chunked || !field_list_next(&rest, &first) || slice_ieq(first, SLICE("chunked")))
		return ERR_TRANSFER_CODING;
	return ERR_CODING_UNKNOWN;
}

/* *keep: it names headers of the request, which a proxy must leave out. */
static const struct err *connection(struct h1_head *h, struct slice value, bool *keep)
{
	struct slice option;

	while (field_list_next(&value, &option)) {
		if (slice_ieq(option, SLICE("close")))
			h->close = true;
		else if (slice_ieq(option, SLICE("keep-alive")))
			h->keep_alive = true;
		else if (slice_ieq(option, SLICE("upgrade")))
			h->upgrades = true;
		else
			*keep = true;
	}
	return NULL;
}

/* RFC 9113, 3.1: h2c by upgrade is obsolete; beside others, and with a version, it and TLS would be
 * smuggled through a proxy. */
static __attribute__((cold, noinline)) const struct err *upgrade(
	struct h1_head *h, struct slice value)
{
	struct slice rest = value, one;

	if (value.n <= UPGRADE_MAX && field_token_length(value) == value.n &&
		!slice_ieq(value, SLICE("h2c")))
		h->upgrade = value;
	while (field_list_next(&rest, &one))
		if (slice_ieq(one, SLICE("websocket")))
			h->upgrade = SLICE("websocket");
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

const struct err *h1_head_field(
	struct h1_head *h, struct slice name, struct slice value, bool *keep)
{
	*keep = false;
	switch (name.n) {
	case 4:
		if (slice_eq(name, SLICE("host")))
			return host(h, value);
		break;
	case 6:
		if (slice_eq(name, SLICE("expect"))) {
			*keep = true;
			return expect(h, value);
		}
		break;
	case 7:
		if (slice_eq(name, SLICE("upgrade")))
			return upgrade(h, value);
		break;
	case 10:
		if (slice_eq(name, SLICE("connection")))
			return connection(h, value, keep);
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
	if (h->chunked && (h->length != BODY_UNKNOWN || minor == 0))
		return ERR_TRANSFER_CODING;
	/* RFC 9112, 3.2 */
	if (minor > 0 && h->host.n == 0)
		return ERR_HOST;
	/* RFC 9110, 10.1.1: HTTP/1.0 has no expectations. */
	if (minor == 0)
		h->wants_continue = h->expects_other = false;
	return h->expects_other ? ERR_EXPECTATION : NULL;
}

int h1_head_absolute(
	struct slice target, struct slice *scheme, struct slice *authority, struct slice *rest)
{
	static const struct slice schemes[] = { SLICE_LIT("http"), SLICE_LIT("https") };
	const char *colon;
	size_t n, i;

	if (target.n == 0 || target.p[0] == '/')
		return 0;
	colon = memmem(target.p, target.n, "://", 3);
	if (colon == NULL)
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
	return authority_host(*authority).n > 0 ? 1 : -1;
}
