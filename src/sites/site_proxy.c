/*
 * site_proxy: makes the proxies of locations, and the servers of their applications, from the keys
 * proxy…; checks them by the rules of HTTP. Called by site_locations.c; looks no name up.
 */
#include "sites/site_maker.h"

#include "conf/conf_check.h"
#include "http/authority.h"

/* --- addresses -------------------------------------------------------------------------------- */

/* NULL, or the fault, a const string. addr->len is 0 for a name. */
static const char *peer_parse(const char *text, struct addr *addr)
{
	const char *why = addr_parse(text, addr), *colon = strrchr(text, ':');

	if (strncmp(text, "unix:", 5) == 0)
		return why;
	if (strstr(text, "://") != NULL)
		return "remove the scheme: h2d connects in cleartext, by HTTP/1.1";
	if (strchr(text, '/') != NULL)
		return "remove the path: proxy-prefix replaces that of the location";
	if (why == NULL)
		return addr_port(addr) != 0 ? NULL : "the port is 0";
	addr->len = 0;
	if (colon == NULL || text[0] == '[' || strchr(text, ':') != colon)
		return why;
	/* A number would be an address in an old form, which getaddrinfo(3) accepts. */
	if (authority_host(slice_of(text, (size_t)(colon - text))).n == 0 ||
		text + strspn(text, "0123456789.") == colon)
		return "neither an IPv4 address nor a host name before the port";
	return addr_number(slice_str(colon + 1), UINT16_MAX) > 0
		       ? NULL
		       : "the port is not a number from 1 to 65535";
}

/* The number of the peer of that text of p's. */
static unsigned peer_number(struct site_maker *m, const struct conf_scope *p, const char *text)
{
	struct site_peer new = { .name = slice_str(text),
		.connections = (unsigned)p->proxy_connections,
		.at = p->proxy_at };
	const char *why = peer_parse(text, &new.addr);
	unsigned *number = name_map_put(&m->peer_numbers, new.name);

	if (why != NULL)
		conf_fault(m->faults, &p->proxy_at, "proxy \"%.200s\": %s", text, why);
	if (number != NULL && *number == 0) {
		m->peers = arena_grow(m->a, m->peers, m->npeers, sizeof(new));
		if (m->peers != NULL)
			m->peers[m->npeers] = new;
		*number = ++m->npeers;
	}
	m->oom |= number == NULL || m->peers == NULL;
	if (m->oom)
		return 0;
	if (new.connections < m->peers[*number - 1].connections)
		m->peers[*number - 1].connections = new.connections;
	return *number - 1;
}

/* --- the other keys --------------------------------------------------------------------------- */

/* The path that the prefix replaces: the title of the block that sets it; "": there is none. */
static struct slice replaced(const struct conf_scope *p, const struct conf_location *l)
{
	if (*p->proxy_prefix == '\0')
		return SLICE("");
	return l != NULL && p->proxy_prefix_at.outer == 0 ? slice_str(l->prefix) : SLICE("/");
}

static void check_prefix(
	struct site_maker *m, const struct conf_scope *p, const struct conf_location *l)
{
	const char *s = p->proxy_prefix;
	struct slice title = replaced(p, l);
	bool slash = slice_ends(title, SLICE("/"));

	if (*s == '\0')
		return;
	if (!conf_check_server_path(s) || !conf_check_server_target(s) || strpbrk(s, "?#") != NULL)
		conf_fault(m->faults, &p->proxy_prefix_at,
			"proxy-prefix \"%.200s\" is not a path like \"/app/\"", s);
	else if (slash != slice_ends(slice_str(s), SLICE("/")))
		conf_fault(m->faults, &p->proxy_prefix_at,
			"proxy-prefix \"%.200s\" must %send in \"/\", like \"%.200s\", which it "
			"replaces",
			s, slash ? "" : "not ", title.p);
}

/* A header that h2d sends itself, or one that says how to read the request (RFC 9110, 7.6.1). */
static bool is_own(struct slice name)
{
	return field_is_hop(name) || slice_starts(name, SLICE("x-forwarded-")) ||
	       slice_starts(name, SLICE("proxy-")) ||
	       field_among(name,
		       "authorization cookie expect forwarded host via x-real-ip x-request-id");
}

static void check_names(struct site_maker *m, const struct conf_scope *p)
{
	const char *header = p->proxy_subject_header, *host = p->proxy_host;

	if (*host != '\0' && authority_host(slice_str(host)).n == 0)
		conf_fault(m->faults, &p->proxy_host_at, "proxy-host \"%.200s\" is not a host name",
			host);
	/* Applications may read "_" as "-": then clients could send another spelling. */
	if (header[strspn(header, "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0')
		conf_fault(m->faults, &p->proxy_subject_header_at,
			"proxy-subject-header \"%.200s\": use lower-case letters, digits and -",
			header);
	else if (is_own(slice_str(header)))
		conf_fault(m->faults, &p->proxy_subject_header_at,
			"proxy-subject-header \"%s\" has another meaning", header);
}

/* Keys of the block, or of an inner one, that the proxy contradicts. */
static void check_others(
	struct site_maker *m, const struct conf_scope *p, const struct conf_location *l)
{
	if (*p->redirect != '\0' && p->proxy_at.outer <= p->redirect_at.outer)
		conf_fault(m->faults, &p->proxy_at,
			"proxy does nothing: redirect (%s:%u) answers all requests here",
			p->redirect_at.file, p->redirect_at.line);
	if (*p->fallback != '\0' && p->fallback_at.outer <= p->proxy_at.outer)
		conf_fault(m->faults, &p->fallback_at,
			"fallback does nothing: proxy (%s:%u) answers for missing files here",
			p->proxy_at.file, p->proxy_at.line);
	if (l != NULL && *l->upload_dir != '\0')
		conf_fault(m->faults, &l->upload_dir_at,
			"upload-dir needs proxy = {} in its location (proxy: %s:%u)",
			p->proxy_at.file, p->proxy_at.line);
}

const struct site_proxy *site_proxy_make(
	struct site_maker *m, const struct conf_scope *p, const struct conf_location *l)
{
	struct site_proxy *new = site_maker_room(m, 1, sizeof(*new));
	unsigned *peers = site_maker_room(m, p->proxy.n, sizeof(*peers));

	check_prefix(m, p, l);
	check_names(m, p);
	if (p->proxy.n == 0 || m->oom)
		return NULL;
	check_others(m, p, l);
	for (unsigned i = 0; i < p->proxy.n; i++)
		peers[i] = peer_number(m, p, p->proxy.v[i]);
	*new = (struct site_proxy){
		.peers = peers,
		.npeers = p->proxy.n,
		.files_first = p->proxy_after,
		.replaced = replaced(p, l),
		.prefix = slice_str(p->proxy_prefix),
		.host = slice_str(p->proxy_host),
		.subject_header = slice_str(p->proxy_subject_header),
		.queue = (unsigned)p->proxy_queue,
		.connect_ms = (uint32_t)p->proxy_connect_timeout * 1000,
		.silence_ms = (uint32_t)p->proxy_timeout * 1000,
	};
	return new;
}
