/*
 * demand: asks one location after the other. Called by gate.c; traces refusals here, with their
 * lines.
 */
#include "request/gate.h"

#include "auth/auth_queue.h"
#include "http/coding.h"
#include "request/req_client.h"
#include "request/trace.h"
#include "rules/subject.h"
#include "share/access.h"

static void add_methods(struct demand *d, struct h2d_req *req, const struct location *location)
{
	d->refused |= location->refused_methods;
	if (demand_refuses_method(d, req))
		TRACE_STEP(req, METHODS, TRACE_AT(location, methods), "refuses %s in \"%.*s\"",
			method_name(req->method), SLICE_ARG(location->prefix));
}

static const char *satisfy_text(bool satisfied, const struct auth *auth)
{
	if (satisfied)
		return "admits the client without a password";
	return auth != NULL ? "requires only a password" : "refuses the client: no rule admits it";
}

/* Only one pair of credentials can be requested: if two files of users apply, all are refused. */
static void demand_add(struct demand *d, struct h2d_req *req, const struct location *location)
{
	const struct auth *auth = location->auth;
	bool in = location->access == NULL || access_allows(location->access, req_client(req));
	bool known = location->subjects == NULL ||
		     subjects_allow(location->subjects, req->conn->client_subject);

	if (__builtin_expect(req->env->conf.traced, false)) {
		trace_access(req, location);
		trace_subject(req, location, known);
	}
	if (location->satisfy_any) {
		bool satisfied =
			(location->access != NULL && in) || (location->subjects != NULL && known);

		TRACE_STEP(req, SATISFY, TRACE_AT(location, satisfy), "%s",
			satisfy_text(satisfied, auth));
		in = satisfied || auth != NULL;
		auth = satisfied ? NULL : auth;
		known = true;
	}
	d->in = d->in && in;
	d->known = d->known && known;
	if (location->refused_methods != 0)
		add_methods(d, req, location);
	if (d->auth == NULL)
		d->auth = auth;
	else if (auth != NULL && strcmp(auth->file, d->auth->file) != 0)
		d->in = false;
}

/* True if the rules of location admit req without another password than passed; NULL: none. */
static bool admits(struct h2d_req *req, const struct location *location, const struct auth *passed)
{
	struct demand d = { .in = true, .known = true, .auth = passed };

	demand_add(&d, req, location);
	return d.in && d.known && d.auth == passed && !demand_refuses_method(&d, req);
}

/* A path that omits its extension: adds the rules of the files that may answer it. */
static bool add_extensions(
	struct demand *d, struct h2d_req *req, const struct location *location, struct slice path)
{
	for (unsigned i = 0; i < location->nextensions; i++) {
		struct slice file = arena_join(&req->arena, path, location->extensions[i]);

		if (file.p == NULL)
			return false;
		demand_add(d, req, site_location(req->site, file));
	}
	return true;
}

static bool hides(struct h2d_req *req, const struct location *location, struct slice path)
{
	if (location->nhide == 0 || !site_hides(location, path))
		return false;
	TRACE_STEP(
		req, HIDE, TRACE_AT(location, hide), "hides a name in \"%.*s\"", SLICE_ARG(path));
	return true;
}

bool demand_of(struct demand *d, struct h2d_req *req, struct slice path)
{
	const struct site *site = req->site;
	const struct location *location = site_location(site, path);
	bool dir = path.p[path.n - 1] == '/';
	unsigned n = dir ? site->nlocations : 0;

	*d = (struct demand){ .in = true, .known = true, .hidden = hides(req, location, path) };
	demand_add(d, req, location);
	for (const struct location *p = site->locations; p != site->locations + n; p++)
		if (site_location_is_index(p, location, path))
			demand_add(d, req, p);
	if (!dir && !add_extensions(d, req, location, path))
		return false;
	while (coding_beside(&path) != CODING_NONE)
		demand_add(d, req, site_location(site, path));
	return true;
}

char *demand_open(struct h2d_req *req)
{
	const struct site *site = req->site;
	char *open = arena_zalloc(&req->arena, site->nlocations + 2);
	struct demand d = { 0 };

	if (open == NULL || (site->guarded && !demand_of(&d, req, req->path)))
		return NULL;
	for (unsigned i = 0; i <= site->nlocations; i++) {
		const struct location *l = i < site->nlocations ? &site->locations[i] : &site->all;

		open[i] = admits(req, l, d.auth) ? '1' : '0';
	}
	return open;
}

bool demand_opens(const struct site *site, const char *open, struct slice path)
{
	do {
		const struct location *l = site_location(site, path);

		if (open[l == &site->all ? site->nlocations : l - site->locations] != '1')
			return false;
	} while (coding_beside(&path) != CODING_NONE);
	return true;
}

bool demand_refuses_method(const struct demand *d, const struct h2d_req *req)
{
	unsigned uploads = 1u << H2D_PUT | 1u << H2D_POST;

	if (!(d->refused >> req->method & 1) || site_is_health(req->site, req->path))
		return false;
	/* The URL of a resumed upload, known only to its client, is no file. */
	return (d->refused & uploads) == uploads ||
	       memmem(req->path.p, req->path.n, H2D_UPLOAD_PATH, sizeof(H2D_UPLOAD_PATH) - 1) ==
		       NULL;
}
