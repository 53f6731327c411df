/*
 * ws_handshake: judges the fields of a WebSocket's handshake, which any page in a browser can have
 * sent with the user's cookies: the origin alone tells whose it is. Called by the request core.
 */
#include "http/ws_handshake.h"

#include "http/authority.h"
#include "http/base64.h"
#include "http/field.h"

enum { KEY_BYTES = 16, KEY_DIGITS = BASE64_ENCODED(KEY_BYTES) };

bool ws_key_valid(struct slice key)
{
	char bytes[BASE64_DECODED_MAX(KEY_DIGITS)];

	return key.n == KEY_DIGITS && base64_decode(key, bytes) == KEY_BYTES;
}

/* --- the origin ------------------------------------------------------------------------------- */

/* The port of an authority with that host, without its colon; usual where there is none. */
static struct slice port(struct slice authority, struct slice host, struct slice usual)
{
	size_t n = (size_t)(host.p + host.n - authority.p);

	while (n < authority.n && authority.p[n] != ':')
		n++;
	return n + 1 < authority.n ? slice_of(authority.p + n + 1, authority.n - n - 1) : usual;
}

bool ws_origin_same(struct slice origin, struct slice authority, bool https)
{
	static const struct slice schemes[] = { SLICE_LIT("http://"), SLICE_LIT("https://") };
	static const struct slice ports[] = { SLICE_LIT("80"), SLICE_LIT("443") };
	struct slice theirs = authority_host(authority), own, rest;

	for (unsigned i = https; i < 2; i++) {
		if (!slice_starts(origin, schemes[i]))
			continue;
		rest = slice_of(origin.p + schemes[i].n, origin.n - schemes[i].n);
		own = authority_host(rest);
		return own.n > 0 && slice_ieq(own, theirs) &&
		       slice_eq(port(rest, own, ports[i]), port(authority, theirs, ports[i]));
	}
	return false;
}

/* The next word of a list that blanks divide; n 0: the list is at its end. */
static struct slice next_word(const char **list)
{
	struct slice word;

	*list += strspn(*list, " ");
	word = slice_of(*list, strcspn(*list, " "));
	*list += word.n;
	return word;
}

bool ws_origin_listed(struct slice origin, const char *list)
{
	struct slice word;

	while ((word = next_word(&list)).n > 0)
		if (slice_eq(word, SLICE("*")) || slice_ieq(word, origin))
			return true;
	return false;
}

/* --- the subprotocol -------------------------------------------------------------------------- */

struct slice ws_protocol_choose(const char *spoken, struct slice offered)
{
	struct slice word;

	while ((word = next_word(&spoken)).n > 0) {
		struct slice rest = offered, one;

		while (field_list_next(&rest, &one))
			if (slice_eq(one, word))
				return word;
	}
	return word;
}
