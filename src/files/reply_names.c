/*
 * reply_names: the names of files that may answer for a path, one after the other, and redirects
 * for a path with a superfluous or missing name. Called by reply_file.c; looks for no file.
 */
#include "files/reply_file.h"

#include "files/reply_conditional.h"
#include "http/path.h"
#include "request/trace.h"

/* Redirects the client to path, with more appended. */
void reply_names_send_to(struct h2d_req *req, struct slice path, const char *more)
{
	struct slice at = path_encode(path, &req->arena), query = req->query;
	char *location = NULL;

	if (!field_value_valid(query))
		query.n = 0;
	if (at.p != NULL)
		location = arena_printf(&req->arena, "%.*s%s%s%.*s", SLICE_ARG(at), more,
			query.n > 0 ? "?" : "", SLICE_ARG(query));
	if (location == NULL || reply_add(req, SLICE("location"), slice_str(location)) < 0)
		reply_conditional_no_memory(req);
	else
		reply_conditional_error(req, 301);
}

static bool has_dot(struct slice name)
{
	return memchr(name.p, '.', name.n) != NULL;
}

/* Takes the next index file of a directory that may be shown. False: none. */
static bool next_index(struct file_reply *a)
{
	const struct location *location = a->of_path;

	while (a->next < location->nindex && path_hidden_name(location->index[a->next]))
		a->next++;
	if (a->next >= location->nindex)
		return false;
	a->name = arena_join(&a->req->arena, a->path, location->index[a->next++]);
	return true;
}

static struct slice without_slash(const struct file_reply *a)
{
	return slice_of(a->path.p, a->path.n - 1);
}

/*
 * Takes the next file for "/docs/intro", for "/docs/intro/", which is no directory with an index:
 * its client is redirected, because there the links of intro.html are right.
 */
static bool next_behind_slash(struct file_reply *a)
{
	struct slice path = without_slash(a);
	const struct location *location = site_location(a->req->site, path);
	unsigned i = a->next - a->of_path->nindex;

	if (!a->own || a->of_path->autoindex || a->of_path->nextensions == 0 || path.n == 0 ||
		i >= location->nextensions || location->root != a->of_path->root)
		return false;
	a->name = arena_join(&a->req->arena, path, location->extensions[i]);
	a->next++;
	a->way = FILE_REPLY_SLASHED;
	/* The rules of access for the file itself are not checked. */
	return a->name.p == NULL || !a->req->site->guarded ||
	       site_location(a->req->site, a->name) == a->of_path || next_behind_slash(a);
}

/* The number of names for a path that omits its extension. */
static unsigned extensions(const struct file_reply *a)
{
	return a->own ? a->of_path->nextensions : 0;
}

/*
 * Takes the next name of any other path: itself, and with each extension. One without a dot is
 * first looked for with them, so that a cached page takes one look-up, and the disk is not asked
 * before.
 */
static bool next_file(struct file_reply *a)
{
	unsigned n = extensions(a), self = has_dot(path_last(a->path)) ? 0 : n;

	if (a->next > n)
		return false;
	if (a->next == self)
		a->name = a->path;
	else
		a->name = arena_join(&a->req->arena, a->path,
			a->of_path->extensions[a->next - (a->next > self)]);
	a->next++;
	return true;
}

/* Redirects "/about.html" to "/about", "/index.html" to "/". True: it did. */
bool reply_names_redirect(struct h2d_req *req, struct slice path)
{
	const struct location *location = req->location;
	struct slice name = path_last(path), stem = name, dir = slice_of(path.p, path.n - name.n);

	for (unsigned i = 0; stem.n == name.n && i < location->nextensions; i++) {
		struct slice e = location->extensions[i];

		if (name.n > e.n && slice_ends(name, e))
			stem.n -= e.n;
	}
	/* Another file might have the shorter name; see next_file(). */
	if (stem.n == name.n || has_dot(stem))
		return false;
	if (location->nindex > 0 && slice_eq(name, location->index[0]))
		stem.n = 0;
	dir.n += stem.n;
	if (stem.n > 0 && site_location(req->site, dir)->nextensions == 0)
		return false;
	TRACE_STEP(req, EXTENSION, TRACE_AT(location, extensions_redirect),
		"sends the client to \"%.*s\"", SLICE_ARG(dir));
	reply_names_send_to(req, dir, "");
	return true;
}

bool reply_names_next(struct file_reply *a)
{
	return reply_names_is_dir(a) ? next_index(a) || next_behind_slash(a) : next_file(a);
}

void reply_names_take_away_slash(struct file_reply *a)
{
	reply_names_send_to(a->req, without_slash(a), "");
}
