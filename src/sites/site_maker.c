/*
 * site_maker: memory, media types, access and headers for makers of sites. Called by sites.c,
 * site_locations.c and trees.c while a generation is built; has no state.
 */
#include "sites/site_maker.h"

#include <ctype.h>
#include <stdlib.h>

#include "auth/auth_queue.h"
#include "http/coding.h"
#include "rules/subject.h"
#include "share/access.h"

void *site_maker_room(struct site_maker *m, size_t n, size_t size)
{
	void *p = arena_zalloc(m->a, (n + 1) * size);

	m->oom |= p == NULL;
	return p;
}

struct slice site_maker_dir(const char *path)
{
	struct slice s = slice_str(path);

	while (s.n > 0 && s.p[s.n - 1] == '/')
		s.n--;
	return s;
}

struct slice site_maker_lower(struct site_maker *m, struct slice s)
{
	char *p = site_maker_room(m, s.n, 1);

	for (size_t i = 0; p != NULL && i < s.n; i++)
		p[i] = (char)tolower((unsigned char)s.p[i]);
	return slice_of(p, p != NULL ? s.n : 0);
}

static void read_rows(struct conf_faults *faults, struct mime_types *types, struct mime *rows,
	const struct conf_list *list, const struct conf_pos *at)
{
	types->rows = rows;
	for (unsigned i = 0; i < list->n; i++) {
		const char *why = mime_parse(list->v[i], &rows[types->n]);

		if (why == NULL)
			types->n++;
		else
			conf_fault(faults, at, "types \"%.200s\": %s", list->v[i], why);
	}
	qsort(rows, types->n, sizeof(*rows), mime_order);
	for (unsigned i = 1; i < types->n; i++)
		if (mime_order(&rows[i - 1], &rows[i]) == 0)
			conf_fault(faults, at, "types \"%.*s\": duplicate extension",
				SLICE_ARG(rows[i].extension));
}

void site_maker_types(struct conf_faults *faults, struct mime_types *types, struct mime *rows,
	const struct conf_server *s)
{
	const char *why = mime_parse_type(s->default_type, &types->unknown);

	if (why != NULL)
		conf_fault(faults, &s->default_type_at, "default-type \"%.200s\": %s",
			s->default_type, why);
	read_rows(faults, types, rows, &s->types, &s->types_at);
}

unsigned site_maker_codings(const struct conf_list *list)
{
	unsigned set = 0;

	for (unsigned i = 0; i < list->n; i++)
		for (unsigned c = 0; c < CODINGS; c++)
			if (slice_eq(coding_names[c], slice_str(list->v[i])) ||
				conf_is_word(list->v[i], true))
				set |= 1u << c;
	return set;
}

/* --- access ----------------------------------------------------------------------------------- */

static void add_rules(struct site_maker *m, struct access_rule *v, const struct conf_list *list,
	const char *key, enum access_use use, const struct conf_pos *at)
{
	for (unsigned i = 0; i < list->n; i++) {
		const char *why = access_parse(list->v[i], use, &v[i]);

		v[i].text = list->v[i];
		if (why != NULL)
			conf_fault(m->faults, at, "%s \"%.200s\": %s", key, list->v[i], why);
	}
}

/* Room for n rules of *made; NULL, and *made NULL: n is 0, or memory is out. */
static struct access_rule *rules_room(struct site_maker *m, unsigned n, const struct access **made)
{
	struct access_rule *v = site_maker_room(m, n, sizeof(*v));
	struct access *access = site_maker_room(m, 1, sizeof(*access));

	*made = NULL;
	if (m->oom || n == 0)
		return NULL;
	*access = (struct access){ .rules = v, .n = n };
	*made = access;
	return v;
}

static void set_auth(struct site_maker *m, struct location *location, const struct conf_scope *p)
{
	const char *realm = p->auth_basic_realm;
	struct auth *auth = site_maker_room(m, 1, sizeof(*auth));

	/* RFC 9110, 11.5: it becomes a quoted string, unchanged. */
	if (!field_value_valid(slice_str(realm)) || strpbrk(realm, "\"\\") != NULL)
		conf_fault(m->faults, &p->auth_basic_realm_at,
			"auth-basic-realm \"%.200s\": remove outer white space, quotes and "
			"backslashes",
			realm);
	if (auth == NULL || *p->auth_basic_file == '\0')
		return;
	*auth = (struct auth){
		.file = p->auth_basic_file, .realm = slice_str(realm), .at = p->auth_basic_file_at
	};
	location->auth = auth;
}

static void set_subjects(
	struct site_maker *m, struct location *location, const struct conf_scope *p)
{
	const struct conf_list *list = &p->allow_subject;
	struct slice *v = site_maker_room(m, list->n, sizeof(*v));
	struct subjects *subjects = site_maker_room(m, 1, sizeof(*subjects));

	if (m->oom || list->n == 0)
		return;
	for (unsigned i = 0; i < list->n; i++) {
		const char *why = subject_parse(list->v[i], m->a, &v[i]);

		m->oom |= v[i].p == NULL;
		if (why != NULL)
			conf_fault(m->faults, &p->allow_subject_at, "allow-subject \"%.200s\": %s",
				list->v[i], why);
	}
	*subjects = (struct subjects){ .rules = v, .n = list->n };
	location->subjects = subjects;
}

const struct access *site_access_list(struct site_maker *m, const struct conf_list *list,
	const char *key, enum access_use use, const struct conf_pos *at)
{
	const struct access *access;
	struct access_rule *v = rules_room(m, list->n, &access);

	if (v != NULL)
		add_rules(m, v, list, key, use, at);
	return access;
}

const struct access *site_access_exempt(struct site_maker *m)
{
	enum { IPV4_BITS = 96 }; /* the first bits of an IPv4 address in ranges */
	static const uint8_t ipv4[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	const struct conf_list *list = &m->limits->exempt;
	const struct access *access;
	struct access_rule *v = rules_room(m, list->n, &access);
	unsigned prefix = (unsigned)m->limits->client_ipv6_prefix;

	if (v != NULL)
		add_rules(m, v, list, "exempt", ACCESS_ALLOW, &m->limits->exempt_at);
	for (unsigned i = 0; v != NULL && i < list->n; i++) {
		struct addr_range *r = &v[i].range;

		if (r->bits > prefix &&
			(r->bits < IPV4_BITS || memcmp(r->address, ipv4, sizeof(ipv4)) != 0))
			r->bits = prefix;
	}
	return access;
}

void site_access_make(
	struct site_maker *m, struct location *location, const struct conf_scope *p, bool public)
{
	struct access_rule *v = rules_room(m, p->allow.n + p->deny.n, &location->access);

	if (v != NULL) {
		add_rules(m, v, &p->allow, "allow", ACCESS_ALLOW, &p->allow_at);
		add_rules(m, v + p->allow.n, &p->deny, "deny", ACCESS_DENY, &p->deny_at);
	}
	set_subjects(m, location, p);
	set_auth(m, location, p);
	if ((location->access != NULL) + (location->subjects != NULL) + (location->auth != NULL) >
		1)
		location->satisfy_any = p->satisfy;
	/* Writers must be named; a list of refused clients is not enough. */
	location->writers = public || location->auth != NULL || location->subjects != NULL;
	for (unsigned i = 0; location->access != NULL && i < location->access->n; i++)
		location->writers |= location->access->rules[i].allow;
}

/* --- add-header and remove-header ------------------------------------------------------------- */

/* Headers that h2d writes itself, so that a second one could contradict it. */
static bool is_own(struct slice name)
{
	return field_is_hop(name) ||
	       field_among(name, "accept-ranges allow content-encoding content-range content-type "
				 "date etag last-modified location server www-authenticate");
}

/* The fault in the name of a header for answers; NULL: none. */
static const char *refusal(struct slice name)
{
	if (slice_eq(name, SLICE("cache-control")))
		return "use the key cache-control";
	if (slice_eq(name, SLICE("strict-transport-security")))
		return "use the key strict-transport-security of the server";
	return is_own(name) ? "h2d sets this header" : NULL;
}

/* The fault in the name of a header to remove; NULL: none. */
static const char *keeps(struct slice name)
{
	if (!field_name_valid(name))
		return "write the name of a header, without its value";
	if (slice_eq(name, SLICE("server")))
		return "use the key server-tokens";
	if (slice_eq(name, SLICE("strict-transport-security")))
		return "use the key strict-transport-security of the server";
	if (is_own(name) || field_among(name, "sec-websocket-accept sec-websocket-protocol "
					      "sec-websocket-version upload-complete upload-length "
					      "upload-limit upload-offset"))
		return "responses need this header";
	return NULL;
}

void site_maker_removed(struct site_maker *m, struct location *location,
	const struct location *outer, const struct conf_list *list, const struct conf_pos *at)
{
	unsigned inherited = outer != NULL ? outer->nremoved : 0;
	struct site_removed *v = site_maker_room(m, inherited + list->n, sizeof(*v));

	if (v == NULL)
		return;
	if (inherited > 0)
		memcpy(v, outer->removed, inherited * sizeof(*v));
	for (unsigned i = 0; i < list->n && !m->oom; i++) {
		struct slice name = site_maker_lower(m, slice_str(list->v[i]));
		const char *why = m->oom ? NULL : keeps(name);

		/* Some protect clients or caches. */
		v[inherited + i] = (struct site_removed){ .name = name,
			.outer_only = field_among(
				name, "content-security-policy vary x-content-type-options"),
			.at = *at };
		if (why != NULL)
			conf_fault(m->faults, at, "remove-header \"%.200s\": %s", list->v[i], why);
	}
	location->removed = v;
	location->nremoved = inherited + list->n;
}

/* "name: value" as a header; NULL, or the fault. */
static const char *field(struct site_maker *m, const char *text, struct field *out)
{
	const char *colon = strchr(text, ':');

	if (colon == NULL)
		return "write \"name: value\"";
	out->name = site_maker_lower(m, slice_of(text, (size_t)(colon - text)));
	out->value = field_trim(slice_str(colon + 1));
	if (m->oom)
		return NULL;
	if (!field_name_valid(out->name))
		return "the part before the colon is not a header name";
	if (!field_value_valid(out->value))
		return "the part after the colon is not a header value";
	return refusal(out->name);
}

/* True if name is among the removed ones of location after the inherited ones. */
static bool removes(const struct location *location, unsigned inherited, struct slice name)
{
	for (unsigned i = inherited; i < location->nremoved; i++)
		if (slice_eq(location->removed[i].name, name))
			return true;
	return false;
}

void site_maker_headers(struct site_maker *m, struct location *location, struct location_at *places,
	const struct location *outer, const struct conf_list *list, const struct conf_pos *at)
{
	unsigned n = outer != NULL ? outer->nheaders : 0, inherited = 0;
	struct field *v = site_maker_room(m, n + list->n, sizeof(*v));
	struct conf_pos *from = site_maker_room(m, n + list->n, sizeof(*from));

	if (v == NULL || from == NULL)
		return;
	for (unsigned i = 0; i < n; i++) {
		if (removes(location, outer->nremoved, outer->headers[i].name))
			continue;
		v[inherited] = outer->headers[i];
		from[inherited++] = outer->at->headers[i];
	}
	for (unsigned i = 0; i < list->n; i++) {
		const char *why = field(m, list->v[i], &v[inherited + i]);

		from[inherited + i] = *at;
		if (why != NULL)
			conf_fault(m->faults, at, "add-header \"%.200s\": %s", list->v[i], why);
	}
	location->headers = v;
	places->headers = from;
	location->nheaders = inherited + list->n;
	/* Reported where they become too many, and only there. */
	if (location->nheaders > SITE_HEADERS_MAX && inherited <= SITE_HEADERS_MAX)
		conf_fault(m->faults, at,
			"add-header: %u headers are set here, but the maximum is %d",
			location->nheaders, SITE_HEADERS_MAX);
}
