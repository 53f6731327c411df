/*
 * sites: makes a struct site of each server block, with their names and proxies. The master calls
 * it while it builds a generation, and so does -t; it opens only files of redirects and never
 * changes the configuration.
 */
#include "sites/sites.h"

#include <stdlib.h>

#include "share/tally.h"
#include "sites/site_maker.h"

/* "files/" and "files" are both "/files". Before the locations, which borrow them. */
static void set_uploads(struct site_maker *m, struct site *site, const struct conf_server *s)
{
	struct site_upload *v = site_maker_room(m, s->nlocations + 1, sizeof(*v));
	const struct conf_pos *at;

	site->uploads = v;
	for (unsigned i = 0; v != NULL && i <= s->nlocations; i++) {
		struct slice dir = site_maker_dir(conf_upload_dir(s, i, &at));
		struct slice url =
			site_maker_dir(i == 0 ? SITE_UPLOADS_AT : s->locations[i - 1].prefix);

		if (dir.n == 0)
			continue;
		v[site->nuploads++] = (struct site_upload){
			.url = url,
			.form = i == 0 ? url : arena_join(m->a, url, SLICE("/")),
			.dir = arena_join(m->a, SLICE("/"), dir),
			.at = *at,
		};
		m->oom |=
			v[site->nuploads - 1].form.p == NULL || v[site->nuploads - 1].dir.p == NULL;
	}
}

static void make_site(
	struct site_maker *m, struct site *site, const struct conf_server *s, const unsigned *roots)
{
	site->name = slice_str(s->name);
	set_uploads(m, site, s);
	site_locations_make(m, site, s, roots);
	site->upload_overwrite = s->upload_overwrite;
	site->upload_depth = site->uploads_depth = (unsigned)s->upload_depth;
	for (unsigned i = 0; i < s->nlocations; i++)
		if (slice_str(s->locations[i].store_folder).n > 0)
			site->uploads_depth = site->upload_depth + 1;
	site->upload_quota = s->upload_quota;
	site->upload_piece = s->upload_piece;
	site->upload_origins = s->upload_origins.v;
	site->nupload_origins = s->upload_origins.n;
	site->resume_expires = s->resume_expires;
	site->redirects = redirects_file_read(m, s);
	site->health = slice_str(s->health);
	site->health_at = s->health_at;
	site->transport_security_at = s->strict_transport_security_at;
	site->transport_security = slice_str(s->strict_transport_security);
	site_maker_check_value(m, "strict-transport-security", s->strict_transport_security,
		&s->strict_transport_security_at);
}

/* Titles are names too, except that of the default server. Sorted, without duplicates. */
static void set_server_names(struct site_maker *m, struct sites *sites, const struct conf *conf)
{
	struct site_name *v;
	size_t max = conf->nservers;
	unsigned n = 0;

	for (unsigned i = 0; i < conf->nservers; i++)
		max += conf->servers[i].aliases.n;
	v = site_maker_room(m, max, sizeof(*v));
	if (v == NULL)
		return;
	for (unsigned i = 0; i < conf->nservers; i++) {
		const struct conf_server *s = &conf->servers[i];

		if (strcmp(s->name, "_") != 0)
			v[n++] = (struct site_name){ site_maker_lower(m, slice_str(s->name)), i };
		for (unsigned j = 0; j < s->aliases.n; j++)
			v[n++] =
				(struct site_name){ site_maker_lower(m, slice_str(s->aliases.v[j])),
					i };
	}
	qsort(v, n, sizeof(*v), site_name_order);
	for (unsigned i = 0; i < n; i++)
		if (sites->nnames == 0 || site_name_order(&v[i], &v[sites->nnames - 1]) != 0)
			v[sites->nnames++] = v[i];
	sites->names = v;
}

static void set_client_address(
	struct site_maker *m, struct proxies *p, const char *field, const struct conf_pos *at)
{
	struct slice name = site_maker_lower(m, slice_str(field));

	p->field_at = at;
	if (slice_eq(name, SLICE("x-forwarded-for")))
		p->field = PROXIES_X_FORWARDED_FOR;
	else if (slice_eq(name, SLICE("forwarded")))
		p->field = PROXIES_FORWARDED;
	else if (!slice_eq(name, SLICE("connection")))
		p->field = PROXIES_NAMED;
	p->name = name;
	if (!m->oom && !field_name_valid(name))
		conf_fault(m->faults, at, "client-address \"%.200s\" is not a header name", field);
}

static void set_connections(struct site_maker *m, struct sites *sites)
{
	uint64_t n = m->limits->new_connections_per_second;
	struct rate *rate = site_maker_room(m, 1, sizeof(*rate));

	if (m->oom || n == 0)
		return;
	*rate = rate_of(n, n, "", "new-connections-per-second");
	sites->connections = rate;
}

const struct sites *sites_make(const struct conf *conf, const struct trees *trees,
	const struct certs *certs, const struct tls_client_ca *const *client_cas, struct arena *a,
	struct conf_faults *faults)
{
	struct site_maker m = { .a = a, .faults = faults, .limits = &conf->limits };
	struct sites *sites = site_maker_room(&m, 1, sizeof(*sites));
	struct site *v = site_maker_room(&m, conf->nservers, sizeof(*v));
	unsigned first = conf_default_server(conf), before = faults->n;

	m.top = site_locations_top(&m, conf);
	for (unsigned i = 0; i < conf->nservers && !m.oom; i++) {
		v[i].root = trees->of_server[i];
		v[i].has_root = conf->servers[i].root[0] != '\0';
		v[i].is_default = i == first;
		if (certs != NULL) {
			v[i].certificate = certs->of_server[i];
			v[i].expiries = certs_expiries(certs, i, &v[i].nexpiries);
		}
		v[i].needs_certificate = conf->servers[i].tls.client_verify == VERIFY_REQUIRE;
		v[i].verify_at = conf->servers[i].tls.client_verify_at;
		v[i].client_ca = client_cas != NULL ? client_cas[i] : NULL;
		m.types = &trees->types[i];
		make_site(&m, &v[i], &conf->servers[i], trees->of_location[i]);
	}
	if (!m.oom) {
		sites->v = v;
		sites->n = conf->nservers;
		sites->fallback = first;
		set_server_names(&m, sites, conf);
		set_client_address(
			&m, &sites->proxies, conf->client_address, &conf->client_address_at);
		sites->proxies.trusted = site_access_list(&m, &conf->trusted_proxies,
			"trusted-proxies", ACCESS_TRUST, &conf->trusted_proxies_at);
		sites->exempt = site_access_exempt(&m);
		set_connections(&m, sites);
		sites->dry_run = conf->limits.dry_run;
		sites->peers = m.peers;
		sites->npeers = m.npeers;
	}
	name_map_fini(&m.peer_numbers);
	if (m.oom)
		conf_fault_oom(faults, &conf_command_line);
	return !m.oom && faults->n == before ? sites : NULL;
}
