/*
 * store_path: the paths of a request: names that a file may have, and on a drive the destination,
 * and the rules inside a directory. On the loop; never touches the disk.
 */
#include "http/authority.h"
#include "http/path.h"
#include "request/gate.h"
#include "store/store.h"

const struct err *store_path_check(const struct store *s, struct slice path)
{
	unsigned depth = s->req->site->upload_depth;
	unsigned folders = s->plan == &store_form || s->plan == &store_make;
	const struct err *err = NULL;
	const char *slash;

	/* A missing name may have no bytes, p NULL. */
	if (path.n == 0 && s->plan == &store_make)
		return ERR_FOLDER_THERE;
	if (path.n == 0)
		return folders > 0 || s->plan == &store_list ? NULL : file_name_check(path);
	while (err == NULL && (slash = memchr(path.p, '/', path.n)) != NULL) {
		size_t n = (size_t)(slash - path.p);

		err = depth > 0 ? file_name_check(slice_of(path.p, n)) : ERR_FILE_NAME_SLASH;
		path = slice_of(slash + 1, path.n - n - 1);
		folders++;
	}
	if (err == NULL)
		err = file_name_check(path);
	return err == NULL && folders > depth ? ERR_FILE_NAME_DEPTH : err;
}

/* --- the destination -------------------------------------------------------------------------- */

/* Cuts scheme and authority off an absolute URL of the request's site. False: it is another's. */
static bool cut_authority(const struct h2d_req *req, struct slice *url)
{
	struct slice scheme, authority;

	if (url->n > 0 && url->p[0] == '/')
		return true;
	if (!slice_cut(url, ':', &scheme) || !slice_starts(*url, SLICE("//")))
		return false;
	slice_skip(url, 2);
	slice_cut(url, '/', &authority);
	/* The slash is the first byte of the path. */
	*url = slice_of(authority.p + authority.n, url->n + 1);
	return authority_host(authority).n > 0 &&
	       sites_find(req->env->sites, authority) == req->site;
}

/* Cuts the prefix of the directory of uploads off a path. False: it is not below that. */
static bool cut_prefix(const struct h2d_req *req, struct slice *path)
{
	const struct site_upload *u = req->location->upload;

	if (site_location(req->site, *path)->upload != u || !slice_starts(*path, u->url) ||
		path->n < u->url.n + 2 || path->p[u->url.n] != '/')
		return false;
	slice_skip(path, u->url.n + 1);
	return true;
}

/* True if b is a, or below it. */
static bool contains(struct slice a, struct slice b)
{
	return slice_starts(b, a) && (b.n == a.n || b.p[a.n] == '/');
}

static const struct err *read_destination(struct store *s, struct slice url)
{
	struct store_tree *t = &s->work.tree;
	struct slice path, query, name;
	const struct err *err;

	if (s->req->location->store_folder.n > 0)
		return ERR_DESTINATION_ELSEWHERE;
	if (!cut_authority(s->req, &url))
		return url.n > 0 ? ERR_DESTINATION_ELSEWHERE : ERR_DESTINATION;
	err = path_parse(url, &s->arena, &path, &query);
	if (err != NULL)
		return err == ERR_NO_MEMORY ? err : ERR_DESTINATION;
	path.n -= path.p[path.n - 1] == '/';
	s->to_public = path;
	if (!cut_prefix(s->req, &path))
		return ERR_DESTINATION_ELSEWHERE;
	err = store_path_check(s, path);
	if (err != NULL)
		return err;
	name = file_name_last(path);
	t->to_name = arena_printf(&s->arena, "%.*s", SLICE_ARG(name));
	t->to_folder = arena_printf(
		&s->arena, "%.*s", (int)(name.n < path.n ? path.n - name.n - 1 : 0), path.p);
	s->to_own = slice_str(arena_printf(&s->arena, "%s/%.*s", s->work.dir, SLICE_ARG(path)));
	return t->to_name == NULL || t->to_folder == NULL || s->to_own.n == 0 ? ERR_NO_MEMORY
									      : NULL;
}

/* --- the rules -------------------------------------------------------------------------------- */

/* True if the rules of a location are for paths below that of a directory. */
static bool has_inside(const struct site *site, struct slice path)
{
	for (unsigned i = 0; site->guarded && i < site->nlocations; i++) {
		struct slice prefix = site->locations[i].prefix;

		if (prefix.n > path.n && slice_starts(prefix, path) && prefix.p[path.n] == '/')
			return true;
	}
	return false;
}

/* A directory may change only where each of its members has the rules that were checked. */
static void find_rules(struct store *s)
{
	const struct site *site = s->req->site;
	struct store_tree *t = &s->work.tree;
	struct slice to[2] = { s->to_own, s->to_public };

	for (unsigned i = 0; i < 2; i++) {
		t->hides[i] = site_location(site, t->paths[i]);
		t->closed |= has_inside(site, t->paths[i]);
		if (to[i].n > 0)
			t->closed |= has_inside(site, to[i]) ||
				     t->hides[i] != site_location(site, to[i]);
	}
}

/* True if the destination has writers, too. */
static bool has_writers(const struct store *s)
{
	const struct site *site = s->req->site;

	return site_location(site, s->to_own)->writers ||
	       site_location(site, s->to_public)->writers;
}

/* Finds the request's own paths. */
static bool find_own(struct store *s)
{
	struct store_tree *t = &s->work.tree;
	struct slice public = s->req->path;
	const char *open = s->req->site->guarded ? demand_open(s->req) : "";

	public.n -= public.p[public.n - 1] == '/';
	t->site = s->req->site;
	t->target = arena_dup(&s->arena, s->req->target);
	t->paths[0] = store_own_path(s, s->work.name != NULL ? s->work.name : "");
	t->paths[0].n -= slice_ends(t->paths[0], SLICE("/"));
	t->paths[1] = arena_dup(&s->arena, public);
	t->open = open != NULL ? arena_strdup(&s->arena, open) : NULL;
	return t->target.p != NULL && t->paths[0].n > 0 && t->paths[1].p != NULL && t->open != NULL;
}

const struct err *store_path_ask(struct store *s, struct slice destination)
{
	struct slice own;
	const struct err *err = NULL;

	s->work.tree.depth = s->req->site->upload_depth;
	if (!find_own(s))
		return ERR_NO_MEMORY;
	own = s->work.tree.paths[0];
	if (s->plan == &store_copy || s->plan == &store_move)
		err = read_destination(s, destination);
	if (err == NULL && s->to_own.n > 0 && !has_writers(s))
		err = ERR_UPLOAD_WRITERS;
	if (err == NULL && s->to_own.n > 0 &&
		(contains(own, s->to_own) || contains(s->to_own, own)))
		err = ERR_DESTINATION_INSIDE;
	find_rules(s);
	return err;
}
