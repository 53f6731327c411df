/*
 * gen: faults of a configuration are reported through the caller's conf_fault_fn, at their lines.
 */
#include "master/gen.h"

#include <errno.h>
#include <grp.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "image/doubt.h"
#include "ipc/ctl.h"
#include "master/doubts.h"

const struct states gen_states = {
	.of = "generation",
	.rows = {
#define GEN_STATE(name, next, help) { #name, next },
#include "master/gen_state.def"
	},
};

void gen_go(struct gen *g, enum gen_state state)
{
	log_debug("generation %u: %s -> %s", g->number, states_name(&gen_states, g->state),
		states_name(&gen_states, state));
	STATES_STEP(&gen_states, g->state, state);
}

/* --- inboxes ---------------------------------------------------------------------------------- */

/* Readers reach the end once the acceptor has closed its ends, too. */
static void end_inboxes(struct inboxes *in)
{
	for (unsigned i = 0; i < in->n; i++) {
		if (in->ends[i][1] >= 0)
			close(in->ends[i][1]);
		in->ends[i][1] = -1;
	}
}

static void close_inboxes(struct inboxes *in)
{
	end_inboxes(in);
	for (unsigned i = 0; i < in->n; i++)
		close(in->ends[i][0]);
	free(in->ends);
	*in = (struct inboxes){ 0 };
}

static int open_inboxes(struct inboxes *in, unsigned n)
{
	static uint32_t last_id;
	int rc = 0;

	*in = (struct inboxes){ .first = last_id + 1 };
	last_id += n;
	in->ends = calloc(n, sizeof(*in->ends));
	if (in->ends == NULL)
		return -ENOMEM;
	while (in->n < n && rc == 0) {
		rc = scm_pair(in->ends[in->n]);
		in->n += rc == 0;
	}
	if (rc < 0)
		close_inboxes(in);
	return rc;
}

/* --- its life --------------------------------------------------------------------------------- */

static bool make_children(struct gen *g, const struct child_kind *kinds)
{
	struct child *c;
	unsigned nchildren = 0;

	for (const struct child_kind *k = kinds; k->name != NULL; k++) {
		unsigned n = k->count(g->conf);

		nchildren += n;
		g->nworkers += k->board ? n : 0;
	}
	g->children = c = calloc(nchildren, sizeof(*g->children));
	if (c == NULL)
		return false;
	g->nchildren = nchildren;
	for (const struct child_kind *k = kinds; k->name != NULL; k++)
		for (unsigned i = 0; i < k->count(g->conf); i++)
			*c++ = (struct child){ .gen = g, .kind = k, .slot = i, .ctl.fd = -1 };
	return true;
}

struct gen *gen_new(const struct conf_override *ov, const struct child_kind *kinds, uint32_t number,
	conf_fault_fn *fault, void *ctx)
{
	struct gen *g = calloc(1, sizeof(*g));
	int rc;

	if (g == NULL) {
		fault(ctx, &(struct conf_pos){ 0 }, "out of memory");
		return NULL;
	}
	g->number = number;
	g->logs = LOGS_NONE;
	g->doubts[0] = g->doubts[1] = -1;
	list_init(&g->node);
	list_init(&g->loans);
	g->conf = conf_load_faulty(ov, fault, ctx);
	if (g->conf == NULL || gen_resources_init(&g->resources, g->conf, fault, ctx) < 0 ||
		g->conf->faulty)
		goto failed;
	g->balance = conf_balance(g->conf);
	if (logs_open(&g->logs, g->conf, &g->resources.privs, fault, ctx) < 0)
		goto failed;
	g->sockets = calloc(g->conf->nlistens, sizeof(*g->sockets));
	if (!make_children(g, kinds) || g->sockets == NULL) {
		fault(ctx, &(struct conf_pos){ 0 }, "out of memory");
		goto failed;
	}
	rc = g->conf->cache.max_size > 0 ? scm_pair(g->doubts) : 0;
	if (rc == 0 && g->conf->dispatch == DISPATCH_ACCEPTOR)
		rc = open_inboxes(&g->inboxes, g->nworkers);
	if (rc < 0) {
		fault(ctx, &(struct conf_pos){ 0 }, strerror(-rc));
		goto failed;
	}
	return g;

failed:
	gen_free(&g);
	return NULL;
}

void gen_send(struct gen *g, unsigned gets, unsigned due)
{
	GEN_FOREACH(c, g)
		if (c->pid != 0 && c->kind->gets & gets)
			child_send(c, due);
}

bool gen_is_up(const struct gen *g)
{
	GEN_FOREACH(c, g)
		if (c->kind->awaited && (c->state == CHILD_EMPTY || c->state == CHILD_START))
			return false;
	return true;
}

/* --- sockets ---------------------------------------------------------------------------------- */

static bool is_any(const struct addr *a, int family)
{
	if (a->sa.sa_family != family)
		return false;
	if (family == AF_INET)
		return a->in.sin_addr.s_addr == htonl(INADDR_ANY) && a->in.sin_port == 0;
	return IN6_IS_ADDR_UNSPECIFIED(&a->in6.sin6_addr) && a->in6.sin6_port == 0;
}

/* "[::]:0" beside "0.0.0.0:0" means one port for both: that of IPv4. */
static bool pair_port(
	const struct gen *g, unsigned n, const struct addr *wanted, struct addr *bind_to)
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

/* The machine may have no such address: IPv6 is often missing. */
static bool is_missing(const struct addr *a)
{
	int fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct addr any_port = *a;
	bool missing;

	if (a->sa.sa_family == AF_INET6)
		any_port.in6.sin6_port = 0;
	missing = fd < 0 ? errno == EAFNOSUPPORT
			 : a->sa.sa_family == AF_INET6 &&
				   bind(fd, &any_port.sa, any_port.len) < 0 &&
				   errno == EADDRNOTAVAIL;
	if (fd >= 0)
		close(fd);
	return missing;
}

static void log_listener(const struct conf_listen *l, const struct sockets_entry *e)
{
	char text[ADDR_TEXT];

	addr_format(&e->listener.addr, text, sizeof(text));
	log_notice("listening on %s%s%s%s%s%s%s", text, l->tls ? " (tls)" : "",
		l->http1 ? "" : " (HTTP/2 only)", l->proxy_protocol ? " (proxy-protocol)" : "",
		l->admin ? " (admin)" : "", l->haproxy_agent ? " (haproxy-agent)" : "",
		e->state != SOCKETS_CLAIMED ? ""
		: e->passed                 ? " (passed)"
					    : " (kept)");
}

/* True if the acceptor accepts from it: an operator's listener bypasses it. */
static bool accepts_for_all(const struct gen *g, const struct conf_listen *l)
{
	return g->conf->dispatch == DISPATCH_ACCEPTOR && !conf_listen_is_own(l);
}

/* The group exists: conf has checked. */
static struct sockets_file file_of(const struct conf_listen *l)
{
	const struct group *group = *l->socket_group != '\0' ? getgrnam(l->socket_group) : NULL;

	return (struct sockets_file){ (unsigned)l->socket_mode,
		group != NULL ? group->gr_gid : (gid_t)-1 };
}

static int listen_one(
	struct gen *g, unsigned i, struct sockets *all, conf_fault_fn *fault, void *ctx)
{
	const struct conf_listen *l = &g->conf->listens[i];
	const struct sockets_entry *e = NULL;
	struct addr wanted, bind_to;
	const char *wrong = addr_parse(l->address, &wanted);
	unsigned n = accepts_for_all(g, l) ? 1 : g->nworkers;
	char err[512];
	int errnum;

	if (wrong != NULL) {
		fault(ctx, &l->at, wrong);
		return -EINVAL;
	}
	if (l->optional && is_missing(&wanted))
		return 0;
	if (pair_port(g, i, &wanted, &bind_to))
		e = sockets_take(all, &wanted, &bind_to, n, file_of(l), err, sizeof(err));
	if (e == NULL)
		e = sockets_take(all, &wanted, &wanted, n, file_of(l), err, sizeof(err));
	if (e == NULL) {
		errnum = errno;
		fault(ctx, &l->at, err);
		return -errnum;
	}
	g->sockets[i] = e;
	if (e->state != SOCKETS_TAKEN)
		log_listener(l, e);
	return 0;
}

static bool is_listened(const void *ctx, const struct addr *addr)
{
	const struct conf *conf = ctx;
	struct addr wanted;

	for (unsigned i = 0; i < conf->nlistens; i++)
		if (addr_parse(conf->listens[i].address, &wanted) == NULL &&
			addr_equal(&wanted, addr))
			return true;
	return false;
}

int gen_listen(struct gen *g, struct sockets *all, conf_fault_fn *fault, void *ctx)
{
	int rc = 0;

	sockets_sift(all, is_listened, g->conf);
	for (unsigned i = 0; i < g->conf->nlistens; i++) {
		int one = g->sockets[i] == NULL ? listen_one(g, i, all, fault, ctx) : 0;

		if (one < 0 && (rc == 0 || gen_may_listen_later(rc)))
			rc = one;
	}
	for (unsigned i = 0; rc == 0 && i < g->conf->nlistens; i++)
		if (g->sockets[i] == NULL)
			log_warn("listen %s: this machine has no such address",
				g->conf->listens[i].address);
	return rc;
}

bool gen_may_listen_later(int rc)
{
	return rc == -EADDRINUSE || rc == -EADDRNOTAVAIL;
}

uint64_t gen_closing(const struct gen *g, const struct sockets *all)
{
	uint64_t closing = 0;

	for (unsigned i = 0; i < g->conf->nlistens; i++) {
		if (g->sockets[i] != NULL && !sockets_have(all, g->sockets[i]))
			closing |= CTL_LISTENER(i);
	}
	return closing;
}

/* Sockets opened for a generation being built are not for the serving one. */
static unsigned count_slots(const struct gen *g, const struct sockets_entry *e)
{
	return g->state == GEN_SERVE ? e->kept : e->listener.nslots;
}

/* Socket k of listen i; -1: that listener without a socket. */
static struct worker_listener listener_of(const struct gen *g, unsigned i, int k)
{
	const struct listener *l = &g->sockets[i]->listener;
	const struct conf_listen *conf = &g->conf->listens[i];

	return (struct worker_listener){
		.fd = k >= 0 ? l->fds[k] : -1,
		.id = l->id,
		.slot = k >= 0 ? (uint32_t)k : 0,
		.shared = l->shared,
		.conf = conf,
		.addr = l->addr,
		.tls = conf->tls ? g->resources.certs.tls : NULL,
	};
}

/*
 * A listener that the acceptor accepts from: it has all sockets, a worker none. All workers share
 * the one socket of a unix address; others are distributed.
 */
static unsigned find_listeners(const struct child *c, struct worker_listener *out)
{
	const struct gen *g = c->gen;
	bool acceptor = c->kind->gets & CHILD_INBOXES;
	unsigned n = 0, places = acceptor ? 1 : g->nworkers;

	H2D_ASSERT(c->slot < places);
	for (unsigned i = 0; i < g->conf->nlistens; i++) {
		const struct sockets_entry *e = g->sockets[i];
		bool for_all = accepts_for_all(g, &g->conf->listens[i]);

		if (e == NULL || (acceptor && !for_all))
			continue;
		if (for_all && !acceptor) {
			out[n++] = listener_of(g, i, -1);
			continue;
		}
		for (unsigned k = c->slot; k < count_slots(g, e);
			k += e->listener.shared ? e->listener.nslots : places)
			out[n++] = listener_of(g, i, (int)k);
	}
	return n;
}

struct worker_listener *gen_listeners(const struct child *c, unsigned *n)
{
	const struct gen *g = c->gen;
	struct worker_listener *out;
	unsigned max = 1;

	for (unsigned i = 0; i < g->conf->nlistens; i++)
		max += g->sockets[i] != NULL ? g->sockets[i]->listener.nslots : 0;
	out = calloc(max, sizeof(*out));
	*n = 0;
	if (out != NULL && c->kind->gets & (CHILD_INBOXES | CHILD_LISTENERS))
		*n = find_listeners(c, out);
	return out;
}

/* --- the image -------------------------------------------------------------------------------- */

static void close_image(struct gen *g)
{
	while (g->nimage_fds > 0)
		close(g->image_fds[--g->nimage_fds]);
}

void gen_let_go(struct gen *g)
{
	close_image(g);
	doubts_close(g->doubts);
	end_inboxes(&g->inboxes);
}

void gen_take_image(struct gen *g, const struct ctl_msg *msg, const int *fds, int nfds)
{
	close_image(g);
	g->image = *msg;
	g->nimage_fds = nfds;
	memcpy(g->image_fds, fds, (size_t)nfds * sizeof(*fds));
}

void gen_show(const struct gen *g, struct board_head *h)
{
	uint32_t keeper = 0, acceptor = 0; /* other processes read h meanwhile */

	if (g == NULL)
		return;
	h->generation = g->number;
	h->dispatch = (uint32_t)g->conf->dispatch;
	GEN_FOREACH(c, g)
		if (c->kind->says & CHILD_SAYS(CTL_IMAGE))
			keeper = (uint32_t)c->pid;
		else if (c->kind->gets & CHILD_INBOXES)
			acceptor = (uint32_t)c->pid;
	h->keeper_pid = keeper;
	h->acceptor_pid = acceptor;
	h->building = g->conf->cache.max_size > 0 && g->image.arg == 0;
	h->cache = g->facts;
	/* Until a new generation has its own, its predecessor's is the newest. */
	if (g->image.arg != 0 || !h->building) {
		if (h->image != g->image.arg)
			h->image_at = g->image.arg != 0 ? (uint64_t)clock_wall().tv_sec : 0;
		h->image = g->image.arg;
		h->image_size = g->image.size;
	}
	h->certificate_expires = certs_expire(&g->resources.certs);
	/* The last byte stays NUL, so that a reader finds an end at any moment. */
	strncpy(h->instance_name, g->conf->instance_name, sizeof(h->instance_name) - 1);
}

void gen_free(struct gen **gp)
{
	struct gen *g = *gp;

	*gp = NULL;
	if (g == NULL)
		return;
	GEN_FOREACH(c, g)
		H2D_ASSERT(c->pid == 0);
	H2D_ASSERT(list_empty(&g->loans));
	gen_let_go(g);
	close_inboxes(&g->inboxes);
	gen_resources_fini(&g->resources);
	logs_close(&g->logs);
	conf_free(&g->conf);
	free(g->sockets);
	free(g->children);
	free(g);
	/* Thousands of servers are megabytes, in pieces that free(3) keeps. */
	malloc_trim(0);
}
