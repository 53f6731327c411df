/*
 * renewals: looks at files of certificates and of authorities, has sites/certs.h and
 * sites/client_cas.h read those that have changed, and sends them to workers, which are not allowed
 * to read keys. Each is numbered, and each child knows the last one that its process has: what is
 * still to be sent is a state, and no list.
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
static char nothing[] = "", stays[] = ": the certificate stays as it is",
	    as_before[] = ": clients are checked as before";

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
	const struct master *m = ctx;

	(void)rights;
	if (inotify_add_watch(m->renewals.events.fd, path, EVENTS) < 0 && errno == ENOSPC)
		log_peer(LEVEL_WARN,
			"inotify: no more than fs.inotify.max_user_watches: files of certificates "
			"are looked at every %d seconds",
			LOOK_MS / 1000);
}

static void watch_file(struct master *m, const char *file)
{
	if (m->renewals.events.active)
		sandbox_paths_way(file, watch_path, m);
}

static void watch_files(struct master *m, const struct certs_entry *e)
{
	for (unsigned i = 0; i < e->cert->npairs; i++)
		for (unsigned k = 0; k < TLS_FILES; k++)
			watch_file(m, e->cert->pairs[i].files[k]);
}

static void watch_authorities(struct master *m, const struct client_cas_entry *e)
{
	watch_file(m, e->ca->file);
	watch_file(m, e->ca->crl);
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

static void taken_authorities(struct master *m, struct client_cas_entry *e)
{
	e->renewal = ++m->renewals.last;
	board_count(&m->board->head, BOARD_COUNT_certificate_reloads);
	log_notice("client-ca %s: the files have changed, and are taken up", e->ca->file);
	watch_authorities(m, e);
}

/* Files that could not be taken up, or said nothing new; true: they are to be looked at again. */
static bool not_taken(struct master *m, enum tls_renewal found)
{
	if (found == TLS_RENEWAL_FAULTY)
		board_count(&m->board->head, BOARD_COUNT_certificate_faults);
	if (found == TLS_RENEWAL_AGAIN)
		look_soon(m);
	return found != TLS_RENEWAL_AGAIN;
}

/* True: one was taken up. */
static bool look_at(struct master *m, struct gen *g, struct certs_entry *e)
{
	enum tls_renewal found;

	if (!tls_cert_changed(e->cert))
		return false;
	found = certs_renew(&g->resources.certs, e, complain, stays);
	if (found == TLS_RENEWAL_TAKEN)
		taken(m, g, e);
	else if (not_taken(m, found))
		watch_files(m, e);
	return found == TLS_RENEWAL_TAKEN;
}

static bool look_at_authorities(struct master *m, struct client_cas_entry *e)
{
	enum tls_renewal found;

	if (!tls_client_ca_changed(e->ca))
		return false;
	found = client_cas_renew(e, complain, as_before);
	if (found == TLS_RENEWAL_TAKEN)
		taken_authorities(m, e);
	else if (not_taken(m, found))
		watch_authorities(m, e);
	return found == TLS_RENEWAL_TAKEN;
}

/* True: some were taken up. */
static bool look_at_all(struct master *m, struct gen *g)
{
	struct certs *certs = &g->resources.certs;
	struct client_cas *cas = &g->resources.client_cas;
	int64_t now = clock_wall().tv_sec;
	bool any = false;

	for (unsigned i = 0; i < certs->n; i++) {
		any |= look_at(m, g, &certs->entries[i]);
		certs_check_staples(&certs->entries[i], now, complain, nothing);
	}
	for (unsigned i = 0; i < cas->n; i++) {
		any |= look_at_authorities(m, &cas->entries[i]);
		client_cas_check_lists(&cas->entries[i], now, complain, nothing);
	}
	return any;
}

static void look(struct master *m)
{
	struct gen *g = serving(m);

	m->renewals.looked_ms = clock_ms();
	if (g == NULL || !look_at_all(m, g))
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
	/* The start has said what there was to say. */
	for (unsigned i = 0; i < g->resources.certs.n; i++) {
		watch_files(m, &g->resources.certs.entries[i]);
		certs_check_staples(
			&g->resources.certs.entries[i], clock_wall().tv_sec, NULL, NULL);
	}
	for (unsigned i = 0; i < g->resources.client_cas.n; i++) {
		watch_authorities(m, &g->resources.client_cas.entries[i]);
		client_cas_check_lists(
			&g->resources.client_cas.entries[i], clock_wall().tv_sec, NULL, NULL);
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

/* The certificates or authorities of its generation that a process is sent next. */
struct next {
	uint32_t renewal; /* 0: it has all */
	uint32_t type;    /* enum ctl_type */
	uint32_t i;       /* among those of its kind */
};

/* The one that was taken up first of those behind what c's process has. */
static void consider(
	struct next *next, const struct child *c, uint32_t renewal, enum ctl_type type, unsigned i)
{
	if (renewal > c->renewal && (next->renewal == 0 || renewal < next->renewal))
		*next = (struct next){ renewal, type, i };
}

static struct next next_of(const struct child *c)
{
	const struct certs *certs = &c->gen->resources.certs;
	const struct client_cas *cas = &c->gen->resources.client_cas;
	struct next next = { 0 };

	for (unsigned i = 0; i < certs->n; i++)
		consider(&next, c, certs->entries[i].renewal, CTL_CERTIFICATE, i);
	for (unsigned i = 0; i < cas->n; i++)
		consider(&next, c, cas->entries[i].renewal, CTL_CLIENT_CA, i);
	return next;
}

/* All workers are sent the same, one after the other. */
static bool pack(struct renewals *r, const struct gen *g, const struct next *next)
{
	if (r->packed.fd >= 0 && r->packed.renewal == next->renewal)
		return true;
	drop_packed(r);
	r->packed.fd = next->type == CTL_CERTIFICATE
			       ? certs_pack(&g->resources.certs.entries[next->i])
			       : tls_client_ca_pack(g->resources.client_cas.entries[next->i].ca);
	r->packed.renewal = next->renewal;
	if (r->packed.fd < 0)
		log_peer(LEVEL_ERROR, "%s: cannot be sent to workers: %s",
			next->type == CTL_CERTIFICATE ? "certificate" : "client-ca",
			strerror(-r->packed.fd));
	return r->packed.fd >= 0;
}

bool renewals_fill(const struct child *c, unsigned n, struct ctl_msg *msg, int *fds, int *nfds)
{
	struct next next = next_of(c);
	struct renewals *r = &c->gen->master->renewals;

	(void)n;
	if (next.renewal == 0 || !pack(r, c->gen, &next))
		return false;
	*msg = (struct ctl_msg){ .type = next.type, .generation = c->gen->number, .slot = next.i };
	fds[(*nfds)++] = r->packed.fd;
	return true;
}

void renewals_sent(struct child *c)
{
	struct next next = next_of(c);

	if (next.renewal != 0)
		c->renewal = next.renewal;
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
