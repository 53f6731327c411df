/*
 * backlog: applies changes to the catalogue, or queues them in memory that grows; marks the doubted
 * names, many at a time, and answers after the kernel was asked, too. The keeper calls it on its
 * loop; it never waits, and never trusts the length or the form of a message.
 */
#include "keeper/keeper.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/path.h"
#include "image/beneath.h"

enum {
	ROOTS_AT_ONCE = 1024,
	AT_ONCE = 64,
	BATCHES = 32, /* more than a full queue holds */
};

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

/* --- a change --------------------------------------------------------------------------------- */

/* The directory of path, if it is known and path may be cached. */
static struct catalog_dir *parent_of(const struct scan *s, unsigned root, struct slice path)
{
	size_t n = path.n;
	char name[NAME_MAX + 2];

	if (n > 0 && path.p[n - 1] == '/')
		n--;
	while (n > 0 && path.p[n - 1] != '/')
		n--;
	if (n == 0 || path.n == n || path.n - n >= sizeof(name) || path.n >= PATH_MAX - 8)
		return NULL;
	memcpy(name, path.p + n, path.n - n);
	name[path.n - n] = '\0';
	name[strcspn(name, "/")] = '\0';
	if (path_hidden_name(slice_str(name)))
		return NULL;
	return catalog_find_dir(s->catalog, root, slice_of(path.p, n));
}

static void file_changed(struct scan *s, unsigned root, struct slice path)
{
	struct catalog_file *f = catalog_find(s->catalog, root, path);
	struct catalog_dir *parent = parent_of(s, root, path);

	if (parent == NULL)
		return;
	if (f != NULL)
		catalog_doubt(s->catalog, f);
	/* The reported spelling of the path may differ from that in its directory. */
	else if (spelling_check(s->catalog->roots[root].fd, path.p, UINT_MAX, 0) != -ENOENT)
		f = scan_add_file(s, parent, path);
	if (f == NULL)
		return;
	/* A listing in progress may have passed it. */
	f->seen = parent->pass;
	reader_changed(s->reader, f);
}

static void doubt_below(struct scan *s, struct catalog_dir *d)
{
	catalog_doubt_below(s->catalog, d);
	reader_changed_below(s->reader, d);
}

static void dir_changed(struct scan *s, unsigned root, struct slice path)
{
	struct catalog_dir *d = catalog_find_dir(s->catalog, root, path);
	struct catalog_dir *parent = parent_of(s, root, path);

	if (d != NULL)
		doubt_below(s, d);
	else if (parent != NULL)
		d = catalog_add_dir(s->catalog, root, parent, path);
	if (d == NULL)
		return;
	if (parent != NULL)
		d->seen = parent->pass;
	scan_again(s, d);
}

static void root_changed(struct scan *s, unsigned root)
{
	struct catalog_root *r = &s->catalog->roots[root];

	if (r->top != NULL)
		doubt_below(s, r->top);
	scan_anew(s, root);
}

void backlog_apply(struct scan *s, enum tree_change what, unsigned root, const char *path)
{
	if (what == TREE_LOST) {
		for (unsigned i = 0; i < s->catalog->nroots; i++)
			root_changed(s, i);
		return;
	}
	if (what == TREE_DOUBT)
		what = catalog_find_dir(s->catalog, root, slice_str(path)) != NULL ? TREE_DIR
										   : TREE_FILE;
	if (what == TREE_ROOT)
		root_changed(s, root);
	else if (what == TREE_DIR)
		dir_changed(s, root, slice_str(path));
	else
		file_changed(s, root, slice_str(path));
}

/* --- the backlog ------------------------------------------------------------------------------ */

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
	for (unsigned i = 0; b->lost && i < b->scan->catalog->nroots; i++)
		catalog_mark(b->scan->catalog, i, SLICE("/"));
}

void backlog_change(struct backlog *b, enum tree_change what, unsigned root, const char *path)
{
	struct slice s = what == TREE_LOST ? SLICE("") : slice_str(path);

	if (!b->midway) {
		backlog_flush(b);
		backlog_apply(b->scan, what, root, path);
		return;
	}
	if (!b->lost && what != TREE_LOST)
		catalog_mark(b->scan->catalog, root, s);
	keep_change(b, what, root, s);
}

static void pass_on(struct backlog *b)
{
	for (size_t at = 0; at < b->changes.n;) {
		const char *p = b->changes.p + at;
		struct kept k;

		memcpy(&k, p, sizeof(k));
		backlog_apply(b->scan, k.what, k.root, p + sizeof(k));
		at += sizeof(k) + k.n + 1;
	}
}

void backlog_flush(struct backlog *b)
{
	if (b->midway || (b->changes.n == 0 && !b->lost))
		return;
	if (b->lost)
		backlog_apply(b->scan, TREE_LOST, 0, "");
	else
		pass_on(b);
	b->lost = false;
	strbuf_fini(&b->changes);
}

/* --- doubts ----------------------------------------------------------------------------------- */

/* In every root that is the directory (dev, ino). */
static void mark_doubted(struct backlog *b, const struct doubt_msg *msg, const char *path)
{
	const struct catalog *c = b->scan->catalog;

	for (unsigned i = 0; i < c->nroots; i++)
		if (c->roots[i].dev == msg->dev && c->roots[i].ino == msg->ino) {
			b->walked |= catalog_find_dir(c, i, slice_str(path)) != NULL;
			backlog_change(b, TREE_DOUBT, i, path);
		}
	loop_ready(b->loop, b->work);
}

/* Marks one; its answer follows a question to the kernel. False: none. */
static bool take_one(struct backlog *b, int *answer, uint64_t *id)
{
	struct doubt_msg msg;
	char path[PATH_MAX];
	int rc;

	while ((rc = doubt_recv(b->doubts.fd, &msg, path, answer)) == -EPROTO) {
		if (!b->refused)
			log_error("cache: ignoring a malformed change report");
		b->refused = true;
	}
	if (rc == 1) {
		mark_doubted(b, &msg, path);
		*id = msg.id;
		return true;
	}
	if (rc != -EAGAIN) {
		loop_unwatch(b->loop, &b->doubts);
		b->end(b);
	}
	return false;
}

static void ask_kernel(struct backlog *b)
{
	if (b->scan->watch != NULL)
		tree_watch_read(b->scan->watch);
}

static bool answer_some(struct backlog *b)
{
	int answers[AT_ONCE];
	uint64_t ids[AT_ONCE];
	unsigned n = 0;

	/* One directory in a turn: it may be a large one. */
	while (n < AT_ONCE && !b->walked && b->doubts.active && take_one(b, &answers[n], &ids[n]))
		n++;
	if (n == 0)
		return false;
	/* The file may have other names. */
	ask_kernel(b);
	for (unsigned i = 0; i < n; i++)
		doubt_answer(answers[i], ids[i]);
	return n == AT_ONCE;
}

static void answer_all(struct backlog *b)
{
	b->walked = false;
	for (int i = 0; i < BATCHES && b->doubts.active && answer_some(b); i++)
		;
}

/* Some of them, if there are many: each a few times a second. */
static void look_at_roots(struct backlog *b)
{
	unsigned n = b->scan->catalog->nroots;

	for (unsigned i = 0; i < n && i < ROOTS_AT_ONCE; i++) {
		unsigned root = b->next_root++ % n;

		if (!scan_root_moved(b->scan, root))
			continue;
		backlog_change(b, TREE_ROOT, root, "/");
		loop_ready(b->loop, b->work);
	}
}

void backlog_read(struct backlog *b)
{
	backlog_flush(b);
	look_at_roots(b);
	ask_kernel(b);
	answer_all(b);
}

static void on_doubts(struct watch *w, uint32_t events)
{
	(void)events;
	answer_all(LIST_ENTRY(w, struct backlog, doubts));
}

static void on_begin(struct timer *t)
{
	struct backlog *b = LIST_ENTRY(t, struct backlog, begin);
	int rc = loop_watch(b->loop, &b->doubts, EPOLLIN);

	if (rc < 0)
		log_error("cache: cannot read change reports: %s", strerror(-rc));
}

int backlog_open(struct backlog *b, struct loop *loop, int fd, uint64_t from_ms)
{
	b->loop = loop;
	b->doubts = (struct watch){ .fn = on_doubts, .fd = fd };
	timer_init(&b->begin, on_begin);
	if (fd < 0)
		return 0;
	if (from_ms <= clock_ms())
		return loop_watch(loop, &b->doubts, EPOLLIN);
	timer_arm(&loop->wheel, &b->begin, from_ms);
	return 0;
}

void backlog_close(struct backlog *b, bool farewell)
{
	/* While it is armed, an earlier keeper's images may still be used. */
	if (farewell && b->doubts.fd >= 0 && !timer_armed(&b->begin))
		doubt_farewell(b->doubts.fd);
	timer_disarm(&b->loop->wheel, &b->begin);
	loop_unwatch(b->loop, &b->doubts);
}
