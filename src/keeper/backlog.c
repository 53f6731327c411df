/*
 * backlog: queues changes in memory that grows. The keeper calls it on its one thread; only
 * backlog_flush() changes the catalogue.
 */
#include "keeper/keeper.h"

#include <string.h>

struct kept {
	enum tree_change what;
	unsigned root;
	uint32_t n; /* bytes of path, which follows with a NUL */
};

void backlog_init(struct backlog *b, struct scan *scan)
{
	*b = (struct backlog){ .scan = scan };
}

void backlog_fini(struct backlog *b)
{
	strbuf_fini(&b->changes);
}

static void mark_all(struct catalog *c)
{
	for (unsigned i = 0; i < c->nroots; i++)
		catalog_mark(c, i, SLICE("/"));
}

static void keep_change(struct backlog *b, enum tree_change what, unsigned root, struct slice path)
{
	struct kept k = { .what = what, .root = root, .n = (uint32_t)path.n };

	if (b->lost)
		return;
	b->lost = b->changes.n > BACKLOG_MAX;
	strbuf_add(&b->changes, slice_of((const char *)&k, sizeof(k)));
	strbuf_add(&b->changes, path);
	strbuf_add(&b->changes, slice_of("", 1));
	b->lost |= b->changes.failed || what == TREE_LOST;
	if (b->lost)
		mark_all(b->scan->catalog);
}

void backlog_change(struct backlog *b, enum tree_change what, unsigned root, const char *path)
{
	struct slice s = what == TREE_LOST ? SLICE("") : slice_str(path);

	if (!b->midway) {
		backlog_flush(b);
		scan_change(b->scan, what, root, path);
		return;
	}
	if (!b->lost && what != TREE_LOST)
		catalog_mark(b->scan->catalog, root, s);
	keep_change(b, what, root, s);
}

void backlog_doubt(struct backlog *b, uint64_t dev, uint64_t ino, const char *path)
{
	const struct catalog *c = b->scan->catalog;

	for (unsigned i = 0; i < c->nroots; i++)
		if (c->roots[i].dev == dev && c->roots[i].ino == ino)
			backlog_change(b, TREE_FILE, i, path);
}

static void pass_on(struct backlog *b)
{
	for (size_t at = 0; at < b->changes.n;) {
		const char *p = b->changes.p + at;
		struct kept k;

		memcpy(&k, p, sizeof(k));
		scan_change(b->scan, k.what, k.root, p + sizeof(k));
		at += sizeof(k) + k.n + 1;
	}
}

void backlog_flush(struct backlog *b)
{
	if (b->midway || (b->changes.n == 0 && !b->lost))
		return;
	if (b->lost)
		scan_change(b->scan, TREE_LOST, 0, "");
	else
		pass_on(b);
	b->lost = false;
	strbuf_fini(&b->changes);
}
