/*
 * worker: puts a serving process together, runs its loop, and takes it apart again. Its state is
 * written by nobody else; the master speaks to it by ctl messages, operators by signals to the master.
 */
#include "server/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "cache/answer.h"
#include "http/auth.h"
#include "net/ctl.h"
#include "net/tcp.h"
#include "net/tls.h"
#include "server/worker_state.h"

enum { OFFLOAD_THREADS = 4, SECOND_MS = 1000 };

extern const struct route_table routes_table; /* made from routes.def */
extern const struct h2d_handler files;        /* the document root */

static const struct dispatch_ops *const dispatches[] = { &dispatch_reuseport };

/* --- connections ----------------------------------------------------------------------------------------- */

/* For requests that ask for another site than the one whose certificate was shown. */
static bool covers(const struct http_conn *conn, struct slice host)
{
	return tls_cert_covers(conn->certificate, host);
}

void worker_take(struct worker *w, int fd, const struct addr *peer,
	const struct worker_listener *from)
{
	struct transport *t = from->tls != NULL ? tls_open(from->tls, fd) : tcp_open(fd);
	char text[CONN_PEER];

	COUNT(connections_total, 1);
	if (t == NULL) {
		log_error("connection: out of memory");
		close(fd);
		return;
	}
	if (from->addr.sa.sa_family == AF_UNIX)
		strcpy(text, "unix");
	else
		addr_format_host(peer, text, sizeof(text));
	if (conn_open(&w->conns, t, &(struct http_conn){
			.peer = slice_str(text),
			.tls = from->tls != NULL,
			.admin = from->conf->admin,
			.redirect_to_https = from->conf->redirect_to_https,
			.covers = from->tls != NULL ? covers : NULL,
		}) < 0) {
		t->ops->close(&t);
		return;
	}
	if (w->conns.nlive >= w->args->conf->worker_connections && w->dispatch != NULL &&
		!w->paused) {
		w->paused = true;
		w->dispatch_ops->pause(w->dispatch);
		log_warn("worker-connections reached (%u)", w->conns.nlive);
	}
}

static void conn_gone(struct conn_env *env)
{
	struct worker *w = LIST_ENTRY(env, struct worker, conns);

	if (w->paused && w->dispatch != NULL) {
		w->paused = false;
		w->dispatch_ops->resume(w->dispatch);
	}
	if (w->draining && env->nlive == 0)
		loop_stop(&w->loop);
}

/* --- leaving ----------------------------------------------------------------------------------------------- */

static void cut(struct worker *w)
{
	LIST_FOREACH (node, &w->conns.live)
		conn_kill(LIST_ENTRY(node, struct conn, node));
	w->draining = true;
	if (w->conns.nlive == 0)
		loop_stop(&w->loop);
}

static void deadline(struct timer *t)
{
	struct worker *w = LIST_ENTRY(t, struct worker, deadline);

	log_notice("shutdown-timeout: %u connections cut", w->conns.nlive);
	cut(w);
}

static void drain(struct worker *w, uint64_t ms)
{
	if (w->draining)
		return;
	w->draining = true;
	w->http.draining = true;
	__atomic_store_n(&w->args->board_slot->state, BOARD_DRAIN, __ATOMIC_RELAXED);
	w->dispatch_ops->stop(&w->dispatch);
	files_no_image(w->files);
	timer_arm(&w->loop.wheel, &w->deadline, clock_ms() + ms);
	LIST_FOREACH (node, &w->conns.live)
		conn_drain(LIST_ENTRY(node, struct conn, node));
	if (w->conns.nlive == 0)
		loop_stop(&w->loop);
}

static void leave_now(struct worker *w)
{
	if (w->dispatch != NULL)
		w->dispatch_ops->stop(&w->dispatch);
	w->http.draining = true;
	cut(w);
}

static uint64_t shutdown_ms(const struct worker *w)
{
	return w->args->conf->shutdown_timeout * 1000;
}

static void on_signal(struct sig *s, const struct signalfd_siginfo *info)
{
	struct worker *w = LIST_ENTRY(s, struct worker, sig);

	switch (info->ssi_signo) {
	case SIGTERM:
		leave_now(w);
		break;
	case SIGQUIT:
		drain(w, shutdown_ms(w));
		break;
	default: /* INT, HUP, USR1, USR2 are the master's: a terminal sends INT to the whole group */
		break;
	}
}

/* --- the master's word ---------------------------------------------------------------------------------------- */

/*
 * The error log comes first unless it is syslog, then the access log unless it is off. They take the
 * numbers of the old ones, so that nobody else need know.
 */
static void take_logs(struct worker *w, const int *fds, int nfds)
{
	const int logs[] = { w->args->error_log, w->args->access_log };
	int n = 0;

	access_log_flush(&w->access_log);
	for (unsigned i = 0; i < 2; i++) {
		if (logs[i] < 0 || n == nfds)
			continue;
		if (dup2(fds[n], logs[i]) < 0)
			log_error("reopened log: %s", strerror(errno));
		n++;
	}
}

static void on_message(struct worker *w, const struct ctl_msg *msg, const int *fds, int nfds)
{
	switch (msg->type) {
	case CTL_IMAGE:
		if (!w->draining) {
			files_take_image(w->files, msg->arg, fds, nfds);
			return;
		}
		break;
	case CTL_DRAIN:
		drain(w, msg->arg);
		break;
	case CTL_LOGS:
		take_logs(w, fds, nfds);
		break;
	default:
		log_error("ctl: unknown message %u", msg->type);
		break;
	}
	for (int i = 0; i < nfds; i++)
		close(fds[i]);
}

static void on_ctl(struct watch *watch, uint32_t events)
{
	struct worker *w = LIST_ENTRY(watch, struct worker, ctl);
	struct ctl_msg msg;
	int fds[CTL_FDS_MAX], nfds, rv;

	(void)events;
	while ((rv = ctl_recv(watch->fd, &msg, fds, &nfds)) > 0 || rv == -EMFILE) {
		if (rv > 0)
			on_message(w, &msg, fds, nfds);
		else
			log_error("ctl: a message is lost: %s", strerror(-rv));
	}
	if (rv == -EAGAIN)
		return;
	loop_unwatch(&w->loop, watch);
	log_notice("the master is gone: leaving");
	w->orphan = true;
	drain(w, shutdown_ms(w));
}

/* --- requests -------------------------------------------------------------------------------------------------- */

static void finished(struct http_env *env, struct h2d_req *req)
{
	struct worker *w = env->owner;

	access_log_write(&w->access_log, req);
}

static struct slice status_json(struct http_env *env, struct arena *a)
{
	struct worker *w = env->owner;

	return board_json(w->args->board, a);
}

static void every_second(struct timer *t)
{
	struct worker *w = LIST_ENTRY(t, struct worker, second);

	w->http.date_s = clock_wall().tv_sec;
	date_format(w->http.date_s, w->date);
	timer_arm(&w->loop.wheel, t, clock_ms() + SECOND_MS);
}

/* --- putting it together ------------------------------------------------------------------------------- */

/* Of the first public TLS listener. */
static uint16_t https_port(const struct worker_args *args)
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
	static const struct slice with = SLICE_LIT("h2d/" PACKAGE_VERSION), without = SLICE_LIT("h2d");
	time_t now = clock_wall().tv_sec;

	date_format(now, w->date);
	w->http = (struct http_env){
		.sites = w->args->sites,
		.https_port = https_port(w->args),
		.routes = &routes_table,
		.fallback = &files,
		.date = slice_of(w->date, DATE_LEN),
		.date_s = now,
		.server = conf->server_tokens ? with : without,
		.header_size = conf->limits.client_header_size,
		.files = w->files,
		.error_page = answer_error_page,
		.auth_desk = w->auth_desk,
		.status = status_json,
		.finished = finished,
		.owner = w,
	};
	return access_log_init(&w->access_log, &w->loop, w->args->access_log,
		(enum access_format)conf->access_log_format);
}

static int start_conns(struct worker *w)
{
	const struct conf *conf = w->args->conf;

	w->conns.proto = (struct proto_conf){
		.max_concurrent_streams = (uint32_t)conf->limits.max_concurrent_streams,
		.env = &w->http,
	};
	w->conns.timeouts = (struct conn_timeouts){
		.handshake = conf->timeouts.handshake * 1000,
		.header = conf->timeouts.header * 1000,
		.body = conf->timeouts.body * 1000,
		.send = conf->timeouts.send * 1000,
		.keepalive = conf->timeouts.keepalive * 1000,
	};
	w->conns.gone = conn_gone;
	w->conns.input = malloc(CONN_INPUT);
	return w->conns.input != NULL ? 0 : -1;
}

static int watch_master(struct worker *w)
{
	sigset_t set;

	sigemptyset(&set);
	for (const int *s = (const int[]){ SIGTERM, SIGQUIT, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, 0 };
		*s != 0; s++)
		sigaddset(&set, *s);
	if (sig_init(&w->sig, &w->loop, &set, on_signal) < 0)
		return -1;
	w->ctl.fn = on_ctl;
	w->ctl.fd = w->args->ctl;
	return loop_watch(&w->loop, &w->ctl, EPOLLIN);
}

static const char *worker_start(struct worker *w)
{
	w->offload = offload_new(&w->loop, OFFLOAD_THREADS);
	if (w->offload == NULL)
		return "offload";
	w->auth_desk = auth_desk_new(w->offload);
	if (w->auth_desk == NULL)
		return "passwords";
	w->files = files_new(&w->loop, w->offload, &w->args->trees->files);
	if (w->files == NULL)
		return "document root";
	files_show_image(w->files, &w->args->board_slot->image);
	if (start_http(w) < 0)
		return "access log";
	if (start_conns(w) < 0)
		return "connections";
	if (watch_master(w) < 0)
		return "signals";
	w->dispatch_ops = dispatches[w->args->conf->dispatch];
	w->dispatch = w->dispatch_ops->start(w);
	if (w->dispatch == NULL)
		return w->dispatch_ops->name;
	return NULL;
}

static void worker_stop(struct worker *w)
{
	access_log_fini(&w->access_log);
	timer_disarm(&w->loop.wheel, &w->second);
	timer_disarm(&w->loop.wheel, &w->deadline);
	conn_env_fini(&w->conns);
	free(w->conns.input);
	files_free(&w->files);
	offload_free(&w->offload);
	h1_trim();
	auth_desk_free(&w->auth_desk);
	h2_trim();
	if (w->ctl.active)
		loop_unwatch(&w->loop, &w->ctl);
	sig_fini(&w->sig, &w->loop);
	loop_fini(&w->loop);
}

int worker_run(const struct worker_args *args)
{
	struct worker w = { .args = args };
	const char *failed;
	int rv = loop_init(&w.loop);

	if (rv < 0) {
		log_error("start: epoll: %s", strerror(-rv));
		return EXIT_FAILURE;
	}
	conn_env_init(&w.conns, &w.loop);
	timer_init(&w.second, every_second);
	timer_init(&w.deadline, deadline);
	failed = worker_start(&w);
	if (failed != NULL) {
		log_error("start: %s: %s", failed, strerror(errno));
		return EXIT_FAILURE;
	}
	every_second(&w.second);
	__atomic_store_n(&args->board_slot->state, BOARD_UP, __ATOMIC_RELAXED);
	rv = ctl_send(args->ctl, &(struct ctl_msg){ .type = CTL_UP, .generation = args->generation },
		NULL, 0);
	if (rv == 0)
		rv = loop_run(&w.loop);
	if (rv < 0)
		log_error("loop: %s", strerror(-rv));
	worker_stop(&w);
	return rv == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
