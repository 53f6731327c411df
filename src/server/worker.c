/*
 * worker: makes a serving process, runs its loop, and frees it again. worker_life takes orders; it
 * never opens a log or a listening socket itself.
 */
#include "server/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/work_line.h"
#include "auth/auth_queue.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/process_use.h"
#include "conf/conf_handlers.h"
#include "conn/stream_conn.h"
#include "net/tcp.h"
#include "request/handler_call.h"
#include "server/http_env.h"
#include "server/worker_state.h"
#include "share/account.h"
#include "share/tally.h"
#include "store/store.h"

enum {
	OFFLOAD_THREADS = 4,
	SECOND_MS = 1000,
	ACCOUNTS_MIN =
		4096, /* beside one for each connection: of clients behind proxies, and idle */
};

/* --- connections ------------------------------------------------------------------------------ */

/* For the acceptor. */
static void show_load(const struct worker *w)
{
	/* Connections of admin listeners are no load. */
	__atomic_store_n(&w->args->board_slot->load,
		BOARD_LOAD_OF(w->dispatch_host.taken, w->sessions.nlive - w->sessions.nadmin),
		__ATOMIC_RELAXED);
}

static struct http_timeouts timeouts_of(const struct conf_listen_timeouts *t)
{
	return (struct http_timeouts){
		.handshake = (uint32_t)t->handshake * 1000,
		.header = (uint32_t)t->header * 1000,
		.body = (uint32_t)t->body * 1000,
		.send = (uint32_t)t->send * 1000,
		.keepalive = (uint32_t)t->keepalive * 1000,
	};
}

static void worker_take(struct dispatch_host *host, int fd, const struct addr *peer,
	const struct worker_listener *from)
{
	struct worker *w = LIST_ENTRY(host, struct worker, dispatch_host);
	struct transport *t;

	if (from->conf->haproxy_agent) {
		worker_strain_answer(w, fd);
		return;
	}
	t = from->tls != NULL ? tls_open(from->tls, fd) : tcp_open(fd);
	COUNT(connections_total, 1);
	if (t == NULL) {
		log_peer(LEVEL_ERROR, "connection dropped: out of memory");
		close(fd);
		return;
	}
	if (stream_conn_open(w->streams, t,
		    &(struct http_conn){
			    .peer = *peer,
			    .port = addr_port(&from->addr),
			    .trusted = proxies_trust(&w->args->sites->proxies, peer),
			    .tls = from->tls != NULL ? HTTP_TLS_OURS : HTTP_TLS_NONE,
			    .admin = from->conf->admin,
			    .only_h2 = !from->conf->http1,
			    .admin_hosts = from->conf->admin_host.v,
			    .nadmin_hosts = from->conf->admin_host.n,
			    .redirect_at = from->conf->redirect_to_https
						   ? &from->conf->redirect_to_https_at
						   : NULL,
			    .https_port = (uint16_t)from->conf->https_port,
			    .covers = from->tls != NULL ? tls_cert_covers : NULL,
			    .timeouts = timeouts_of(&from->conf->timeouts),
		    },
		    from->conf->proxy_protocol) < 0) {
		t->ops->close(&t);
		return;
	}
	show_load(w);
	worker_room_taken(w);
	worker_trim_taken(w);
}

static unsigned room_left(struct dispatch_host *host)
{
	return worker_room_left(LIST_ENTRY(host, struct worker, dispatch_host));
}

static void session_gone(struct sessions *all)
{
	struct worker *w = LIST_ENTRY(all, struct worker, sessions);

	show_load(w);
	worker_room_freed(w);
	worker_life_look(w);
}

static void worker_dispatched(struct dispatch_host *host)
{
	worker_life_look(LIST_ENTRY(host, struct worker, dispatch_host));
}

static void choose_dispatch(struct worker *w)
{
	const struct gifts *args = w->args;

	w->dispatch_host = (struct dispatch_host){
		.loop = &w->loop,
		.first = args->conf->listens,
		.listeners = args->listeners,
		.nlisteners = args->nlisteners,
		.inbox = gift_fd(args->inbox),
		.room = room_left,
		.take = worker_take,
		.drained = worker_dispatched,
	};
}

/* --- requests --------------------------------------------------------------------------------- */

static void finished(struct http_env *env, struct h2d_req *req)
{
	struct worker *w = LIST_ENTRY(env, struct worker, http);
	int status = req->reply.ready ? req->reply.status : 0;

	route_times_observe(&w->args->board_slot->times, &req->record, status);
	/* Requests of admin listeners belong to no server, and have another site. */
	if (w->rows != NULL && (req->conn == NULL || !req->conn->admin)) {
		unsigned row = req->site != NULL ? w->rows[req->site - w->args->sites->v] : 0;

		server_counts_observe(
			w->args->board_slot->servers[SERVERS_OWN].v[row], &req->record, status);
	}
	access_logs_write(&w->access_logs, req);
}

static void peer_counts(struct http_env *env, unsigned peer, const struct err *err)
{
	struct worker *w = LIST_ENTRY(env, struct worker, http);

	server_counts_upstream(
		w->args->board_slot->servers[SERVERS_UPSTREAM].v[w->peer_rows[peer]], err);
}

static bool image_fresh(struct admin *admin)
{
	return files_image_fresh(LIST_ENTRY(admin, struct worker, admin)->files);
}

static void show_connections(struct admin *admin)
{
	worker_conns_ask(LIST_ENTRY(admin, struct worker, admin));
}

static void worker_ask(void *ctx, struct lender *lender)
{
	struct worker *w = ctx;

	sessions_ask(&w->sessions, lender);
}

static void every_second(struct timer *t)
{
	struct worker *w = LIST_ENTRY(t, struct worker, second);

	__atomic_store_n(
		&w->args->board_slot->ticks, w->args->board_slot->ticks + 1, __ATOMIC_RELAXED);
	recent_second(&w->recent, w->args->board_slot);
	process_use_read(&w->args->board_slot->use);
	w->http.date_s = clock_wall().tv_sec;
	date_format(w->http.date_s, w->date);
	log_tick(false);
	sessions_tick(&w->sessions);
	files_look(w->files, worker_ask, w);
	if (w->state != BOARD_DRAIN)
		store_sweep_look(w->files, w->args->sites);
	accounts_look(w->accounts);
	tally_live(w->args->tally, clock_us());
	worker_room_look(w);
	worker_trim_look(w);
	ctl_link_look(&w->ctl);
	if (w->dispatch != NULL && w->state != BOARD_DRAIN)
		dispatch_look(w->dispatch);
	timer_arm(&w->loop.wheel, t, clock_ms() + SECOND_MS);
}

/* --- putting it together ---------------------------------------------------------------------- */

/* The port of the first public TLS listener; 443 without one. */
static uint16_t https_port(const struct gifts *args)
{
	for (unsigned i = 0; i < args->nlisteners; i++) {
		const struct worker_listener *l = &args->listeners[i];

		if (l->tls != NULL && !l->conf->admin)
			return addr_port(&l->addr);
	}
	return 443;
}

static int start_http(struct worker *w)
{
	const struct conf *conf = w->args->conf;

	w->api = (struct api){ .work_line = w->work_line,
		.bus = w->args->bus,
		.conf = conf,
		.key_value = conf_handlers_value,
		.websocket_memory = conf->limits.websocket_memory };
	if (access_logs_init(&w->access_logs, &w->loop, conf, w->args->sites,
		    w->args->access_logs.fds, w->args->access_logs.n) < 0)
		return -1;
	if (conf->metrics_per_server) {
		w->rows = titles_rows(&w->args->board->head.titles[SERVERS_OWN],
			&w->args->sites->v->name, sizeof(*w->args->sites->v), w->args->sites->n);
		w->args->board_slot->counts_servers = w->rows != NULL;
	}
	w->admin = (struct admin){
		.board = w->args->board,
		.image_fresh = image_fresh,
		.show_connections = show_connections,
	};
	pacer_init(&w->pacer, &w->loop);
	holding_init(&w->uploads, ACCOUNT_STORES, w->args->tally, "uploads-per-client",
		conf->limits.uploads_per_client);
	w->http = (struct http_env){
		.loop = &w->loop,
		.api = &w->api,
		.files = w->files,
		.accounts = w->accounts,
		.pacer = &w->pacer,
		.uploads = &w->uploads,
		.tally = w->args->tally,
		.sites = w->args->sites,
		.auth_queue = w->auth_queue,
		.admin = &w->admin,
		.finished = finished,
	};
	http_env_init(&w->http, conf, https_port(w->args), w->date);
	w->http.conf.traced = log_max >= LEVEL_DEBUG;
	w->http.conf.timed = w->access_logs.timed;
	return 0;
}

static int start_sessions(struct worker *w)
{
	const struct conf *conf = w->args->conf;

	ahead_init(&w->ahead, (uint32_t)conf->limits.receive_window);
	w->streams->proto = (struct proto_conf){
		.max_concurrent_streams = (uint32_t)conf->limits.max_concurrent_streams,
		.glitches = (uint32_t)conf->limits.glitches,
		.receive_window = (uint32_t)conf->limits.receive_window,
		.ahead = &w->ahead,
		.env = &w->http,
	};
	w->sessions.accounts = w->accounts;
	holding_init(&w->sessions.connections, ACCOUNT_CONNECTIONS, w->args->tally,
		"connections-per-client", conf->limits.connections_per_client);
	w->sessions.gone = session_gone;
	return stream_env_init(w->streams, &w->sessions, (unsigned)conf->limits.handshakes);
}

static const char *worker_start(struct worker *w)
{
	worker_trim_start();
	w->offload = offload_new(&w->loop, OFFLOAD_THREADS);
	if (w->offload == NULL)
		return "offload";
	w->work_line = work_line_new(&w->loop, (unsigned)w->args->conf->limits.handler_threads);
	if (w->work_line == NULL)
		return "handler threads";
	w->accounts = accounts_new(ACCOUNTS_MIN + (unsigned)w->args->conf->worker_connections,
		&w->args->tally->keys, (unsigned)w->args->conf->limits.client_ipv6_prefix,
		w->args->sites->exempt);
	if (w->accounts == NULL)
		return "accounts";
	w->auth_queue = auth_queue_new(&w->loop, w->offload);
	if (w->auth_queue == NULL)
		return "passwords";
	w->files = files_new(&w->loop, w->offload, &w->args->trees->files);
	if (w->files == NULL)
		return "document root";
	for (unsigned i = 0; i < w->args->keepers.n; i++)
		doubt_client_add(&w->files->doubts, w->args->keepers.fds[i]);
	store_sweep(w->files, w->args->sites);
	files_show_image(w->files, &w->args->board_slot->image);
	worker_room_start(w);
	choose_dispatch(w);
	if (start_http(w) < 0)
		return "access log";
	if (w->args->sites->npeers > 0) {
		w->peer_rows = titles_rows(&w->args->board->head.titles[SERVERS_UPSTREAM],
			&w->args->sites->peers->name, sizeof(*w->args->sites->peers),
			w->args->sites->npeers);
		w->args->board_slot->counts_servers = true;
		w->http.peer_counts = peer_counts;
		w->http.upstreams = upstreams_new(&w->http, w->offload);
		if (w->peer_rows == NULL || w->http.upstreams == NULL)
			return "connections to applications";
		w->http.conf.websockets = true;
	}
	if (start_sessions(w) < 0)
		return "connections";
	return worker_life_open(w) < 0 ? "signals" : NULL;
}

static void worker_stop(struct worker *w)
{
	worker_life_stop(w);
	access_logs_fini(&w->access_logs);
	free(w->rows);
	free(w->peer_rows);
	timer_disarm(&w->loop.wheel, &w->second);
	timer_disarm(&w->loop.wheel, &w->strain.timer);
	timer_disarm(&w->loop.wheel, &w->full.tell);
	sessions_fini(&w->sessions);
	pacer_fini(&w->pacer);
	stream_env_fini(w->streams);
	work_line_free(&w->work_line);
	handlers_stop(&w->http);
	files_free(&w->files);
	offload_free(&w->offload);
	upstreams_free(&w->http.upstreams);
	auth_queue_free(&w->auth_queue);
	accounts_free(&w->accounts);
	tally_leave(w->args->tally);
	pools_fini();
	h2_fini();
	worker_life_close(w);
	loop_fini(&w->loop);
	log_tick(true);
}

int worker_run(const struct gifts *args)
{
	struct stream_env streams = { 0 };
	struct worker w = { .args = args, .streams = &streams };
	const char *failed;
	int rv = loop_init(&w.loop);

	if (rv < 0) {
		log_error("start: epoll: %s; exiting", strerror(-rv));
		return EXIT_FAILURE;
	}
	sessions_init(&w.sessions, &w.loop);
	timer_init(&w.second, every_second);
	worker_life_init(&w);
	failed = worker_start(&w);
	if (failed != NULL) {
		log_error("start: %s: %s; exiting", failed, strerror(errno));
		return EXIT_FAILURE;
	}
	every_second(&w.second);
	worker_strain_start(&w);
	if (handlers_start(&w.http) < 0) {
		worker_stop(&w);
		return EXIT_FAILURE;
	}
	handler_slow_start(); /* worker_init() may take long */
	worker_life_up(&w);
	rv = ctl_send(args->ctl, &(struct ctl_msg){ .type = CTL_UP }, NULL, 0);
	/* The loop notices a dead master. */
	if (rv == 0 || rv == -EPIPE)
		rv = loop_run(&w.loop);
	if (rv < 0)
		log_error("cannot run: %s; exiting", strerror(-rv));
	handler_slow_stop();
	worker_stop(&w);
	return rv == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
