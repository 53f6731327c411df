/*
 * trees: makes the list of roots from the server blocks. The master calls it while it builds a
 * generation; it borrows every string from the configuration and never touches the file system.
 */
#include "server/trees.h"

#include <stdlib.h>

#include "http/coding.h"

/* Entries say which charset their types carry, so that a root may be needed once for each. */
static unsigned number(struct trees *t, const char *root, const char *charset)
{
	const struct doc_root new = { .root = root, .charset = charset };
	unsigned i = 0;

	while (i < t->files.nroots && (strcmp(t->roots[i].root, new.root) != 0 ||
					      strcmp(t->roots[i].charset, new.charset) != 0))
		i++;
	if (i == t->files.nroots)
		t->roots[t->files.nroots++] = new;
	return i;
}

/* Without a root of its own it has that of its server, whatever its charset. */
static unsigned number_location(struct trees *t, const struct conf_server *s, unsigned server,
	const struct conf_location *l)
{
	const struct conf_scope *charset = l->scope.charset_at.file != NULL ? &l->scope : &s->scope;

	if (l->root == NULL || *l->root == '\0')
		return server;
	return number(t, l->root, charset->charset);
}

static void number_server(struct trees *t, const struct conf_server *s, unsigned i, unsigned *at)
{
	t->of_server[i] = number(t, s->root, s->scope.charset);
	t->of_location[i] = at;
	for (unsigned j = 0; j < s->nlocations; j++)
		at[j] = number_location(t, s, t->of_server[i], &s->locations[j]);
}

static unsigned codings(const struct conf_list *list)
{
	unsigned set = 0;

	for (unsigned i = 0; i < list->n; i++)
		for (unsigned c = 0; c < CODINGS; c++)
			if (slice_eq(coding_names[c], slice_str(list->v[i])))
				set |= 1u << c;
	return set;
}

int trees_init(struct trees *t, const struct conf *conf, unsigned built)
{
	unsigned nlocations = 0;

	*t = (struct trees){ .files = {
				     .max_size = conf->cache.max_size,
				     .max_file_size = conf->cache.max_file_size,
				     .codings = codings(&conf->cache.compress) & built,
				     .rescan_ms = conf->cache.rescan_interval * 1000,
			     } };
	for (unsigned i = 0; i < conf->nservers; i++)
		nlocations += conf->servers[i].nlocations;
	t->roots = calloc(conf->nservers + nlocations, sizeof(*t->roots));
	t->of_server = calloc(conf->nservers, sizeof(*t->of_server));
	t->of_location = calloc(conf->nservers, sizeof(*t->of_location));
	t->locations = calloc(nlocations + 1, sizeof(*t->locations));
	if (t->roots == NULL || t->of_server == NULL || t->of_location == NULL ||
		t->locations == NULL) {
		trees_fini(t);
		return -1;
	}
	t->files.roots = t->roots;
	nlocations = 0;
	for (unsigned i = 0; i < conf->nservers; i++) {
		number_server(t, &conf->servers[i], i, t->locations + nlocations);
		nlocations += conf->servers[i].nlocations;
	}
	return 0;
}

void trees_fini(struct trees *t)
{
	free(t->roots);
	free(t->of_server);
	free(t->of_location);
	free(t->locations);
	t->of_location = NULL;
	t->locations = NULL;
	t->roots = NULL;
	t->of_server = NULL;
}
