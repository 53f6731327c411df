/*
 * changes: a failed reload is tried again with the next change, and once an hour: the fault may
 * have been another one. While another master may serve beside this one, neither makes a new key of
 * session tickets: the other one would not know it.
 */
#include "master/changes.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "conf/conf_hosts.h"
#include "master/master_state.h"
#include "tls/tls_tickets.h"

enum {
	SERVERS_PER_MS = 2, /* the looks at their files take about a hundredth of a processor */
	PAUSE_MS = 60000,
	RETRY_MS = 3600000,
	DOUBLED_MAX = 8, /* most generations that drain before one is cut */
	ROTATION_MS = 12 * 3600 * 1000,
};

#define CHANGED "certificates, lists, keys or hosts have changed"

/*
 * The earliest time of a further reload: each draining generation doubles the pause. So there are
 * six of them within reload-timeout's hour, and none is cut because there are too many.
 */
static uint64_t pause_end(const struct master *m)
{
	unsigned draining = 0;

	LIST_EACH(struct gen, g, node, &m->gens.all)
		draining += g->state == GEN_DRAIN;
	if (m->changes.taken_ms == 0)
		return 0;
	return m->changes.taken_ms +
	       ((uint64_t)PAUSE_MS << (draining < DOUBLED_MAX ? draining : DOUBLED_MAX));
}

static bool may_wish(const struct master *m)
{
	return m->phase == MASTER_SERVE && clock_ms() >= pause_end(m);
}

static void wish(struct master *m)
{
	m->changes.wished = true;
	log_notice(CHANGED "; reloading");
	m->wish.asked |= 1u << WISH_RELOAD;
	loop_defer(&m->loop, &m->wish.grant);
}

/* A file rewritten with the same content has not changed. */
static bool is_same(struct changes *c, const struct conf *conf, uint64_t seen)
{
	uint64_t hosts = conf_hosts_look(conf), content = conf_watched_read(conf, hosts);
	bool known = c->content != 0, quiet = conf_watched_look(conf, hosts) == seen;

	if (!known && quiet && seen == c->loaded)
		c->content = content;
	if (known && quiet && content == c->content)
		c->loaded = seen;
	return seen == c->loaded;
}

/* Several files are written one after the other: they are read once nothing changes any more. */
static void look_at_files(struct master *m, const struct conf *conf)
{
	uint64_t seen = conf_watched_look(conf, conf_hosts_look(conf));
	struct changes *c = &m->changes;
	bool waited = c->waits, quiet = seen == c->seen;

	c->looked_ms = clock_ms();
	c->seen = seen;
	c->waits = waited && quiet && !may_wish(m); /* they have been read */
	if (c->waits || !quiet || (seen == c->loaded && c->content != 0) ||
		(seen == c->tried && c->looked_ms - c->tried_ms < RETRY_MS) ||
		is_same(c, conf, seen))
		return;
	c->waits = !may_wish(m);
	if (!c->waits) {
		c->tried = seen;
		c->tried_ms = c->looked_ms;
		wish(m);
	} else if (!waited && m->phase == MASTER_SERVE) {
		log_notice(CHANGED " again; reloading in %u s",
			(unsigned)((pause_end(m) - clock_ms()) / 1000 + 1));
	}
}

/* --- keys of session tickets ------------------------------------------------------------------ */

static void take_keys(const char *file)
{
	struct tls_tickets now = { 0 }, next;
	char why[PATH_MAX + 128];

	if (!tls_tickets_read(file, &next, why, sizeof(why))) {
		log_warn("%s; keeping the old session ticket keys", why);
		return;
	}
	if (tls_tickets_get(&now) && memcmp(&now, &next, sizeof(now)) != 0 &&
		tls_tickets_set(&next))
		log_info("session tickets: using keys of %s", file);
	OPENSSL_cleanse(&now, sizeof(now));
	OPENSSL_cleanse(&next, sizeof(next));
}

static void make_key(struct master *m)
{
	if (!tls_tickets_rotate()) {
		log_error("session tickets: no randomness; keeping the old key");
		return;
	}
	board_count(&m->shared.board->head, BOARD_COUNT_ticket_keys_made);
	log_info("session tickets: using a new key");
}

static const struct conf_tls *configured(const struct master *m)
{
	const struct gen *g = m->current;

	return g != NULL && g->resources.certs.tls != NULL ? &g->conf->tls : NULL;
}

/* --- from the master -------------------------------------------------------------------------- */

void changes_serve(struct master *m)
{
	const struct conf_tls *tls = configured(m);
	struct changes *c = &m->changes;

	if (tls != NULL && *tls->session_ticket_key_file != '\0')
		take_keys(tls->session_ticket_key_file);
	c->loaded = m->current->conf->watched_seen;
	c->content = c->seen = c->tried = 0;
	c->taken_ms = c->wished ? clock_ms() : c->taken_ms;
	c->wished = c->waits = false;
}

void changes_second(struct master *m)
{
	const struct conf_tls *tls = configured(m);
	const struct gen *g = m->current;

	if (tls != NULL && m->phase == MASTER_SERVE && *tls->session_ticket_key_file == '\0' &&
		tls_tickets_age_ms() >= ROTATION_MS)
		make_key(m);
	if (g != NULL && g->state == GEN_SERVE &&
		clock_ms() - m->changes.looked_ms >= g->conf->nservers / SERVERS_PER_MS)
		look_at_files(m, g->conf);
}
