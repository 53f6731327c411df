/*
 * site: finds the server block of an authority and the location of a path. Called by the request
 * core and by files for each request; searches arrays sorted by sites/sites.c, and never allocates.
 */
#include "rules/site.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>

#include "http/authority.h"
#include "http/coding.h"
#include "http/path.h"
#include "share/access.h"

enum {
	HOST_MAX = 255,     /* RFC 1035, 2.3.4 */
	LOCATIONS_FEW = 32, /* up to here the index takes longer than a check of each */
};

static const struct slice plain_index[] = { SLICE_LIT("index.html") };

static const struct site plain_site = {
	.name = SLICE_LIT("_"),
	.is_default = true,
	.all = {
		.prefix = SLICE_LIT("/"),
		.charset = SLICE_LIT("utf-8"),
		.index = plain_index,
		.nindex = 1,
	},
};

const struct sites sites_plain = { .v = &plain_site, .n = 1 };

int site_name_order(const void *a, const void *b)
{
	const struct slice *x = &((const struct site_name *)a)->name;
	const struct slice *y = &((const struct site_name *)b)->name;
	size_t n = x->n < y->n ? x->n : y->n;
	int order = n > 0 ? memcmp(x->p, y->p, n) : 0;

	return order != 0 ? order : (x->n > y->n) - (x->n < y->n);
}

static const struct site_name *site_find(const struct sites *s, struct slice name)
{
	struct site_name key = { .name = name };

	return bsearch(&key, s->names, s->nnames, sizeof(*s->names), site_name_order);
}

const struct site_name *sites_name(const struct sites *s, struct slice authority)
{
	const struct site_name *found;
	char lower[HOST_MAX + 1];
	struct slice host;

	if (s->nnames == 0)
		return NULL;
	host = authority_host(authority);
	if (host.n == 0 || host.n > HOST_MAX)
		return NULL;
	for (size_t i = 0; i < host.n; i++)
		lower[i] = (char)tolower((unsigned char)host.p[i]);
	found = site_find(s, slice_of(lower, host.n));
	/* "a.b.c": then "*.b.c", "*.c"; the star replaces the byte before the dot. */
	for (size_t i = 1; found == NULL && i + 1 < host.n; i++) {
		char saved = lower[i - 1];

		if (lower[i] != '.')
			continue;
		lower[i - 1] = '*';
		found = site_find(s, slice_of(lower + i - 1, host.n - i + 1));
		lower[i - 1] = saved;
	}
	return found;
}

const struct site *sites_named(const struct sites *s, struct slice authority)
{
	const struct site_name *name = sites_name(s, authority);

	return name != NULL ? &s->v[name->site] : NULL;
}

const struct site *sites_find(const struct sites *s, struct slice authority)
{
	const struct site *found = s->nnames > 0 ? sites_named(s, authority) : NULL;

	return found != NULL ? found : &s->v[s->fallback];
}

bool site_prefix_owns(struct slice prefix, struct slice path)
{
	if (!slice_starts(path, prefix))
		return false;
	if (path.n == prefix.n || prefix.p[prefix.n - 1] == '/' || path.p[prefix.n] == '/')
		return true;
	if (path.p[prefix.n] != '.')
		return false;
	/* After the name of a file only extensions of codings may follow. */
	while (path.n > prefix.n && coding_beside(&path) != CODING_NONE)
		;
	return path.n == prefix.n;
}

/* "*" matches any bytes, others match themselves; pattern is in lower case. */
static bool site_fits(struct slice pattern, struct slice name)
{
	size_t p = 0, n = 0, star = SIZE_MAX, from = 0;

	while (n < name.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = p++;
			from = n;
		} else if (p < pattern.n && pattern.p[p] == tolower((unsigned char)name.p[n])) {
			p++;
			n++;
		} else if (star != SIZE_MAX) {
			/* The last star takes one byte more. */
			p = star + 1;
			n = ++from;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}

static bool hides_name(const struct location *location, struct slice name)
{
	for (unsigned i = 0; name.n > 0 && i < location->nhide; i++)
		if (site_fits(location->hide[i], name))
			return true;
	return false;
}

bool site_hides_name(const struct location *location, struct slice path)
{
	struct slice name = path_last(path);

	do
		if (hides_name(location, name))
			return true;
	while (coding_beside(&name) != CODING_NONE);
	return false;
}

bool site_hides(const struct location *location, struct slice path)
{
	for (size_t n = path.n; n > 0 && location->nhide > 0; n -= path_last(path).n + 1) {
		path.n = n;
		if (site_hides_name(location, path))
			return true;
	}
	return false;
}

const struct site_removed *site_removal(const struct location *location, struct slice name)
{
	for (unsigned i = 0; i < location->nremoved; i++)
		if (slice_eq(location->removed[i].name, name))
			return &location->removed[i];
	return NULL;
}

/* A title that is a prefix of path need not own it: "/a" does not own "/ab". */
static const struct location *location_by_prefix(const struct site *s, struct slice path)
{
	const struct prefix_entry *e = prefix_index_find(&s->by_prefix, path);

	while (e != NULL && !site_prefix_owns(e->prefix, path))
		e = prefix_index_outer(&s->by_prefix, e);
	return e != NULL ? &s->locations[e->of] : &s->all;
}

const struct location *site_location_among(const struct site *s, struct slice path)
{
	if (s->by_prefix.n > LOCATIONS_FEW)
		return location_by_prefix(s, path);
	for (unsigned i = 0; i < s->nlocations; i++)
		if (site_prefix_owns(s->locations[i].prefix, path))
			return &s->locations[i];
	return &s->all;
}

const struct location *site_file_settings(const struct location *location, struct slice path)
{
	struct slice name = path_last(path);

	for (unsigned i = 0; i < location->nrules; i++)
		if (site_fits(location->rules[i].pattern, name))
			return &location->rules[i].settings;
	return location;
}

const struct location *site_location_of_file(
	const struct site *s, const struct location *location, struct slice path)
{
	const struct location *own = site_location(s, path);

	return own->prefix.n > location->prefix.n ? own : location;
}

bool site_location_is_index(const struct location *p, const struct location *dir, struct slice path)
{
	struct slice name;

	if (p->prefix.n <= path.n || !slice_starts(p->prefix, path))
		return false;
	name = slice_of(p->prefix.p + path.n, p->prefix.n - path.n);
	for (unsigned i = 0; i < dir->nindex; i++)
		if (site_prefix_owns(name, dir->index[i]))
			return true;
	return false;
}

static unsigned segments(struct slice path)
{
	unsigned n = 0;

	for (size_t i = 0; i < path.n; i++)
		n += path.p[i] != '/' && (i == 0 || path.p[i - 1] == '/');
	return n;
}

/*
 * FAT and NTFS have short names (HTPASS~1 is .htpasswd), Unicode ignorable characters (perhaps
 * before the dot).
 */
static bool may_hide_a_dot(struct slice path)
{
	for (size_t i = 0; i < path.n; i++)
		if (path.p[i] == '~' ||
			((unsigned char)path.p[i] > 127 && (i == 0 || path.p[i - 1] == '/')))
			return true;
	return false;
}

unsigned site_spelling_matters(const struct site *site, struct slice path)
{
	unsigned n = 0;

	if (site->hides || may_hide_a_dot(path))
		return UINT_MAX;
	for (unsigned i = 0; site->guarded && i < site->nlocations; i++) {
		unsigned its = segments(site->locations[i].prefix);

		n = its > n ? its : n;
	}
	return n;
}

const struct site_upload *site_upload_of(const struct site *s, struct slice path)
{
	const struct site_upload *best = NULL;

	for (const struct site_upload *u = s->uploads; u != s->uploads + s->nuploads; u++)
		if (slice_starts(path, u->dir) && (path.n == u->dir.n || path.p[u->dir.n] == '/') &&
			(best == NULL || u->dir.n > best->dir.n))
			best = u;
	return best;
}

const struct site_error_page *site_error_page(
	const struct site *s, const struct location *location, int status)
{
	for (unsigned i = 0; i < location->nerror_pages; i++)
		if (location->error_pages[i].status == status)
			return &location->error_pages[i];
	return location != &s->all ? site_error_page(s, &s->all, status) : NULL;
}

/* --- trusted proxies -------------------------------------------------------------------------- */

bool proxies_trust(const struct proxies *p, const struct addr *from)
{
	return p->trusted != NULL && access_allows(p->trusted, from);
}

/* --- authorities that come again and again ---------------------------------------------------- */

static struct site_memo_entry *memo_entry(struct site_memo *m, struct slice authority)
{
	unsigned hash = (unsigned)authority.n + (unsigned char)authority.p[0] * 3u +
			(unsigned char)authority.p[authority.n / 2] * 5u +
			(unsigned char)authority.p[authority.n - 1] * 7u;

	return &m->entries[hash % SITE_MEMO_ENTRIES];
}

/* Not inline: most authorities were seen before. */
static __attribute__((noinline)) const struct site *memo_add(
	struct site_memo *m, const struct sites *s, struct slice authority)
{
	bool malformed = authority.n > 0 && authority_host(authority).n == 0;
	const struct site *site = malformed ? NULL : sites_find(s, authority);
	struct site_memo_entry *e;

	if (site == NULL || authority.n == 0 || authority.n > SITE_MEMO_TEXT)
		return site;
	e = memo_entry(m, authority);
	e->site = site;
	e->n = (uint8_t)authority.n;
	memcpy(e->text, authority.p, authority.n);
	return site;
}

const struct site *site_memo_find(
	struct site_memo *m, const struct sites *s, struct slice authority)
{
	const struct site_memo_entry *e;

	if (authority.n == 0)
		return sites_find(s, authority);
	e = memo_entry(m, authority);
	if (e->n == authority.n && memcmp(e->text, authority.p, authority.n) == 0)
		return e->site;
	return memo_add(m, s, authority);
}
