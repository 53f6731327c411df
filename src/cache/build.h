/*
 * build: reads the roots and makes a cache image of them. Runs in the keeper. What it cannot read, or
 * may not, it leaves out: the disk answers for that.
 */
#ifndef H2D_CACHE_BUILD_H
#define H2D_CACHE_BUILD_H

#include "cache/files.h"
#include "cache/pack.h"

struct build {
	const struct files_conf *conf;
	uint64_t number;
	/* Called again and again, some times a second at least; false stops the build. */
	bool (*go_on)(void *ctx);
	void *ctx;
};

/*
 * Walks every root. Entered are directories on the root's own mount, not through symbolic links, on
 * file systems that cannot hang. 0, -ECANCELED, or -errno.
 */
int build_image(const struct build *b, struct pack_image *img);

#endif
