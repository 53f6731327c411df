/*
 * changes: notices by inotify(7) changes in the directories of watched files, and compares the
 * files with those that the serving generation has read. Reload, master_signal and the master's
 * second do the rest. A failed reload is tried again with the next change, and once an hour: the
 * fault may have been another one.
 */
#include "master/changes.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "conf/conf_hosts.h"
#include "conf/conf_watched.h"
#include "master/master_state.h"
#include "sandbox/sandbox_paths.h"

enum {
	/* Several files are written one after the other, and one may be removed before. */
	SETTLE_MS = 200,
	/* The replacement of a directory far above causes no event. */
	LOOK_MS = 10000,
	PAUSE_MS = 60000,
	RETRY_MS = 3600000,
	DOUBLED_MAX = 8, /* most generations that drain before one is cut */
	EVENTS = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVE | IN_ATTRIB | IN_DELETE_SELF |
		 IN_MOVE_SELF | IN_DONT_FOLLOW,
};

static struct gen *serving(const struct master *m)
{
	struct gen *g = m->current;

	return g != NULL && g->state == GEN_SERVE ? g : NULL;
}

/* --- watching --------------------------------------------------------------------------------- */

static void look_soon(struct master *m)
{
	if (!timer_armed(&m->changes.look))
		timer_arm(&m->loop.wheel, &m->changes.look, clock_ms() + SETTLE_MS);
}

static void on_events(struct watch *w, uint32_t events)
{
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));

	(void)events;
	while (read(w->fd, buf, sizeof(buf)) > 0)
		continue;
	look_soon(LIST_ENTRY(w, struct master, changes.events));
}

/* 0, or -errno. */
static int watch_begin(struct master *m)
{
	struct changes *c = &m->changes;
	int rc;

	if (c->events.active)
		return 0;
	c->events =
		(struct watch){ .fn = on_events, .fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC) };
	if (c->events.fd < 0)
		return -errno;
	rc = loop_watch(&m->loop, &c->events, EPOLLIN);
	if (rc < 0)
		close(c->events.fd);
	return rc;
}

static void watch_path(void *ctx, const char *path, unsigned rights)
{
	struct master *m = ctx;
	int rc = watch_begin(m);

	(void)rights;
	/* The directory of a missing file is watched. */
	if (rc == 0 && inotify_add_watch(m->changes.events.fd, path, EVENTS) < 0 && errno == ENOSPC)
		rc = -errno;
	if (rc < 0)
		log_peer(LEVEL_WARN,
			"inotify: %s (fs.inotify.max_user_watches); checking certificates every %d "
			"seconds",
			strerror(-rc), LOOK_MS / 1000);
}

static void watch_file(void *ctx, const char *path)
{
	sandbox_paths_way(path, watch_path, ctx);
}

static void watch_end(struct master *m)
{
	struct changes *c = &m->changes;

	timer_disarm(&m->loop.wheel, &c->look);
	if (!c->events.active)
		return;
	loop_unwatch(&m->loop, &c->events);
	close(c->events.fd);
}

/* --- wishing ---------------------------------------------------------------------------------- */

/*
 * The earliest time of a further reload: each draining generation doubles the pause. So there are
 * six of them within reload-timeout's hour, and none is cut because there are too many.
 */
static uint64_t pause_end(const struct master *m)
{
	unsigned draining = 0;

	LIST_FOREACH(node, &m->gens.all)
		draining += LIST_ENTRY(node, struct gen, node)->state == GEN_DRAIN;
	if (m->changes.taken_ms == 0)
		return 0;
	return m->changes.taken_ms +
	       ((uint64_t)PAUSE_MS << (draining < DOUBLED_MAX ? draining : DOUBLED_MAX));
}

static bool may_wish(const struct master *m)
{
	return m->phase == MASTER_SERVE && clock_ms() >= pause_end(m);
}

static void wish(struct master *m, const char *why)
{
	m->changes.wished = true;
	log_notice("%s; reloading", why);
	m->wish.asked |= 1u << WISH_RELOAD;
	loop_defer(&m->loop, &m->wish.grant);
}

/* Once for each change, because the reload may fail. */
static void look_at_hosts(struct master *m, const struct conf *conf)
{
	struct changes *c = &m->changes;
	uint64_t seen;

	if (conf->npatterns == 0 || !may_wish(m) ||
		clock_ms() - c->hosts_ms < conf->cache.rescan_interval * 1000)
		return;
	c->hosts_ms = clock_ms();
	seen = conf_hosts_look(conf);
	if (seen == conf->hosts_seen || seen == c->hosts_tried)
		return;
	c->hosts_tried = seen;
	wish(m, "a host directory or certificate was added or removed");
}

/* A file rewritten with the same content has not changed. */
static bool is_same(struct changes *c, const struct conf *conf, uint64_t seen)
{
	uint64_t content = conf_watched_read(conf);
	bool known = c->content != 0, quiet = conf_watched_look(conf) == seen;

	if (!known && quiet && seen == c->loaded)
		c->content = content;
	if (known && quiet && content == c->content)
		c->loaded = seen;
	return seen == c->loaded;
}

static void look_at_files(struct master *m, const struct conf *conf)
{
	uint64_t seen = conf_watched_look(conf);
	struct changes *c = &m->changes;
	bool waited = c->waits, quiet = seen == c->seen;

	c->looked_ms = clock_ms();
	c->seen = seen;
	c->waits = false;
	if (!quiet)
		look_soon(m);
	if (!quiet || (seen == c->loaded && c->content != 0) ||
		(seen == c->tried && c->looked_ms - c->tried_ms < RETRY_MS))
		return;
	conf_watched_each(conf, watch_file, m);
	if (is_same(c, conf, seen))
		return;
	c->waits = !may_wish(m);
	if (!c->waits) {
		c->tried = seen;
		c->tried_ms = c->looked_ms;
		wish(m, "certificates, lists or keys have changed");
	} else if (!waited && m->phase == MASTER_SERVE) {
		log_notice("certificates, lists or keys have changed again; reloading in %u s",
			(unsigned)((pause_end(m) - clock_ms()) / 1000 + 1));
	}
}

static void on_look(struct timer *t)
{
	struct master *m = LIST_ENTRY(t, struct master, changes.look);
	const struct gen *g = serving(m);

	if (g != NULL)
		look_at_files(m, g->conf);
}

/* ---------------------------------------------------------------------------------------------- */

void changes_init(struct master *m)
{
	timer_init(&m->changes.look, on_look);
}

void changes_serve(struct master *m)
{
	struct changes *c = &m->changes;
	const struct conf *conf = m->current->conf;

	watch_end(m);
	c->loaded = conf->watched_seen;
	c->content = c->seen = c->tried = 0;
	c->taken_ms = c->wished ? clock_ms() : c->taken_ms;
	c->wished = c->waits = false;
	conf_watched_each(conf, watch_file, m);
	if (c->events.active)
		look_soon(m);
}

void changes_second(struct master *m)
{
	const struct gen *g = serving(m);
	const struct changes *c = &m->changes;

	if (g == NULL) {
		watch_end(m);
		return;
	}
	look_at_hosts(m, g->conf);
	if (c->waits ? may_wish(m) : clock_ms() - c->looked_ms >= LOOK_MS)
		look_at_files(m, g->conf);
}

void changes_fini(struct master *m)
{
	watch_end(m);
}
