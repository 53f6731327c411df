/*
 * conf_warn: what a configuration says that is no fault, but is probably not what its writer meant.
 * Called by main for -t and by reload.c for a start or a reload; reads the configuration alone.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "conf/conf.h"

struct warner {
	const struct conf *conf;
	conf_fault_fn *warn;
	void *ctx;
};

static void warn_of(const struct warner *w, const struct conf_pos *pos, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void warn_of(const struct warner *w, const struct conf_pos *pos, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	w->warn(w->ctx, pos, text);
}

/* The title or the target of one page: "/old.html", "https://example.com/new.html". */
static bool is_page(const char *s)
{
	const char *host = strstr(s, "://"), *path = host != NULL ? strchr(host + 3, '/') : s;
	const char *name = path != NULL ? strrchr(path, '/') : NULL;

	return name != NULL && strchr(name, '.') != NULL;
}

/* Below prefix there is more than one path, and all of them lead to the same. */
static void check_redirect(
	const struct warner *w, const struct conf_scope *p, bool kept, const char *prefix)
{
	const char *to = p->redirect;

	if (*to == '\0' || kept || p->redirect_keep_path_at.file != NULL)
		return;
	if (to[strlen(to) - 1] == '/' || strpbrk(to, "?#") != NULL || is_page(to) ||
		is_page(prefix))
		return;
	warn_of(w, &p->redirect_at,
		"redirect \"%.200s\" drops the rest of the path: all that is below %.200s leads "
		"there; "
		"redirect-keep-path says whether that is meant",
		to, prefix);
}

/* Here, or in front of a proxy that says so. */
static bool has_tls(const struct conf *conf)
{
	bool tls = conf->trusted_proxies.n > 0;

	for (unsigned i = 0; i < conf->nlistens; i++)
		tls |= conf->listens[i].tls && !conf->listens[i].admin;
	return tls;
}

static void check_server(const struct warner *w, const struct conf_server *s)
{
	bool kept = s->scope.redirect_keep_path_at.file != NULL;

	check_redirect(w, &s->scope, false, "/");
	for (unsigned i = 0; i < s->nlocations; i++)
		check_redirect(w, &s->locations[i].scope, kept, s->locations[i].prefix);
	if (*s->strict_transport_security != '\0' && !has_tls(w->conf))
		warn_of(w, &s->strict_transport_security_at,
			"strict-transport-security is sent over TLS alone, and no listener has tls "
			"= "
			"true");
}

/* A list that nothing looks at. */
static void check_proxies(const struct warner *w)
{
	const struct conf *conf = w->conf;
	bool used = conf->client_address != 0;

	for (unsigned i = 0; i < conf->nlistens; i++)
		used |= conf->listens[i].proxy_protocol;
	if (conf->trusted_proxies.n > 0 && !used)
		warn_of(w, &conf->trusted_proxies_at,
			"trusted-proxies does nothing without client-address or a listener with "
			"proxy-protocol = true");
}

void conf_warn(const struct conf *conf, conf_fault_fn *warn, void *ctx)
{
	const struct warner w = { .conf = conf, .warn = warn, .ctx = ctx };

	for (unsigned i = 0; i < conf->nservers; i++)
		check_server(&w, &conf->servers[i]);
	check_proxies(&w);
}
