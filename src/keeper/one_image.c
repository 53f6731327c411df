/*
 * one_image: the parts of the keeper without its loop of work: scan gets one file instead of the
 * tree, reader and variants work as always. It sends no message to workers.
 */
#include "keeper/keeper.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

enum {
	NUMBER = 1,
	FRESH_MS = 3600 * 1000, /* it is used at once, however busy the machine is */
	POLL_MS = 10,
	LONGEST_MS = 30000, /* the limit for a file that keeps changing */
};

struct one_image {
	struct doc_roots conf;
	struct segments segments;
	struct catalog catalog;
	struct reader reader;
	struct scan scan;
	struct variants variants;
	struct built_image built;
};

static void on_gone(void *ctx, struct catalog_file *f)
{
	struct one_image *i = ctx;

	reader_gone(&i->reader, f);
	variants_gone(&i->variants, f);
}

static void on_gone_dir(void *ctx, struct catalog_dir *d)
{
	scan_gone_dir(&((struct one_image *)ctx)->scan, d);
}

static void on_renewed(void *ctx, struct catalog_file *f)
{
	variants_want(&((struct one_image *)ctx)->variants, f);
}

static int start_image(struct one_image *i, struct loop *l)
{
	int rc = reader_init(&i->reader, &i->catalog);

	scan_init(&i->scan, &i->catalog, &i->reader, NULL);
	if (rc == 0)
		rc = variants_init(&i->variants, &i->catalog, l, 1);
	i->catalog.gone = on_gone;
	i->catalog.gone_dir = on_gone_dir;
	i->catalog.ctx = i;
	return rc;
}

static void tell_file(struct one_image *i, unsigned root, struct slice path)
{
	char name[PATH_MAX];

	if (path.n == 0 || path.n >= sizeof(name))
		return;
	memcpy(name, path.p, path.n);
	name[path.n] = '\0';
	backlog_apply(&i->scan, TREE_FILE, root, name);
}

/* Reports the directories on the way to path, then the files beside it, then itself. */
static void tell_of(struct one_image *i, unsigned root, struct slice path)
{
	char name[PATH_MAX];

	for (size_t n = 1; n < path.n && n + 1 < sizeof(name); n++)
		if (path.p[n] == '/') {
			memcpy(name, path.p, n + 1);
			name[n + 1] = '\0';
			backlog_apply(&i->scan, TREE_DIR, root, name);
		}
	for (enum coding c = 0; c < CODINGS; c++)
		tell_file(i, root, coding_path_beside(path, c, name));
	tell_file(i, root, path);
}

static int make_image(struct one_image *i, struct loop *l)
{
	uint64_t until = clock_ms() + LONGEST_MS;
	int rc = 0;

	while (rc == 0 && reader_pending(&i->reader) + variants_pending(&i->variants) > 0) {
		int ms = reader_wait(&i->reader);

		if (clock_ms() > until)
			return -ETIMEDOUT;
		if (reader_step(&i->reader))
			ms = 0;
		variants_step(&i->variants);
		/* The reader's thread, which waits for writers of the file, cannot wake the
		 * loop. */
		rc = loop_turn(l, ms < 0 || ms > POLL_MS ? POLL_MS : ms);
	}
	return rc;
}

struct one_image *one_image_new(struct loop *l, const struct doc_roots *conf, unsigned root,
	struct slice path, bool compress)
{
	struct one_image *i = calloc(1, sizeof(*i));
	int rc = -ENOMEM;

	if (i == NULL)
		return NULL;
	i->conf = *conf;
	i->reader.fd = -1;
	i->conf.max_size = segments_max_size(conf->max_size, conf->max_file_size);
	segments_init(&i->segments, i->conf.max_size);
	if (path.n < PATH_MAX && catalog_init(&i->catalog, &i->conf, &i->segments) == 0)
		rc = start_image(i, l);
	if (rc == 0) {
		if (!compress)
			i->variants.codings = 0;
		i->catalog.renewed = on_renewed;
		scan_roots(&i->scan);
		tell_of(i, root, path);
		rc = make_image(i, l);
	}
	if (rc == 0)
		rc = image_build(&i->catalog, 0, NUMBER, &i->built);
	if (rc < 0)
		one_image_free(&i);
	else
		image_build_tick(&i->built, clock_ms() + FRESH_MS);
	return i;
}

const struct built_image *one_image_built(const struct one_image *i)
{
	return &i->built;
}

void one_image_free(struct one_image **ip)
{
	struct one_image *i = *ip;

	if (i == NULL)
		return;
	*ip = NULL;
	if (i->built.catalog != NULL)
		built_image_close(&i->built);
	variants_fini(&i->variants);
	scan_fini(&i->scan);
	catalog_fini(&i->catalog);
	reader_fini(&i->reader);
	segments_fini(&i->segments);
	free(i);
}
