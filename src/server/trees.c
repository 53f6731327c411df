/*
 * trees: makes the list of roots from the server blocks. The master calls it while it builds a
 * generation; it borrows every string from the configuration and never touches the file system.
 */
#include "server/trees.h"

#include <stdlib.h>

#include "http/coding.h"

/* Entries say which charset their types carry, so that a root may be needed once for each. */
static unsigned number(struct trees *t, const struct conf_server *s)
{
	const struct doc_root new = { .root = s->root, .charset = s->scope.charset };
	unsigned i = 0;

	while (i < t->files.nroots && (strcmp(t->roots[i].root, new.root) != 0 ||
					      strcmp(t->roots[i].charset, new.charset) != 0))
		i++;
	if (i == t->files.nroots)
		t->roots[t->files.nroots++] = new;
	return i;
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
	*t = (struct trees){ .files = {
				     .max_size = conf->cache.max_size,
				     .max_file_size = conf->cache.max_file_size,
				     .codings = codings(&conf->cache.compress) & built,
				     .rescan_ms = conf->cache.rescan_interval * 1000,
			     } };
	t->roots = calloc(conf->nservers, sizeof(*t->roots));
	t->of_server = calloc(conf->nservers, sizeof(*t->of_server));
	if (t->roots == NULL || t->of_server == NULL) {
		trees_fini(t);
		return -1;
	}
	t->files.roots = t->roots;
	for (unsigned i = 0; i < conf->nservers; i++)
		t->of_server[i] = number(t, &conf->servers[i]);
	return 0;
}

void trees_fini(struct trees *t)
{
	free(t->roots);
	free(t->of_server);
	t->roots = NULL;
	t->of_server = NULL;
}
