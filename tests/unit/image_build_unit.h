/*
 * image_build_unit: the keeper's work without a keeper: a whole tree walked and read, an image made
 * of it. No loop, no watches, nothing compressed. Used by the tests of the cache.
 */
#pragma once

#include "base/clock.h"
#include "keeper/image_build.h"
#include "keeper/scan.h"
#include "tree_unit.h"

struct unit_build {
	struct segments segments;
	struct catalog catalog;
	struct reader reader;
	struct scan scan;
};

static inline void unit_build_gone(void *ctx, struct catalog_file *f)
{
	reader_gone(&((struct unit_build *)ctx)->reader, f);
}

static inline void unit_build_gone_dir(void *ctx, struct catalog_dir *d)
{
	scan_gone_dir(&((struct unit_build *)ctx)->scan, d);
}

static inline void unit_build_start(struct unit_build *b, const struct doc_roots *conf)
{
	clock_update();
	segments_init(&b->segments, conf->max_size);
	ck_assert_int_eq(catalog_init(&b->catalog, conf, &b->segments), 0);
	ck_assert_int_eq(reader_init(&b->reader, &b->catalog), 0);
	scan_init(&b->scan, &b->catalog, &b->reader, NULL);
	b->catalog.gone = unit_build_gone;
	b->catalog.gone_dir = unit_build_gone_dir;
	b->catalog.ctx = b;
}

/* Until there is nothing to do at once. */
static inline void unit_build_work(struct unit_build *b)
{
	bool more;

	scan_roots(&b->scan);
	clock_update();
	do {
		reader_wait(&b->reader);
		more = reader_step(&b->reader);
		if (!more)
			more = scan_step(&b->scan);
	} while (more);
}

static inline void unit_build_stop(struct unit_build *b)
{
	scan_fini(&b->scan);
	catalog_fini(&b->catalog);
	reader_fini(&b->reader);
	segments_fini(&b->segments);
}
