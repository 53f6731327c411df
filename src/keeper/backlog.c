/*
 * backlog: queues changes in memory that grows; marks the doubted names, many at a time, and
 * answers after the kernel was asked, too. The keeper calls it on its loop; it never waits, and
 * never trusts the length or the form of a message. Only backlog_flush() changes the catalogue.
 */
#include "keeper/keeper.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/log.h"

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
		scan_change(b->scan, what, root, path);
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

/* --- doubts ----------------------------------------------------------------------------------- */

static void backlog_stop(struct backlog *b)
{
	if (b->doubts.active)
		loop_unwatch(b->loop, &b->doubts);
}

/* In every root that is the directory (dev, ino). */
static void mark_doubted(struct backlog *b, const struct doubt_msg *msg, const char *path)
{
	const struct catalog *c = b->scan->catalog;

	for (unsigned i = 0; i < c->nroots; i++)
		if (c->roots[i].dev == msg->dev && c->roots[i].ino == msg->ino)
			backlog_change(b, TREE_FILE, i, path);
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
		backlog_stop(b);
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

	while (n < AT_ONCE && b->doubts.active && take_one(b, &answers[n], &ids[n]))
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
	backlog_stop(b);
}
