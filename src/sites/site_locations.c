/*
 * site_locations: makes a struct location of each location block, and of its server block for other
 * paths; each inherits here the settings that it lacks. Called by sites.c.
 */
#include "sites/sites.h"

#include <ctype.h>
#include <stdlib.h>

#include "files/archive.h"
#include "http/coding.h"
#include "request/pace.h"
#include "rules/route.h"
#include "sites/site_maker.h"

/* --- cache-control ---------------------------------------------------------------------------- */

static void set_cache_control(struct site_maker *m, struct location *location,
	struct location_at *places, const char *value, const struct conf_pos *at)
{
	location->cache_control = slice_str(value);
	places->cache_control = *at;
	site_maker_check_value(m, "cache-control", value, at);
}

/* The mistake in a directive; NULL: none known. */
static const char *directive_slip(struct slice s)
{
	static const struct slice timed[] = { SLICE_LIT("max-age"), SLICE_LIT("s-maxage"),
		SLICE_LIT("stale-while-revalidate"), SLICE_LIT("stale-if-error") };

	if (memchr(s.p, ';', s.n) != NULL)
		return "separate directives with commas: public, max-age=3600";
	if (memchr(s.p, ':', s.n) != NULL || isdigit((unsigned char)s.p[0]))
		return "write directives with \"=\": max-age=3600";
	for (size_t i = 0; i < sizeof(timed) / sizeof(timed[0]); i++) {
		size_t n = timed[i].n;

		if (s.n >= n && slice_ieq(slice_of(s.p, n), timed[i]) &&
			(s.n < n + 2 || s.p[n] != '=' ||
				strspn(s.p + n + 1, "0123456789\"") < s.n - n - 1))
			return "write a number of seconds: max-age=3600";
	}
	return NULL;
}

static void check_directives(const struct location *location, struct conf_faults *warnings)
{
	struct slice rest = location->cache_control, one;
	const char *slip = NULL;

	while (slip == NULL && field_list_next(&rest, &one))
		slip = directive_slip(one);
	if (slip != NULL)
		conf_fault(warnings, &location->at->cache_control, "cache-control \"%.200s\": %s",
			location->cache_control.p, slip);
}

static void check_location(const struct location *location, struct conf_faults *warnings)
{
	check_directives(location, warnings);
	for (unsigned i = 0; i < location->nrules; i++)
		check_directives(&location->rules[i].settings, warnings);
}

void site_locations_warn(const struct site *site, struct conf_faults *warnings)
{
	check_location(&site->all, warnings);
	for (unsigned i = 0; i < site->nlocations; i++)
		check_location(&site->locations[i], warnings);
}

/* --- locations -------------------------------------------------------------------------------- */

/* The text names the key's block: blocks that inherit it share its count. "": the section
 * limits. */
static const char *block_of(struct site_maker *m, const struct conf_pos *at,
	const struct conf_server *s, const struct conf_location *l)
{
	const char *text = at->outer > (l != NULL) ? "" : s->name;

	if (l != NULL && at->outer == 0)
		text = arena_printf(m->a, "%s %s", s->name, l->prefix);
	m->oom |= text == NULL;
	return text;
}

static void set_requests(struct site_maker *m, struct location *location,
	const struct conf_scope *p, const struct conf_server *s, const struct conf_location *l)
{
	uint64_t n = p->requests_per_second, burst = p->requests_burst;
	const char *block = block_of(m, &p->requests_per_second_at, s, l);
	struct rate *rate = site_maker_room(m, 1, sizeof(*rate));

	if (m->oom || n == 0)
		return;
	*rate = rate_of(n, burst > 0 ? burst : n, block, "requests");
	location->requests = rate;
}

static void set_pace(struct site_maker *m, struct location *location, const struct conf_scope *p,
	const struct conf_server *s, const struct conf_location *l)
{
	const char *block = block_of(m, &p->client_bytes_per_second_at, s, l);
	struct pace_limit *pace = site_maker_room(m, 1, sizeof(*pace));

	if (m->oom || (p->client_bytes_per_second == 0 && p->connection_bytes_per_second == 0))
		return;
	*pace = (struct pace_limit){
		.of_client = p->client_bytes_per_second,
		.of_client_at = &p->client_bytes_per_second_at,
		.of_connection = p->connection_bytes_per_second,
		.of_connection_at = &p->connection_bytes_per_second_at,
		.rule = rate_rule(block, "bytes"),
	};
	location->pace = pace;
}

static const struct slice *slices(struct site_maker *m, const struct conf_list *list, bool lower)
{
	struct slice *v = site_maker_room(m, list->n, sizeof(*v));

	for (unsigned i = 0; v != NULL && i < list->n; i++)
		v[i] = lower ? site_maker_lower(m, slice_str(list->v[i])) : slice_str(list->v[i]);
	return v;
}

static void set_returned(
	struct site_maker *m, struct location *location, const struct conf_scope *p)
{
	struct returned *r = site_maker_room(m, 1, sizeof(*r));

	if (m->oom)
		return;
	r->status = p->returned;
	r->page = slice_str(p->return_page);
	r->except = site_access_list(
		m, &p->return_except, "return-except", ACCESS_ALLOW, &p->return_except_at);
	if (r->status != 0)
		location->returned = r;
}

static void set_redirect(struct location *location, const struct conf_scope *p)
{
	struct redirect *r = &location->redirect;

	r->to = slice_str(p->redirect);
	r->keeps = p->redirect_keep_path == KEEP_AUTO ? slice_ends(r->to, SLICE("/"))
						      : p->redirect_keep_path == KEEP_YES;
	r->prefix = p->redirect_at.outer > 0 ? SLICE("/") : location->prefix;
	r->status = p->redirect_status;
}

/* The settings of location overridden by those of files. */
static void make_rule(struct site_maker *m, struct file_rule *rule, const struct location *location,
	const struct conf_files *files)
{
	struct location_at *at = site_maker_room(m, 1, sizeof(*at));

	if (at == NULL)
		return;
	*at = *location->at;
	at->block = files->at;
	rule->pattern = site_maker_lower(m, slice_str(files->pattern));
	rule->settings = *location;
	rule->settings.at = at;
	if (files->cache_control_at.file != NULL)
		set_cache_control(
			m, &rule->settings, at, files->cache_control, &files->cache_control_at);
	site_maker_removed(
		m, &rule->settings, location, &files->remove_header, &files->remove_header_at);
	site_maker_headers(
		m, &rule->settings, at, location, &files->add_header, &files->add_header_at);
}

static void make_rules(struct site_maker *m, struct file_rule *v, const struct location *location,
	const struct conf_files *files, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		/* The next name of a list has the rule before: both are from the same lines. */
		if (i > 0 && files[i].cache_control == files[i - 1].cache_control) {
			v[i] = v[i - 1];
			v[i].pattern = site_maker_lower(m, slice_str(files[i].pattern));
		} else {
			make_rule(m, &v[i], location, &files[i]);
		}
	}
}

/* Own rules first, then those of the server; l NULL: the server's own location. */
static void set_rules(struct site_maker *m, struct location *location, const struct conf_server *s,
	const struct conf_location *l)
{
	unsigned own = l != NULL ? l->nfiles : 0;
	struct file_rule *v = site_maker_room(m, own + s->nfiles, sizeof(*v));

	if (v == NULL)
		return;
	if (own > 0)
		make_rules(m, v, location, l->files, own);
	make_rules(m, v + own, location, s->files, s->nfiles);
	location->rules = v;
	location->nrules = own + s->nfiles;
}

static void set_error_pages(struct site_maker *m, struct location *location,
	const struct conf_error_page *own, unsigned n)
{
	struct site_error_page *v = site_maker_room(m, n, sizeof(*v));

	for (unsigned i = 0; v != NULL && i < n; i++)
		v[i] = (struct site_error_page){
			.status = atoi(own[i].status),
			.file = slice_str(own[i].file),
			.at = own[i].at,
		};
	location->error_pages = v;
	location->nerror_pages = n;
}

/* Sets the line of each effective setting. */
static void set_places(struct location_at *at, const struct conf_scope *p,
	const struct conf_server *s, const struct conf_location *l)
{
	*at = (struct location_at){
		.block = l != NULL ? l->at : s->at,
		.root = l != NULL && l->root_at.file != NULL ? l->root_at : s->root_at,
		.redirect = p->redirect_at,
		.hide = p->hide_at,
		.body_size = p->client_max_body_size_at,
		.methods = p->allow_methods_at,
		.satisfy = p->satisfy_at,
		.allow = p->allow_at,
		.deny = p->deny_at,
		.subjects = p->allow_subject_at,
		.index = p->index_at,
		.autoindex = p->autoindex_at,
		.archive = p->archive_at,
		.extensions = p->extensions_at,
		.extensions_redirect = p->extensions_redirect_at,
		.fallback = p->fallback_at,
		.returned = p->returned_at,
		.return_page = p->return_page_at,
		.requests = p->requests_per_second_at,
		.compress = p->compress_at,
		.compress_types = p->compress_types_at,
		.proxy = p->proxy_at,
	};
}

static void set_archives(
	struct site_maker *m, struct location *location, const struct conf_scope *p)
{
	for (unsigned i = 0; i < p->archive.n; i++) {
		enum archive_kind kind = archive_kind_of(slice_str(p->archive.v[i]));

		location->archives |= 1u << kind;
		if (kind == ARCHIVE_NONE)
			conf_fault(m->faults, &p->archive_at,
				"archive: this h2d was built without zlib, which zip requires");
	}
}

/* The server's types have what any location compresses: as many of p are all of them. */
static const struct mime_types *types_of(struct site_maker *m, const struct conf_scope *p)
{
	struct mime_types *own;

	if (p->compress_types.n == m->types->npacked)
		return m->types;
	own = site_maker_room(m, 1, sizeof(*own));
	if (own != NULL)
		*own = (struct mime_types){ m->types->rows, m->types->n, m->types->unknown,
			p->compress_types.v, p->compress_types.n };
	return own;
}

/* By h2d's own names, others are refused; GET adds HEAD, and OPTIONS is never refused. */
static void set_methods(struct location *location, const struct conf_list *list)
{
	unsigned taken = 1u << H2D_OPTIONS;

	for (unsigned i = 0; i < list->n; i++)
		taken |= 1u << method_parse(slice_str(list->v[i]));
	if (taken >> H2D_GET & 1)
		taken |= 1u << H2D_HEAD;
	location->refused_methods = list->n > 0 ? ((2u << H2D_METHOD_UNKNOWN) - 1) & ~taken : 0;
}

/* Sets names of files that may answer for a path, or not. */
static void set_names(struct site_maker *m, struct location *location, const struct conf_scope *p)
{
	location->index = slices(m, &p->index, false);
	location->nindex = p->index.n;
	location->extensions = slices(m, &p->extensions, false);
	location->nextensions = p->extensions.n;
	location->extensions_redirect = p->extensions_redirect;
	location->hide = slices(m, &p->hide, true);
	location->nhide = p->hide.n;
	location->fallback = slice_str(p->fallback);
}

/* The settings of s, or those of l over them; outer: the location of s, or of the top level. */
static void make_location(struct site_maker *m, struct location *location,
	const struct location *outer, const struct conf_server *s, const struct conf_location *l)
{
	const struct conf_scope *p = l != NULL ? &l->scope : &s->scope;
	struct location_at *at = site_maker_room(m, 1, sizeof(*at));

	if (at == NULL)
		return;
	set_places(at, p, s, l);
	location->at = at;
	location->prefix = l != NULL ? slice_str(l->prefix) : SLICE("/");
	set_cache_control(m, location, at, p->cache_control, &p->cache_control_at);
	location->charset = slice_str(p->charset);
	location->types = types_of(m, p);
	location->autoindex = p->autoindex;
	set_archives(m, location, p);
	location->webdav = p->webdav;
	location->sendfile = p->sendfile;
	location->follow_links = p->follow_links == LINKS_ALL;
	location->no_links = p->follow_links == LINKS_NONE;
	location->precompressed = p->precompressed;
	location->refused_codings = ((1u << CODINGS) - 1) & ~site_maker_codings(&p->compress);
	location->response_codings = site_maker_codings(&p->compress_responses);
	location->body_size = p->client_max_body_size;
	set_names(m, location, p);
	set_returned(m, location, p);
	set_redirect(location, p);
	location->proxy = site_proxy_make(m, p, l);
	site_maker_removed(m, location, outer, &p->remove_header, &p->remove_header_at);
	site_maker_headers(m, location, at, outer, &p->add_header, &p->add_header_at);
	set_requests(m, location, p, s, l);
	set_pace(m, location, p, s, l);
	set_methods(location, &p->allow_methods);
	site_access_make(m, location, p, s->upload_public);
	location->store_folder = slice_str(l != NULL ? l->store_folder : NULL);
	set_error_pages(m, location, l != NULL ? l->error_pages : s->error_pages,
		l != NULL ? l->nerror_pages : s->nerror_pages);
	set_rules(m, location, s, l);
}

static void set_by_prefix(struct site_maker *m, struct site *site)
{
	struct prefix_entry *v = site_maker_room(m, site->nlocations, sizeof(*v));

	for (unsigned i = 0; v != NULL && i < site->nlocations; i++)
		v[i] = (struct prefix_entry){ .prefix = site->locations[i].prefix, .of = i };
	if (v != NULL)
		site->by_prefix = prefix_index_make(v, site->nlocations);
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Longest prefix first. */
static int location_order(const void *a, const void *b)
{
	const struct location *x = a, *y = b;

	return (x->prefix.n < y->prefix.n) - (x->prefix.n > y->prefix.n);
}

const struct location *site_locations_top(struct site_maker *m, const struct conf *conf)
{
	struct location *top = site_maker_room(m, 1, sizeof(*top));
	struct location_at *at = site_maker_room(m, 1, sizeof(*at));

	if (top == NULL || at == NULL)
		return NULL;
	top->at = at;
	site_maker_removed(m, top, NULL, &conf->scope.remove_header, &conf->scope.remove_header_at);
	site_maker_headers(m, top, at, NULL, &conf->scope.add_header, &conf->scope.add_header_at);
	return top;
}

static bool is_guarded(const struct location *l)
{
	return l->access != NULL || l->subjects != NULL || l->auth != NULL ||
	       l->refused_methods != 0 || l->nhide > 0;
}

void site_locations_make(
	struct site_maker *m, struct site *site, const struct conf_server *s, const unsigned *roots)
{
	struct location *v = site_maker_room(m, s->nlocations, sizeof(*v));
	const struct site_upload *own = site->uploads;

	site->all.root = site->root;
	site->all.upload = *s->upload_dir != '\0' ? own++ : NULL;
	make_location(m, &site->all, m->top, s, NULL);
	if (v == NULL)
		return;
	for (unsigned i = 0; i < s->nlocations && !m->oom; i++) {
		v[i].root = roots[i];
		v[i].upload = *s->locations[i].upload_dir != '\0' ? own++ : site->all.upload;
		make_location(m, &v[i], &site->all, s, &s->locations[i]);
	}
	qsort(v, s->nlocations, sizeof(*v), location_order);
	site->locations = v;
	site->nlocations = s->nlocations;
	site->guarded = is_guarded(&site->all);
	site->hides = site->all.nhide > 0;
	for (unsigned i = 0; i < site->nlocations; i++) {
		site->guarded |= is_guarded(&v[i]);
		site->hides |= v[i].nhide > 0;
	}
	set_by_prefix(m, site);
}
