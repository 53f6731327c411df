/*
 * gen: makes and frees generations. Called by reload and child, in the master; whatever is wrong with
 * a configuration is reported through the caller's conf_fault_fn, at the line it comes from.
 */
#include "master/gen.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"

static unsigned worker_count(const struct conf *conf)
{
	cpu_set_t set;

	if (conf->worker_processes != 0)
		return (unsigned)conf->worker_processes;
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

static void init_places(struct gen *g)
{
	g->keeper = (struct child){ .gen = g, .kind = CHILD_KEEPER, .ctl.fd = -1 };
	for (unsigned i = 0; i < g->nworkers; i++)
		g->workers[i] = (struct child){ .gen = g, .kind = CHILD_WORKER, .slot = i, .ctl.fd = -1 };
}

struct gen *gen_new(const struct conf_override *ov, uint32_t number, conf_fault_fn *fault, void *ctx)
{
	struct gen *g = calloc(1, sizeof(*g));
	char err[512];

	if (g == NULL) {
		fault(ctx, &(struct conf_pos){ 0 }, "out of memory");
		return NULL;
	}
	g->number = number;
	g->logs = LOGS_NONE;
	list_init(&g->node);
	g->conf = conf_load_faulty(ov, fault, ctx);
	if (g->conf == NULL || basis_init(&g->basis, g->conf, fault, ctx) < 0 || g->conf->faulty)
		goto failed;
	if (logs_open(&g->logs, g->conf, err, sizeof(err)) < 0) {
		fault(ctx, &g->conf->error_log_at, err);
		goto failed;
	}
	g->nworkers = worker_count(g->conf);
	g->workers = calloc(g->nworkers, sizeof(*g->workers));
	g->sockets = calloc(g->conf->nlistens, sizeof(*g->sockets));
	if (g->workers == NULL || g->sockets == NULL) {
		fault(ctx, &(struct conf_pos){ 0 }, "out of memory");
		goto failed;
	}
	init_places(g);
	return g;

failed:
	gen_free(&g);
	return NULL;
}

/* --- sockets ------------------------------------------------------------------------------------ */

static bool is_any(const struct addr *a, int family)
{
	if (a->sa.sa_family != family)
		return false;
	if (family == AF_INET)
		return a->in.sin_addr.s_addr == htonl(INADDR_ANY) && a->in.sin_port == 0;
	return IN6_IS_ADDR_UNSPECIFIED(&a->in6.sin6_addr) && a->in6.sin6_port == 0;
}

/* "[::]:0" beside "0.0.0.0:0" means one port for both: the one that IPv4 was given. */
static bool pair_port(const struct gen *g, unsigned n, const struct addr *wanted, struct addr *bind_to)
{
	if (!is_any(wanted, AF_INET6))
		return false;
	for (unsigned i = 0; i < n; i++) {
		if (g->sockets[i] != NULL && is_any(&g->sockets[i]->wanted, AF_INET)) {
			*bind_to = *wanted;
			bind_to->in6.sin6_port = g->sockets[i]->listener.addr.in.sin_port;
			return true;
		}
	}
	return false;
}

/* Whether this machine has nothing like a: IPv6 is often missing. */
static bool is_missing(const struct addr *a)
{
	int fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct addr any_port = *a;
	bool missing;

	if (a->sa.sa_family == AF_INET6)
		any_port.in6.sin6_port = 0;
	missing = fd < 0 ? errno == EAFNOSUPPORT :
			   a->sa.sa_family == AF_INET6 && bind(fd, &any_port.sa, any_port.len) < 0 &&
				   errno == EADDRNOTAVAIL;
	if (fd >= 0)
		close(fd);
	return missing;
}

static void log_listener(const struct conf_listen *l, const struct addr *a)
{
	char text[ADDR_TEXT];

	addr_format(a, text, sizeof(text));
	log_notice("listening on %s%s%s", text, l->tls ? " (tls)" : "", l->admin ? " (admin)" : "");
}

static int listen_one(struct gen *g, unsigned i, struct sockets *all, conf_fault_fn *fault, void *ctx)
{
	const struct conf_listen *l = &g->conf->listens[i];
	const struct sockets_entry *e = NULL;
	struct addr wanted, bind_to;
	const char *wrong = addr_parse(l->address, &wanted);
	char err[512];

	if (wrong != NULL) {
		fault(ctx, &l->at, wrong);
		return -1;
	}
	/* -p and the default mean "what this machine has"; an address in the file is meant. */
	if (l->at.line == 0 && is_missing(&wanted)) {
		log_warn("listen %s: this machine has no such address", l->address);
		return 0;
	}
	if (pair_port(g, i, &wanted, &bind_to))
		e = sockets_take(all, &wanted, &bind_to, g->nworkers, l->mode, err, sizeof(err));
	if (e == NULL)
		e = sockets_take(all, &wanted, &wanted, g->nworkers, l->mode, err, sizeof(err));
	if (e == NULL) {
		fault(ctx, &l->at, err);
		return -1;
	}
	g->sockets[i] = e;
	if (e->kept == 0)
		log_listener(l, &e->listener.addr);
	return 0;
}

int gen_listen(struct gen *g, struct sockets *all, conf_fault_fn *fault, void *ctx)
{
	int rc = 0;

	for (unsigned i = 0; i < g->conf->nlistens; i++)
		rc |= listen_one(g, i, all, fault, ctx);
	return rc;
}

/* All workers share the one socket of a unix address; others are dealt out until none is left over. */
static unsigned listener_step(const struct gen *g, const struct listener *l)
{
	return l->addr.sa.sa_family == AF_UNIX ? l->nslots : g->nworkers;
}

struct worker_listener *gen_worker_listeners(const struct gen *g, unsigned slot, unsigned *n)
{
	struct worker_listener *out;
	unsigned max = 1;

	H2D_ASSERT(slot < g->nworkers);
	for (unsigned i = 0; i < g->conf->nlistens; i++)
		max += g->sockets[i] != NULL ? g->sockets[i]->listener.nslots : 0;
	out = calloc(max, sizeof(*out));
	*n = 0;
	if (out == NULL)
		return NULL;
	for (unsigned i = 0; i < g->conf->nlistens; i++) {
		const struct conf_listen *conf = &g->conf->listens[i];
		const struct listener *l;

		if (g->sockets[i] == NULL)
			continue;
		l = &g->sockets[i]->listener;
		for (unsigned k = slot; k < l->nslots; k += listener_step(g, l))
			out[(*n)++] = (struct worker_listener){
				.fd = l->fds[k],
				.conf = conf,
				.addr = l->addr,
				.tls = conf->tls ? g->basis.certs.tls : NULL,
			};
	}
	return out;
}

/* --- the image ------------------------------------------------------------------------------------ */

void gen_drop_image(struct gen *g)
{
	while (g->nimage_fds > 0)
		close(g->image_fds[--g->nimage_fds]);
}

void gen_take_image(struct gen *g, const struct ctl_msg *msg, const int *fds, int nfds)
{
	gen_drop_image(g);
	g->image = *msg;
	g->image.generation = g->number;
	g->nimage_fds = nfds;
	memcpy(g->image_fds, fds, (size_t)nfds * sizeof(*fds));
}

bool gen_is_building(const struct gen *g)
{
	return g->conf->cache.max_size > 0 && g->image.arg == 0;
}

void gen_free(struct gen **gp)
{
	struct gen *g = *gp;

	*gp = NULL;
	if (g == NULL)
		return;
	H2D_ASSERT(g->keeper.pid == 0);
	for (unsigned i = 0; i < g->nworkers && g->workers != NULL; i++)
		H2D_ASSERT(g->workers[i].pid == 0);
	gen_drop_image(g);
	basis_fini(&g->basis);
	logs_close(&g->logs);
	conf_free(&g->conf);
	free(g->sockets);
	free(g->workers);
	free(g);
}
