/*
 * conf_warn: warns of settings that are no fault, but probably not meant. Gen_resources calls it,
 * for -t, a start and a reload; it reads the configuration alone.
 */
#include <ctype.h>
#include <string.h>

#include "conf/conf_fault.h"

enum {
	CIRCLE_MAX = 16,
};

struct warner {
	const struct conf *conf;
	struct conf_faults *warnings;
};

/* The title or the target of a single page: "/old.html", "https://example.com/new.html". */
static bool is_page(const char *s)
{
	const char *host = strstr(s, "://"), *path = host != NULL ? strchr(host + 3, '/') : s;
	const char *name = path != NULL ? strrchr(path, '/') : NULL;

	return name != NULL && strchr(name, '.') != NULL;
}

/* Warns if prefix covers more than one path, and all of them have the same target. */
static void check_redirect(const struct warner *w, const struct conf_scope *p, const char *prefix)
{
	const char *to = p->redirect;

	if (*to == '\0' || p->redirect_keep_path != KEEP_AUTO)
		return;
	if (to[strlen(to) - 1] == '/' || strpbrk(to, "?#") != NULL || is_page(to) ||
		is_page(prefix))
		return;
	conf_fault(w->warnings, &p->redirect_at,
		"redirect \"%.200s\" drops the rest of paths below %.200s: set redirect-keep-path "
		"to true, or to false if this is intended",
		to, prefix);
}

static bool is_set(const struct conf_pos *at)
{
	return at->file != NULL;
}

static bool is_own(const struct conf_pos *at)
{
	return is_set(at) && at->outer == 0;
}

/* True if both are set, by the same section. */
static bool are_together(const struct conf_pos *a, const struct conf_pos *b)
{
	return is_set(a) && is_set(b) && a->outer == b->outer;
}

static void check_pattern(
	const struct warner *w, const char *key, const char *pattern, const struct conf_pos *at)
{
	if (pattern[0] == '.')
		conf_fault(w->warnings, at,
			"%s \"%.200s\": names with a leading dot are never sent: write \"*%.200s\" "
			"for an extension",
			key, pattern, pattern);
	else if (strpbrk(pattern, "{}()|^$\\+") != NULL || strncmp(pattern, "~ ", 2) == 0 ||
		 strstr(pattern, ", ") != NULL || strstr(pattern, " *") != NULL ||
		 strstr(pattern, ",*") != NULL)
		conf_fault(w->warnings, at,
			"%s \"%.200s\": only \"*\" is special: write several names as a list: "
			"{\"*.png\", \"*.jpg\"}",
			key, pattern);
}

static void check_files(const struct warner *w, const struct conf_files *files, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		check_pattern(w, "files", files[i].pattern, &files[i].at);
}

static void check_returned(const struct warner *w, const struct conf_scope *p)
{
	if (p->returned == 0 || p->return_except.n > 0)
		return;
	if (*p->redirect != '\0' && are_together(&p->returned_at, &p->redirect_at))
		conf_fault(w->warnings, &p->redirect_at,
			"redirect does nothing: return answers all requests here");
	if (*p->fallback != '\0' && are_together(&p->returned_at, &p->fallback_at))
		conf_fault(w->warnings, &p->fallback_at,
			"fallback does nothing: return answers all requests here");
}

static void check_scope(
	const struct warner *w, const struct conf_server *s, const struct conf_scope *p)
{
	check_returned(w, p);
	for (unsigned i = 0; i < p->hide.n; i++)
		check_pattern(w, "hide", p->hide.v[i], &p->hide_at);
	if (p->allow_subject.n > 0 && s->tls.client_verify == VERIFY_OFF)
		conf_fault(w->warnings, &p->allow_subject_at,
			"allow-subject refuses all clients: set client-verify to request client "
			"certificates");
	if (*p->redirect != '\0' && *p->fallback != '\0' &&
		are_together(&p->redirect_at, &p->fallback_at))
		conf_fault(w->warnings, &p->fallback_at,
			"fallback does nothing: redirect answers all requests here");
}

static void check_sendfile(const struct warner *w, const struct conf_scope *p)
{
	const struct conf *conf = w->conf;
	bool sends = conf->nlistens == 0;

	for (unsigned i = 0; i < conf->nlistens; i++)
		sends |= !conf_listen_is_own(&conf->listens[i]) && !conf->listens[i].tls &&
			 conf->listens[i].http1;
	if (p->sendfile && is_set(&p->sendfile_at) && !sends)
		conf_fault(w->warnings, &p->sendfile_at,
			"sendfile does nothing without a cleartext listener for HTTP/1");
}

/* Follows redirects within the server, like a client. title: of the first location. */
static void check_circle(const struct warner *w, const struct conf_server *s,
	const struct conf_scope *first, const char *title)
{
	const struct conf_scope *at = first;

	for (unsigned n = 0; *at->redirect == '/' && at->returned == 0 && n < CIRCLE_MAX; n++) {
		const struct conf_location *l = conf_location_of(s, at->redirect);

		at = l != NULL && is_own(&l->scope.redirect_at) ? &l->scope : &s->scope;
		if (at != first)
			continue;
		conf_fault(w->warnings, &first->redirect_at,
			"redirect \"%.200s\" loops back to location \"%.200s\"", first->redirect,
			title);
		return;
	}
}

/* Keys that others need for an effect. */
struct uses {
	bool returns, redirects, passwords, rates, paces;
};

static void look_at_server(struct uses *u, const struct conf_server *s)
{
	u->redirects |= *s->redirect_file != '\0';
	for (unsigned i = 0; i <= s->nlocations; i++) {
		const struct conf_scope *p = conf_scope(s, i);

		u->returns |= p->returned != 0;
		u->redirects |= *p->redirect != '\0';
		u->passwords |= *p->auth_basic_file != '\0';
		u->rates |= p->requests_per_second > 0;
		u->paces |= p->client_bytes_per_second > 0 || p->connection_bytes_per_second > 0;
	}
}

/* Warns of keys without effect alone, in a server without the other one; the top level, or the
 * section limits, sets them for all. */
static void tell_lonely(const struct warner *w, const struct conf_scope *p, const struct uses *u)
{
	const struct conf_scope *top = &w->conf->scope;
	const struct {
		const struct conf_pos *at, *top;
		const char *key, *of;
		bool used;
	} keys[] = {
		{ &p->return_page_at, &top->return_page_at, "return-page", "return", u->returns },
		{ &p->return_except_at, &top->return_except_at, "return-except", "return",
			u->returns },
		{ &p->redirect_status_at, &top->redirect_status_at, "redirect-status", "redirect",
			u->redirects },
		{ &p->auth_basic_realm_at, &top->auth_basic_realm_at, "auth-basic-realm",
			"auth-basic-file", u->passwords },
		{ &p->requests_burst_at, &w->conf->limits.requests_burst_at, "requests-burst",
			"requests-per-second", u->rates || p->requests_burst == 0 },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (is_set(keys[i].at) && !is_set(keys[i].top) && !keys[i].used)
			conf_fault(w->warnings, keys[i].at, "%s does nothing without %s",
				keys[i].key, keys[i].of);
}

static void check_limits(const struct warner *w)
{
	const struct conf_limits *l = &w->conf->limits;
	struct uses u = { 0 };
	bool any;

	for (unsigned i = 0; i < w->conf->nservers; i++)
		look_at_server(&u, &w->conf->servers[i]);
	any = u.rates || u.paces || l->new_connections_per_second > 0 ||
	      l->connections_per_client > 0 || l->uploads_per_client > 0;
	if (l->requests_burst > 0 && !u.rates)
		conf_fault(w->warnings, &l->requests_burst_at,
			"requests-burst does nothing without requests-per-second");
	for (unsigned i = 0; i < l->exempt.n; i++)
		if (strcmp(l->exempt.v[i], "all") == 0 ||
			slice_ends(slice_str(l->exempt.v[i]), SLICE("/0")))
			conf_fault(w->warnings, &l->exempt_at,
				"exempt \"%.100s\" exempts all clients", l->exempt.v[i]);
	if (l->exempt.n > 0 && !any)
		conf_fault(w->warnings, &l->exempt_at,
			"exempt does nothing without a limit per client, such as "
			"requests-per-second");
	if (l->dry_run && !any)
		conf_fault(w->warnings, &l->dry_run_at,
			"dry-run does nothing without a limit per client, such as "
			"requests-per-second");
}

/* nginx's line has the format after the file. */
static void check_log(const struct warner *w, const struct conf_log *log)
{
	const char *space = log->access_log != NULL ? strrchr(log->access_log, ' ') : NULL;

	if (space != NULL && strpbrk(space, "./") == NULL)
		conf_fault(w->warnings, &log->access_log_at,
			"access-log \"%.200s\" is one file name: set the format in "
			"access-log-format",
			log->access_log);
}

/* No client would be admitted. */
static void check_handshakes(const struct warner *w)
{
	for (unsigned i = 0; i < w->conf->nservers; i++)
		if (strcmp(w->conf->servers[i].name, "_") != 0 || w->conf->servers[i].aliases.n > 0)
			return;
	if (w->conf->tls.reject_handshake)
		conf_fault(w->warnings, &w->conf->tls.reject_handshake_at,
			"reject-handshake refuses all clients: no server has a name");
}

static void check_listens(const struct warner *w)
{
	for (unsigned i = 0; i < w->conf->nlistens; i++) {
		const struct conf_listen *l = &w->conf->listens[i];
		const char *port = strrchr(l->address, ':');

		if (port != NULL && strcmp(port, ":443") == 0 && !l->tls && !l->redirect_to_https &&
			!l->admin && !l->proxy_protocol && w->conf->trusted_proxies.n == 0)
			conf_fault(w->warnings, &l->at,
				"listen \"%.200s\" is cleartext, but browsers expect TLS: set tls "
				"= true",
				l->address);
	}
}

static void check_location(
	const struct warner *w, const struct conf_server *s, const struct conf_location *l)
{
	const char *c = strchr(l->prefix, '%');

	if (c != NULL && isxdigit((unsigned char)c[1]) && isxdigit((unsigned char)c[2]))
		conf_fault(w->warnings, &l->at,
			"location \"%.200s\" contains a \"%%\", but paths are decoded before they "
			"are compared: write the character for %.3s",
			l->prefix, c);
	check_scope(w, s, &l->scope);
	check_sendfile(w, &l->scope);
	check_files(w, l->files, l->nfiles);
	if (is_own(&l->scope.redirect_at)) {
		check_redirect(w, &l->scope, l->prefix);
		check_circle(w, s, &l->scope, l->prefix);
	}
}

static void warn_of_server(const struct warner *w, const struct conf_server *s)
{
	struct uses u = { 0 };

	check_redirect(w, &s->scope, "/");
	for (unsigned i = 0; i < s->nlocations; i++)
		check_location(w, s, &s->locations[i]);
	check_scope(w, s, &s->scope);
	check_sendfile(w, &s->scope);
	check_circle(w, s, &s->scope, "/");
	look_at_server(&u, s);
	for (unsigned i = 0; i <= s->nlocations; i++)
		tell_lonely(w, conf_scope(s, i), &u);
	check_files(w, s->files, s->nfiles);
	check_log(w, &s->log);
	if (*s->strict_transport_security != '\0' && conf_https(w->conf) == NULL &&
		w->conf->trusted_proxies.n == 0)
		conf_fault(w->warnings, &s->strict_transport_security_at,
			"strict-transport-security does nothing without a listener with tls = "
			"true");
}

/* A list without use. */
static void check_proxies(const struct warner *w)
{
	const struct conf *conf = w->conf;
	bool used = strcmp(conf->client_address, "connection") != 0 || conf->request_id;

	for (unsigned i = 0; i < conf->nlistens; i++)
		used |= conf->listens[i].proxy_protocol;
	for (unsigned i = 0; i < conf->trusted_proxies.n; i++)
		if (slice_ends(slice_str(conf->trusted_proxies.v[i]), SLICE("/0")))
			conf_fault(w->warnings, &conf->trusted_proxies_at,
				"trusted-proxies \"%.100s\" trusts all clients: each can claim any "
				"address",
				conf->trusted_proxies.v[i]);
	if (conf->trusted_proxies.n > 0 && !used)
		conf_fault(w->warnings, &conf->trusted_proxies_at,
			"trusted-proxies does nothing without client-address, request-id or a "
			"listener with proxy-protocol = true");
}

void conf_warn(const struct conf *conf, struct conf_faults *warnings)
{
	const struct warner w = { .conf = conf, .warnings = warnings };

	for (unsigned i = 0; i < conf->nservers; i++)
		warn_of_server(&w, &conf->servers[i]);
	check_proxies(&w);
	check_listens(&w);
	check_handshakes(&w);
	check_log(&w, &conf->log);
	check_limits(&w);
}
