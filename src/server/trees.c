/* trees: from server blocks to file trees. Borrows every string from the configuration. */
#include "server/trees.h"

#include <stdlib.h>

int trees_init(struct trees *t, const struct conf *conf)
{
	t->roots = calloc(conf->nservers > 0 ? conf->nservers : 1, sizeof(*t->roots));
	if (t->roots == NULL)
		return -1;
	for (unsigned i = 0; i < conf->nservers; i++) {
		const struct conf_server *s = &conf->servers[i];

		t->roots[i] = (struct files_root){
			.root = s->root,
			.upload_dir = s->upload_dir,
			.charset = s->charset,
			.index = (const char *const *)s->index.v,
			.nindex = s->index.n,
		};
	}
	t->files = (struct files_conf){
		.roots = t->roots,
		.nroots = conf->nservers,
		.max_size = conf->cache.max_size,
		.max_file_size = conf->cache.max_file_size,
	};
	return 0;
}

void trees_fini(struct trees *t)
{
	free(t->roots);
	t->roots = NULL;
}
