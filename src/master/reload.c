/*
 * reload: every request to reload ends in exactly one call of reload_finish(), which writes the
 * outcome to the status file.
 */
#include "master/reload.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "conf/conf_fault.h"
#include "machine/cache_room.h"
#include "machine/notify.h"
#include "master/changes.h"
#include "master/doubts.h"
#include "master/drain.h"
#include "master/launch.h"
#include "master/master_state.h"
#include "master/shrink.h"

enum {
	LIMIT_MS = 30000,
	BIND_MS = 3000, /* the workers of a killed master hold its addresses for a moment */
	BIND_AGAIN_MS = 100,
	EXIT_ADDRESS = 3,
};

#define SERVING "serving: generation %u, %u worker%s"

/* At the first start no one may be reading a log yet: also on the terminal. */
static void complain(struct master *m, const char *prefix, const char *text)
{
	status_add(&m->outcome.next, text);
	upgrade_say(&m->upgrade, text);
	if (m->current == NULL)
		fprintf(stderr, "%s%s\n", prefix, text);
	if (m->current != NULL || (m->starting != NULL && m->starting->logs.error != STDERR_FILENO))
		log_error("%s", text);
}

static void on_fault(void *ctx, const struct conf_pos *pos, const char *message)
{
	char text[CONF_FAULT_TEXT];

	conf_fault_format(pos, message, text, sizeof(text));
	complain(ctx, conf_fault_prefix(pos), text);
}

/* The service manager is told before `h2d -s reload` can see it. */
void reload_finish(struct master *m, bool ok)
{
	char text[128];

	timer_disarm(&m->loop.wheel, &m->build.limit);
	m->starting = NULL;
	snprintf(text, sizeof(text), SERVING, m->current->number, m->current->nworkers,
		m->current->nworkers == 1 ? "" : "s");
	if (!ok)
		board_count(&m->shared.board->head, BOARD_COUNT_reloads_failed);
	if (ok && m->outcome.next.replaced == 0)
		status_add(&m->outcome.next, text);
	if (health_has(m, BOARD_HEALTH_DRAINED))
		status_add(&m->outcome.next, "health check still fails: drained");
	notify_ready(text);
	outcome_end(m, ok);
	if (m->phase != MASTER_PART)
		master_go(m, MASTER_SERVE);
}

void reload_fail(struct gen *g, const char *why)
{
	struct master *m = g->master;

	H2D_ASSERT(g->state == GEN_START && m->starting == g);
	if (why != NULL)
		complain(m, "h2d: ", why);
	/* Before an old master hears of the end: it kills this one. */
	sockets_undo(&m->sockets);
	if (m->current == NULL) {
		m->exit_status = 1;
		/* Beside an old master its workers may be serving: they finish their requests. */
		drain_all(m, upgrade_leave(&m->upgrade) ? DRAIN_STOP : DRAIN_CUT);
		return;
	}
	log_error("reload failed; generation %u keeps serving", m->current->number);
	drain_begin(g, true);
	reload_finish(m, false);
}

/* --- URLs ------------------------------------------------------------------------------------- */

struct urls {
	struct strbuf *out;
	const char *scheme;
	unsigned port, usual; /* the usual one is omitted */
};

static void add_url(const struct urls *u, const char *host, bool v6)
{
	char url[128];
	int n = snprintf(
		url, sizeof(url), " %s://%s%s%s", u->scheme, v6 ? "[" : "", host, v6 ? "]" : "");

	if (u->port != u->usual)
		n += snprintf(url + n, sizeof(url) - (size_t)n, ":%u", u->port);
	n += snprintf(url + n, sizeof(url) - (size_t)n, "/");
	/* "localhost" is present already when both wildcards are listened on. */
	if (u->out->n < (size_t)n || memmem(u->out->p, u->out->n, url, (size_t)n) == NULL)
		strbuf_add(u->out, slice_of(url, (size_t)n));
}

static bool is_wildcard(const struct addr *a)
{
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&a->in6.sin6_addr);
}

/* Loopback is localhost already, and a link-local address needs its interface in the URL. */
static bool is_reachable(const struct ifaddrs *i, int family)
{
	if (i->ifa_addr == NULL || i->ifa_addr->sa_family != family)
		return false;
	if ((i->ifa_flags & IFF_UP) == 0 || (i->ifa_flags & IFF_LOOPBACK) != 0)
		return false;
	return family != AF_INET6 ||
	       !IN6_IS_ADDR_LINKLOCAL(
		       &((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr);
}

static void add_interfaces(const struct urls *u, int family)
{
	struct ifaddrs *all;

	if (getifaddrs(&all) < 0)
		return;
	for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
		struct addr addr = { 0 };

		if (!is_reachable(i, family))
			continue;
		addr.len = family == AF_INET ? sizeof(addr.in) : sizeof(addr.in6);
		memcpy(&addr.storage, i->ifa_addr, addr.len);
		add_url(u, ADDR_HOST(&addr), family == AF_INET6);
	}
	freeifaddrs(all);
}

/*
 * Adds the URLs of a listener on addr, a space before each. 0.0.0.0 and [::] are localhost, once
 * for both, and every address of this machine's interfaces, except link-local ones. A unix socket
 * has none.
 */
static void add_urls(struct strbuf *out, const struct addr *addr, bool tls)
{
	const struct urls u = { .out = out,
		.scheme = tls ? "https" : "http",
		.port = addr_port(addr),
		.usual = tls ? 443 : 80 };

	if (addr->sa.sa_family != AF_INET && addr->sa.sa_family != AF_INET6)
		return;
	if (!is_wildcard(addr)) {
		add_url(&u, ADDR_HOST(addr), addr->sa.sa_family == AF_INET6);
		return;
	}
	add_url(&u, "localhost", false);
	add_interfaces(&u, addr->sa.sa_family);
}

/* Logs the URLs, only for a start by hand, without a file. */
static void log_urls(const struct gen *g)
{
	struct strbuf urls = { 0 };

	for (unsigned i = 0; i < g->conf->nlistens; i++)
		if (g->sockets[i] != NULL && !conf_listen_is_own(&g->conf->listens[i]))
			add_urls(&urls, &g->sockets[i]->listener.addr, g->conf->listens[i].tls);
	if (!urls.failed && urls.n > 0)
		log_notice("open%.*s", (int)urls.n, urls.p);
	strbuf_fini(&urls);
}

/* --- a generation comes to serve -------------------------------------------------------------- */

static void log_serving(struct master *m, const struct gen *old)
{
	const struct gen *g = m->current;

	log_to(g->logs.error);
	log_max = (enum log_level)g->conf->log_level;
	log_notice(SERVING, g->number, g->nworkers, g->nworkers == 1 ? "" : "s");
	sandbox_log(g->conf);
	if (g->conf->path == NULL && old == NULL)
		log_urls(g);
}

/* The order matters. */
static void serve(struct master *m, const struct gen *old)
{
	log_serving(m, old); /* the others log where this generation requires it */
	gen_show(m->current, &m->shared.board->head); /* health reads it */
	/* Before workers accept: the health check never reports too much, and handshakes make
	 * tickets with the keys of this generation. */
	health_begin(m);
	changes_serve(m);
	/* The start has reported old ones. */
	gen_resources_expire(&m->current->resources, NULL);
	/* Before the old workers close theirs: these have accepted queued ones, and no other
	 * process's socket queues more. */
	sockets_keep(&m->sockets);
	/* The kernel chooses among listening sockets. */
	balance_apply(m);
	shrink_begin(m);
	gen_send(m->current, CHILD_SERVE, DUE_SERVE);
}

void reload_commit(struct gen *g)
{
	struct master *m = g->master;
	struct gen *old = m->current;

	timer_disarm(&m->loop.wheel, &m->build.limit);
	m->current = g;
	m->starting = NULL;
	gen_go(g, GEN_SERVE);
	serve(m, old);
	if (old != NULL) {
		outcome_replaced(m, old);
		drain_begin(old, false);
	}
}

static void on_limit(struct timer *t)
{
	struct master *m = LIST_ENTRY(t, struct master, build.limit);

	reload_fail(m->starting, "the workers did not start in time");
}

static int take_pid_file(struct master *m, const struct conf *conf)
{
	char err[512];

	if (m->current == NULL && m->pidfile.path == NULL) {
		if (conf->pid_file[0] == '\0')
			return 0;
		if (pidfile_open(&m->pidfile, conf->pid_file, err, sizeof(err)) < 0) {
			on_fault(m, &conf->pid_file_at, err);
			return -1;
		}
		status_remove(conf->pid_file); /* of a killed predecessor */
		return 0;
	}
	if (strcmp(conf->pid_file, m->pidfile.path != NULL ? m->pidfile.path : "") != 0)
		log_warn("pid-file has changed: restart h2d");
	return 0;
}

static int start_processes(struct gen *g)
{
	g->master->gens.last = g->number;
	doubts_introduce(g->master);
	GEN_FOREACH(c, g)
		if (launch(c) < 0)
			return -1;
	return 0;
}

static void bring_up(struct gen *g)
{
	struct master *m = g->master;
	struct board_head *head = &m->shared.board->head;
	const struct sites *sites = g->resources.sites;

	if (g->conf->metrics_per_server)
		titles_give(
			&head->titles[SERVERS_OWN], &sites->v->name, sizeof(*sites->v), sites->n);
	if (sites->npeers > 0)
		titles_give(&head->titles[SERVERS_UPSTREAM], &sites->peers->name,
			sizeof(*sites->peers), sites->npeers);
	if (board_room(m->shared.board) < g->nworkers)
		reload_fail(g, "too many workers are draining: no room for new ones");
	else if (start_processes(g) < 0)
		reload_fail(g, "cannot start the workers");
	else
		timer_arm(&m->loop.wheel, &m->build.limit, clock_ms() + LIMIT_MS);
}

/* A fault that may be gone at the next try. */
static void on_passing(void *ctx, const struct conf_pos *pos, const char *message)
{
	(void)ctx, (void)pos, (void)message;
}

/* At the start, waits a while for an address that is unavailable. */
static bool bind_later(struct master *m, int rc)
{
	uint64_t now = clock_ms();

	if (m->current != NULL || !gen_may_listen_later(rc))
		return false;
	if (m->build.bind_until == 0) {
		m->build.bind_until = now + BIND_MS;
		log_notice("an address is not available; retrying for %d s", BIND_MS / 1000);
	}
	if (now >= m->build.bind_until)
		return false;
	timer_arm(&m->loop.wheel, &m->build.bind, now + BIND_AGAIN_MS);
	return true;
}

static void bind_all(struct master *m)
{
	struct gen *g = m->starting;
	int rc = gen_listen(g, &m->sockets, on_passing, m);

	if (rc < 0 && bind_later(m, rc))
		return;
	if (rc < 0)
		rc = gen_listen(g, &m->sockets, on_fault, m);
	if (rc == 0) {
		bring_up(g);
		return;
	}
	reload_fail(g, NULL);
	if (m->current == NULL && gen_may_listen_later(rc))
		m->exit_status = EXIT_ADDRESS;
}

static void on_bind(struct timer *t)
{
	bind_all(LIST_ENTRY(t, struct master, build.bind));
}

void reload_init(struct master *m)
{
	drain_init(m);
	shrink_init(m);
	timer_init(&m->build.limit, on_limit);
	timer_init(&m->build.bind, on_bind);
}

void reload_begin(struct master *m)
{
	struct gen *g;

	H2D_ASSERT(m->starting == NULL);
	if (m->current != NULL) {
		m->build.begun_us = clock_read_us();
		master_go(m, MASTER_BUILD);
		/* Before the configuration is read: `h2d -s reload` relies on it. */
		outcome_begin(m);
		notify_reloading("reloading");
		log_notice("reloading");
	}
	g = gen_new(m->given.ov, m->processes.kinds, m->gens.last + 1, on_fault, m);
	if (g == NULL) {
		if (m->current == NULL) {
			m->exit_status = 1;
			drain_all(m, DRAIN_CUT);
			return;
		}
		log_error("reload failed; generation %u keeps serving", m->current->number);
		reload_finish(m, false);
		return;
	}
	g->master = m;
	doubts_inherit(g);
	launch_init(g, &m->processes.env);
	list_append(&m->gens.all, &g->node);
	m->gens.n++;
	m->starting = g;
	if (m->current == NULL) {
		log_to(g->logs.error);
		log_max = (enum log_level)g->conf->log_level;
	}
	gen_resources_check(&g->resources, g->conf, conf_fault_log, NULL);
	cache_room_log(g->conf);
	if (take_pid_file(m, g->conf) < 0)
		reload_fail(g, NULL);
	else
		bind_all(m);
}
