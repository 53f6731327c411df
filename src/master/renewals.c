/*
 * renewals: looks at files of certificates, has sites/certs.h read those that have changed, and
 * sends them to workers, which are not allowed to read keys. Each is numbered, and each child knows
 * the last one that its process has: what is still to be sent is a state, and no list.
 */
#include "master/renewals.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "conf/conf_fault.h"
#include "master/master_state.h"
#include "sandbox/sandbox_paths.h"
#include "sites/certs_check.h"

enum {
	/* Several files are written one after the other, and one may be taken away before. */
	SETTLE_MS = 200,
	LOOK_MS = 10000,
	EVENTS = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVE | IN_ATTRIB | IN_DELETE_SELF |
		 IN_MOVE_SELF | IN_DONT_FOLLOW,
};

/* Behind what is complained of. */
static char nothing[] = "", stays[] = ": the certificate stays as it is";

static struct gen *serving(const struct master *m)
{
	struct gen *g = m->current;

	return g != NULL && g->state == GEN_SERVE && g->resources.certs.n > 0 ? g : NULL;
}

static void complain(void *ctx, const struct conf_pos *pos, const char *message)
{
	const char *behind = ctx;
	char text[CONF_FAULT_TEXT];

	conf_fault_format(pos, message, text, sizeof(text));
	log_warn("%s%s", text, behind);
}

/* --- watching --------------------------------------------------------------------------------- */

/* Where it cannot be watched, it is looked at. */
static void watch_path(void *ctx, const char *path, unsigned rights)
{
	struct master *m = ctx;

	(void)rights;
	if (inotify_add_watch(m->renewals.events.fd, path, EVENTS) < 0 && errno == ENOSPC)
		log_peer(LEVEL_WARN,
			"inotify: no more than fs.inotify.max_user_watches: files of certificates "
			"are looked at every %d seconds",
			LOOK_MS / 1000);
}

static void watch_files(struct master *m, const struct certs_entry *e)
{
	if (!m->renewals.events.active)
		return;
	for (unsigned i = 0; i < e->cert->npairs; i++)
		for (unsigned k = 0; k < TLS_FILES; k++)
			sandbox_paths_way(e->cert->pairs[i].files[k], watch_path, m);
}

static void unwatch(struct master *m)
{
	struct renewals *r = &m->renewals;

	timer_disarm(&m->loop.wheel, &r->look);
	if (!r->events.active)
		return;
	loop_unwatch(&m->loop, &r->events);
	close(r->events.fd);
	r->events.fd = -1;
}

static void look_soon(struct master *m)
{
	if (!timer_armed(&m->renewals.look))
		timer_arm(&m->loop.wheel, &m->renewals.look, clock_ms() + SETTLE_MS);
}

/* Whatever it was, and also if some were lost: files say themselves whether they have changed. */
static void on_events(struct watch *w, uint32_t events)
{
	struct master *m = LIST_ENTRY(w, struct master, renewals.events);
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));

	(void)events;
	while (read(w->fd, buf, sizeof(buf)) > 0)
		continue;
	look_soon(m);
}

static void watch_begin(struct master *m)
{
	struct renewals *r = &m->renewals;
	int rc;

	r->events = (struct watch){ .fn = on_events };
	r->events.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	rc = r->events.fd >= 0 ? loop_watch(&m->loop, &r->events, EPOLLIN) : -errno;
	if (rc == 0)
		return;
	log_warn("inotify: %s: files of certificates are looked at every %d seconds", strerror(-rc),
		LOOK_MS / 1000);
	if (r->events.fd >= 0)
		close(r->events.fd);
	r->events.fd = -1;
}

/* --- taking up -------------------------------------------------------------------------------- */

/* True: somebody had yet to be sent one, or could not be. */
static bool send_all(struct master *m, struct gen *g)
{
	bool any = false;

	GEN_FOREACH(c, g) {
		if (c->pid == 0 || !(c->kind->gets & CHILD_KEYS) || c->renewal == m->renewals.last)
			continue;
		child_send(c, DUE_CERTIFICATES);
		any = true;
	}
	return any;
}

static void drop_packed(struct renewals *r)
{
	if (r->packed.fd >= 0)
		close(r->packed.fd);
	r->packed.fd = -1;
}

static void taken(struct master *m, struct gen *g, struct certs_entry *e)
{
	e->renewal = ++m->renewals.last;
	board_count(&m->board->head, BOARD_COUNT_certificate_reloads);
	log_notice("certificate %s: the files have changed, and are taken up",
		e->cert->pairs[0].files[TLS_FILE_CERTIFICATE]);
	certs_check_one(&g->resources.certs, e, g->conf, clock_wall().tv_sec, complain, nothing);
	certs_check_staples(e, clock_wall().tv_sec, NULL, NULL);
	watch_files(m, e);
}

/* True: one was taken up. */
static bool look_at(struct master *m, struct gen *g, struct certs_entry *e)
{
	if (!tls_cert_changed(e->cert))
		return false;
	switch (certs_renew(&g->resources.certs, e, complain, stays)) {
	case TLS_RENEWAL_TAKEN:
		taken(m, g, e);
		return true;
	case TLS_RENEWAL_AGAIN:
		look_soon(m);
		return false;
	case TLS_RENEWAL_FAULTY:
		board_count(&m->board->head, BOARD_COUNT_certificate_faults);
		__attribute__((fallthrough));
	default:
		watch_files(m, e);
		return false;
	}
}

static void look(struct master *m)
{
	struct gen *g = serving(m);
	bool any = false;

	m->renewals.looked_ms = clock_ms();
	if (g == NULL)
		return;
	for (unsigned i = 0; i < g->resources.certs.n; i++) {
		struct certs_entry *e = &g->resources.certs.entries[i];

		any |= look_at(m, g, e);
		certs_check_staples(e, clock_wall().tv_sec, complain, nothing);
	}
	if (!any)
		return;
	gen_show(g, &m->board->head);
	send_all(m, g);
}

static void on_look(struct timer *t)
{
	look(LIST_ENTRY(t, struct master, renewals.look));
}

void renewals_init(struct master *m)
{
	m->renewals = (struct renewals){ .events.fd = -1, .packed.fd = -1 };
	timer_init(&m->renewals.look, on_look);
}

void renewals_serve(struct master *m)
{
	struct gen *g = serving(m);

	unwatch(m);
	if (g == NULL)
		return;
	watch_begin(m);
	for (unsigned i = 0; i < g->resources.certs.n; i++) {
		struct certs_entry *e = &g->resources.certs.entries[i];

		watch_files(m, e);
		certs_check_staples(e, clock_wall().tv_sec, NULL, NULL); /* the start said it */
	}
	look_soon(m);
}

void renewals_second(struct master *m)
{
	struct gen *g = serving(m);

	if (g == NULL) {
		unwatch(m);
		return;
	}
	if (clock_ms() - m->renewals.looked_ms >= LOOK_MS)
		look(m);
	if (!send_all(m, g))
		drop_packed(&m->renewals);
}

/* --- sending ---------------------------------------------------------------------------------- */

/* The first one behind those that c's process has; NULL: it has all. */
static const struct certs_entry *next_of(const struct child *c)
{
	const struct certs *certs = &c->gen->resources.certs;
	const struct certs_entry *next = NULL;

	for (unsigned i = 0; i < certs->n; i++) {
		const struct certs_entry *e = &certs->entries[i];

		if (e->renewal > c->renewal && (next == NULL || e->renewal < next->renewal))
			next = e;
	}
	return next;
}

/* All workers are sent the same, one after the other. */
static bool pack(struct renewals *r, const struct certs_entry *e)
{
	if (r->packed.fd >= 0 && r->packed.renewal == e->renewal)
		return true;
	drop_packed(r);
	r->packed.fd = certs_pack(e);
	r->packed.renewal = e->renewal;
	if (r->packed.fd < 0)
		log_peer(LEVEL_ERROR, "certificate: cannot be sent to workers: %s",
			strerror(-r->packed.fd));
	return r->packed.fd >= 0;
}

bool renewals_fill(const struct child *c, unsigned n, struct ctl_msg *msg, int *fds, int *nfds)
{
	const struct certs_entry *e = next_of(c);
	struct renewals *r = &c->gen->master->renewals;

	(void)n;
	if (e == NULL || !pack(r, e))
		return false;
	*msg = (struct ctl_msg){ .type = CTL_CERTIFICATE,
		.generation = c->gen->number,
		.slot = (uint32_t)(e - c->gen->resources.certs.entries) };
	fds[(*nfds)++] = r->packed.fd;
	return true;
}

void renewals_sent(struct child *c)
{
	const struct certs_entry *e = next_of(c);

	if (e != NULL)
		c->renewal = e->renewal;
}

void renewals_forked(struct child *c)
{
	c->renewal = c->gen->master->renewals.last;
}

void renewals_again(struct child *c)
{
	c->renewal = 0;
}

void renewals_fini(struct master *m)
{
	unwatch(m);
	drop_packed(&m->renewals);
}
