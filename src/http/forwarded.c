/*
 * forwarded: parses the headers from their end. An address has one notation here: any other is
 * none, because rules depend on it.
 */
#include "http/forwarded.h"

#include "http/field.h"

enum { NODE_MAX = 64 }; /* "[" address "]:" port has at most 54 bytes */

static bool is_port(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n > 0 && s.n <= 5;
}

/* ":4711" or empty. */
static bool is_port_part(struct slice s)
{
	struct slice port;

	if (s.n == 0)
		return true;
	port = slice_of(s.p + 1, s.n - 1);
	/* RFC 7239, 6.3: "_" begins a name that replaces a port which its proxy hides. */
	return s.p[0] == ':' && (is_port(port) || (port.n > 1 && port.p[0] == '_' &&
							  field_token_length(port) == port.n));
}

/* "192.0.2.1", "192.0.2.1:4711", "[2001:db8::1]", "[2001:db8::1]:4711"; else AF_UNSPEC. */
static void parse_node(struct slice s, struct addr *addr)
{
	bool is_v6 = s.n > 0 && s.p[0] == '[';
	const char *end = s.n > 0 ? memchr(s.p, is_v6 ? ']' : ':', s.n) : NULL;
	struct slice host = slice_of(s.p, end != NULL ? (size_t)(end - s.p) : s.n);
	struct slice port = slice_of(s.p + host.n, s.n - host.n);
	bool good = !is_v6 || end != NULL;

	if (good && is_v6) {
		host = slice_of(host.p + 1, host.n - 1);
		port = slice_of(port.p + 1, port.n - 1);
	}
	good = good && is_port_part(port) &&
	       addr_parse_host(is_v6 ? AF_INET6 : AF_INET, host, addr);
	if (good)
		addr_unmap(addr);
	else
		*addr = (struct addr){ 0 };
}

/* --- lists, from the end ---------------------------------------------------------------------- */

/* Escaped by a backslash before it, unless that one is escaped (RFC 9110, 5.6.4). */
static bool is_escaped(struct slice s, size_t i)
{
	size_t n = 0;

	while (n < i && s.p[i - 1 - n] == '\\')
		n++;
	return n % 2 == 1;
}

/* i is the quotation mark at a string's end; returns that at its beginning, 0: none. */
static size_t opening_quote(struct slice s, size_t i)
{
	while (i-- > 0)
		if (s.p[i] == '"' && !is_escaped(s, i))
			return i;
	return 0;
}

/* The element behind the last comma that is in no quoted string; *value ends in front of it. */
static struct slice cut_last(struct slice *value, bool quotes)
{
	size_t i = value->n;
	struct slice element;

	while (i > 0 && value->p[i - 1] != ',')
		i = quotes && value->p[i - 1] == '"' ? opening_quote(*value, i - 1) : i - 1;
	element = field_trim(slice_of(value->p + i, value->n - i));
	value->n = i > 0 ? i - 1 : 0;
	return element;
}

static bool cut_last_element(struct slice *value, bool quotes, struct slice *element)
{
	do {
		if (value->n == 0)
			return false;
		*element = cut_last(value, quotes);
	} while (element->n == 0);
	return true;
}

/* --- one element of forwarded ----------------------------------------------------------------- */

/* RFC 7239, 4: pairs between semicolons; each name once. False: it is malformed. */
static bool parse_element(struct slice s, struct forwarded *f)
{
	bool has_for = false, has_proto = false;
	struct field_param p;
	char value[NODE_MAX];
	ssize_t n;

	for (; s.n > 0; s = field_trim(s)) {
		if (s.p[0] == ';') {
			slice_skip(&s, 1);
			continue;
		}
		if (!field_pair_cut(&s, &p))
			return false;
		s = field_trim(s);
		if (s.n > 0 && s.p[0] != ';')
			return false;
		n = field_param_value(&p, value, sizeof(value));
		if (slice_ieq(p.name, SLICE("for"))) {
			if (has_for)
				return false;
			has_for = true;
			if (n >= 0)
				parse_node(slice_of(value, (size_t)n), &f->from);
		} else if (slice_ieq(p.name, SLICE("proto"))) {
			if (has_proto)
				return false;
			has_proto = true;
			f->https = n >= 0 && slice_ieq(slice_of(value, (size_t)n), SLICE("https"));
		}
	}
	return true;
}

bool forwarded_last(struct slice *value, struct forwarded *f)
{
	struct slice element;

	*f = (struct forwarded){ 0 };
	if (!cut_last_element(value, true, &element))
		return false;
	if (!parse_element(element, f))
		*f = (struct forwarded){ 0 };
	return true;
}

/* --- the older headers ------------------------------------------------------------------------ */

bool forwarded_last_x(struct slice *value, struct forwarded *f)
{
	struct slice element;

	*f = (struct forwarded){ 0 };
	if (!cut_last_element(value, false, &element))
		return false;
	/* No standard defines this: with and without brackets. */
	if (addr_parse_host(AF_INET6, element, &f->from))
		addr_unmap(&f->from);
	else
		parse_node(element, &f->from);
	return true;
}

bool forwarded_is_https(struct slice value)
{
	struct slice element;

	return cut_last_element(&value, false, &element) && slice_ieq(element, SLICE("https"));
}
