/*
 * gate: checks each request against the rules in their order and answers those that break one. A
 * request that waits for a password check has a struct gate in its arena; the result comes in the
 * loop, and never after gate_leave(). Uses no route, no file and no request body.
 */
#include "request/gate.h"

#include <inttypes.h>

#include "auth/auth_queue.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "http/authority.h"
#include "request/handler_choice.h"
#include "request/req_client.h"
#include "request/trace.h"
#include "rules/redirect.h"
#include "share/access.h"
#include "share/tally.h"

#define ACME "/.well-known/acme-challenge/" /* RFC 8555, 8.3 */

struct gate {
	struct h2d_req *req;
	const struct auth *auth;
	struct auth_wait wait;
	gate_done *done;
	void *ctx;
};

/* --- access ----------------------------------------------------------------------------------- */

/* realm as a quoted-string (RFC 9110, 5.6.4); the configuration's bytes, by the rules of a
 * header. */
static struct slice challenge(const struct auth *auth, struct arena *a)
{
	static const struct slice head = SLICE_LIT("Basic realm=\""),
				  tail = SLICE_LIT("\", charset=\"UTF-8\"");
	char *p = arena_alloc(a, head.n + 2 * auth->realm.n + tail.n), *o = p;

	if (p == NULL)
		return (struct slice){ 0 };
	memcpy(o, head.p, head.n);
	o += head.n;
	for (size_t i = 0; i < auth->realm.n; i++) {
		unsigned char c = (unsigned char)auth->realm.p[i];

		if (c == '"' || c == '\\')
			*o++ = '\\';
		*o++ = c < 0x20 || c == 0x7f ? ' ' : (char)c;
	}
	memcpy(o, tail.p, tail.n);
	return slice_of(p, (size_t)(o - p) + tail.n);
}

/* Reports it in the log, for tools that ban addresses, and in the trace. */
static void tell_verdict(struct h2d_req *req, const struct auth *auth, enum auth_verdict verdict)
{
	static const char *const texts[] = {
		[AUTH_REFUSED] = "refuses the client: wrong user, password or kind of hash",
		[AUTH_PASSED] = "admits the user",
		[AUTH_BUSY] = "has too many passwords to check",
		[AUTH_DELAYED] = "delays the check after wrong passwords",
		[AUTH_BROKEN] = "cannot be read",
	};

	TRACE_STEP(req, AUTH, &auth->at, "\"%s\" %s", auth->file, texts[verdict]);
	if (verdict == AUTH_REFUSED)
		req_fault(req, ERR_PASSWORD_WRONG);
}

static void gate_answer(struct h2d_req *req, const struct auth *auth, enum auth_verdict verdict,
	const struct auth_wait *wait)
{
	struct slice ask;

	switch (verdict) {
	case AUTH_REFUSED:
		ask = challenge(auth, &req->arena);
		/* RFC 9110, 15.5.2: a 401 needs a challenge. */
		if (ask.p == NULL || reply_add(req, SLICE("www-authenticate"), ask) < 0)
			reply_error(req, ERR_NO_MEMORY->status);
		else
			reply_error(req, 401);
		break;
	case AUTH_BUSY:
		reply_later(req, ERR_PASSWORD_LINE, wait->retry_ms);
		break;
	case AUTH_DELAYED:
		reply_later(req, ERR_PASSWORD_DELAY, wait->retry_ms);
		break;
	default:
		reply_error(req, 503);
	}
}

/* The result for a request that waited. It may have been refused meanwhile, say for a malformed
 * chunk; then its answer, or its pending error page, stays. */
static void decided(struct auth_wait *wait, enum auth_verdict verdict)
{
	struct gate *gate = LIST_ENTRY(wait, struct gate, wait);
	struct h2d_req *req = gate->req;
	bool open = !req->reply.ready && req->error_status == 0;

	tell_verdict(req, gate->auth, verdict);
	req->gate = NULL;
	if (verdict != AUTH_PASSED) {
		req->user.n = 0;
		if (open)
			gate_answer(req, gate->auth, verdict, wait);
	}
	gate->done(req, open && verdict == AUTH_PASSED ? GATE_GO : GATE_ANSWERED, gate->ctx);
}

/* The credentials of a request; false: none that are well-formed. */
static bool credentials(const struct h2d_req *req, struct auth_basic *who)
{
	const struct field *f = field_find(req->fields, req->nfields, SLICE("authorization"));

	/* A second one (it is no list) invalidates both. */
	return f != NULL &&
	       field_find(f + 1, req->nfields - (unsigned)(f + 1 - req->fields), f->name) == NULL &&
	       auth_basic_parse(f->value, who);
}

static enum gate_result ask(
	struct h2d_req *req, const struct auth *auth, gate_done *done, void *ctx)
{
	struct gate *gate = arena_zalloc(&req->arena, sizeof(*gate));
	enum auth_verdict verdict = AUTH_REFUSED;
	struct auth_basic who;

	if (gate == NULL) {
		reply_error(req, ERR_NO_MEMORY->status);
		return GATE_ANSWERED;
	}
	gate->req = req;
	gate->auth = auth;
	gate->done = done;
	gate->ctx = ctx;
	gate->wait.fn = decided;
	if (credentials(req, &who)) {
		verdict = auth_ask(req->env->auth_queue, auth, &who, req_account(req), &gate->wait);
		if (verdict == AUTH_PASSED || verdict == AUTH_LATER)
			req->user = arena_dup(&req->arena, who.user);
		auth_basic_wipe(&who);
		if (verdict != AUTH_LATER)
			tell_verdict(req, auth, verdict);
	} else
		TRACE_STEP(req, AUTH, &auth->at, "\"%s\" requires a password: the request has none",
			auth->file);
	if (verdict == AUTH_PASSED)
		return GATE_GO;
	if (verdict == AUTH_LATER) {
		req->gate = gate;
		return GATE_LATER;
	}
	gate_answer(req, auth, verdict, &gate->wait);
	return GATE_ANSWERED;
}

void gate_leave(struct h2d_req *req)
{
	auth_forget(&req->gate->wait);
	req->gate = NULL;
	req->user.n = 0;
}

/* --- the rules, in their order ---------------------------------------------------------------- */

static void send_elsewhere(struct h2d_req *req, int status, struct slice location)
{
	if (location.p == NULL || reply_add(req, SLICE("location"), location) < 0)
		status = ERR_NO_MEMORY->status;
	reply_error(req, status);
}

/* A certificate authority requests this path, on the listener for it. */
static bool is_challenge(const struct h2d_req *req)
{
	return req->conn->redirect_at != NULL && slice_starts(req->path, SLICE(ACME));
}

/*
 * A site that is redirected as a whole still needs a certificate for its name, and the proof is
 * below its root. Without a root the proof can only be at the target.
 */
static bool leads(const struct h2d_req *req, const struct redirect *r)
{
	return r->to.n > 0 &&
	       !(is_challenge(req) && req->site->has_root && slice_eq(r->prefix, SLICE("/")));
}

/* The path's line in a file of redirects; NULL: none. */
static const struct redirect_line *own_line(const struct h2d_req *req)
{
	const struct redirect_line *line = req->site->redirects != NULL
						   ? redirects_find(req->site->redirects, req->path)
						   : NULL;

	return line != NULL && leads(req, &line->redirect) ? line : NULL;
}

/* A path's own line precedes the redirect of a location. False: neither. */
static bool is_moved(struct h2d_req *req)
{
	const struct redirect_line *line = own_line(req);
	const struct redirect *r = line != NULL ? &line->redirect : &req->location->redirect;

	if (!leads(req, r))
		return false;
	TRACE_STEP(req, REDIRECT, line != NULL ? &line->at : TRACE_AT(req->location, redirect),
		"sends the client to \"%.*s\"%s", SLICE_ARG(r->to),
		r->keeps ? " and the rest of the path" : "");
	send_elsewhere(req, r->status, redirect_location(r, req->path, req->query, &req->arena));
	return true;
}

/*
 * True: the next redirect leads to https, too: one step for two. A host with
 * strict-transport-security must be visited by https once, because clients accept that header only
 * there (RFC 6797, 7.2).
 */
static bool leads_to_https(const struct h2d_req *req)
{
	const struct redirect_line *line = own_line(req);
	struct slice to = line != NULL ? line->redirect.to : req->location->redirect.to;

	return req->location->returned == NULL && req->site->transport_security.n == 0 &&
	       slice_starts(to, SLICE("https://"));
}

static void to_https(struct h2d_req *req)
{
	struct slice host = authority_host(req->authority);
	uint16_t port =
		req->conn->https_port != 0 ? req->conn->https_port : req->env->conf.https_port;

	TRACE_STEP(req, HTTPS, req->conn->redirect_at,
		port != 0 ? "sends the client to port %u" : "finds no listener with tls", port);
	if (port == 0)
		reply_error(req, 404);
	else if (host.n == 0)
		reply_error(req, 400);
	else
		send_elsewhere(req, 308, redirect_to_https(host, port, req->target, &req->arena));
}

/*
 * RFC 9110, 7.4 and 15.5.20: the name belongs to another server block with its own certificate, and
 * the connection's does not cover it: never for the default block, which answers every name.
 */
static bool is_uncovered(const struct h2d_req *req)
{
	const struct http_conn *conn = req->conn;

	return !req->site->is_default && req->site->certificate != conn->certificate &&
	       conn->covers != NULL &&
	       !conn->covers(conn->certificate, authority_host(req->authority));
}

/* Or that block trusts other authorities for clients: the handshake used another name, and its
 * result is valid for that one alone. */
static bool misdirected(struct h2d_req *req)
{
	bool asks = req->site->client_ca != req->conn->client_ca;

	if (req->conn->tls != HTTP_TLS_OURS || (!asks && !is_uncovered(req)))
		return false;
	if (asks)
		TRACE_STEP(req, VERIFY, &req->site->verify_at,
			"refuses the request: the TLS handshake was for another host name");
	else
		TRACE_STEP(req, CERT, NULL, "of the connection does not cover this host name");
	return true;
}

/* Why the client's certificate does not admit it; NULL: it does. */
static const struct err *client_fault(const struct h2d_req *req)
{
	const struct http_conn *conn = req->conn;

	if (conn->tls != HTTP_TLS_OURS)
		return NULL;
	if (conn->client_refused != NULL)
		return ERR_CLIENT_CERT_REFUSED;
	return conn->client_subject == NULL && req->site->needs_certificate ? ERR_CLIENT_CERT_NONE
									    : NULL;
}

/* An answer instead of an alert in the handshake: people see the reason, over HTTP/2 and HTTP/1
 * alike. */
static bool lacks_certificate(struct h2d_req *req)
{
	const struct err *err = client_fault(req);

	if (err == NULL)
		return false;
	TRACE_STEP(req, VERIFY, &req->site->verify_at, "refuses the client: %s", err->text);
	/* The handshake has logged a refused one. */
	if (err == ERR_CLIENT_CERT_NONE) {
		COUNT(client_certificates_missing, 1);
		err_log(err, req_client(req));
	}
	req_record_error(&req->record, err);
	reply_error(req, err->status);
	return true;
}

static bool is_closed(struct h2d_req *req, const struct returned *r)
{
	if (r->except == NULL || !access_allows(r->except, req_client(req)))
		return true;
	TRACE_STEP(req, RETURN, TRACE_AT(req->location, returned),
		"does not affect %s, which is in return-except", ADDR_HOST(req_client(req)));
	return false;
}

static void turn_away(struct h2d_req *req, const struct returned *r)
{
	TRACE_STEP(req, RETURN, TRACE_AT(req->location, returned), "answers with %d", r->status);
	if (r->page.n > 0 && req->env->conf.error_page != NULL)
		reply_error_page(req, r->status, r->page, TRACE_AT(req->location, return_page));
	else
		reply_error(req, r->status);
}

static void keep_out(struct h2d_req *req, const struct err *err)
{
	const char *subject = err == ERR_SUBJECT ? req->conn->client_subject : NULL;

	log_peer(LEVEL_INFO, "connection %s: %.*s: %s%s%.200s%s", ADDR_HOST(req_client(req)),
		SLICE_ARG(req->target), err->text, subject != NULL ? " (" : "",
		subject != NULL ? subject : "", subject != NULL ? ")" : "");
	req_record_error(&req->record, err);
	reply_error(req, err->status);
}

/* Applies the rules of all locations for path. */
static enum gate_result let_in(struct h2d_req *req, struct slice path, gate_done *done, void *ctx)
{
	struct demand demand;

	if (!demand_of(&demand, req, path)) {
		reply_error(req, ERR_NO_MEMORY->status);
		return GATE_ANSWERED;
	}
	if (demand.hidden) {
		reply_error(req, 404);
		return GATE_ANSWERED;
	}
	if (!demand.in || !demand.known) {
		keep_out(req, demand.in ? ERR_SUBJECT : ERR_ADDRESS);
		return GATE_ANSWERED;
	}
	if (demand_refuses_method(&demand, req)) {
		handler_choice_refuse(req, demand.refused);
		return GATE_ANSWERED;
	}
	return demand.auth != NULL ? ask(req, demand.auth, done, ctx) : GATE_GO;
}

/* A page of another site whose name resolves to an admin listener could read its answers (DNS
 * rebinding). A browser sends that name, and cannot use a unix socket. */
static bool is_rebound(const struct h2d_req *req)
{
	struct slice host = authority_host(req->authority);
	struct addr addr;

	if (req->conn->port == 0 || host.n == 0 || host.p[0] == '[' ||
		slice_ieq(host, SLICE("localhost")) || addr_parse_host(AF_INET, host, &addr))
		return false;
	for (unsigned i = 0; i < req->conn->nadmin_hosts; i++)
		if (slice_ieq(host, slice_str(req->conn->admin_hosts[i])))
			return false;
	return true;
}

static enum gate_result pass_admin(struct h2d_req *req)
{
	if (!is_rebound(req))
		return GATE_GO;
	log_peer(LEVEL_INFO, "connection %s: host %.*s is not in admin-host; sending 421",
		ADDR_HOST(req_client(req)), SLICE_ARG(req->authority));
	reply_error(req, 421);
	return GATE_ANSWERED;
}

/* A load balancer's health check is neither redirected nor refused: its clients are. */
static bool is_health(const struct h2d_req *req)
{
	return site_is_health(req->site, req->path);
}

enum gate_result gate_pass(struct h2d_req *req, gate_done *done)
{
	const struct location *location = req->location;

	if (req->conn->admin)
		return pass_admin(req);
	if (req->conn->redirect_at != NULL && !is_health(req) && !req_client_https(req) &&
		!is_challenge(req)) {
		if (!leads_to_https(req) || !is_moved(req))
			to_https(req);
		return GATE_ANSWERED;
	}
	if (misdirected(req)) {
		reply_error(req, 421);
		return GATE_ANSWERED;
	}
	if (req->site->client_ca != NULL && lacks_certificate(req))
		return GATE_ANSWERED;
	if (location->returned != NULL && !is_health(req) && is_closed(req, location->returned)) {
		turn_away(req, location->returned);
		return GATE_ANSWERED;
	}
	if ((req->site->redirects != NULL || location->redirect.to.n > 0) && !is_health(req) &&
		is_moved(req))
		return GATE_ANSWERED;
	return req->site->guarded ? let_in(req, req->path, done, NULL) : GATE_GO;
}

enum gate_result gate_pass_file(struct h2d_req *req, struct slice path, gate_done *done, void *ctx)
{
	if (!req->site->guarded || req->conn->admin)
		return GATE_GO;
	return let_in(req, path, done, ctx);
}

/* --- the rate of requests -----------------------------------------------------------------------
 */

static void trace_rate(struct h2d_req *req, bool holds, uint64_t wait_ns)
{
	const struct rate *r = req->location->requests;
	const char *what = "; the client does not exceed it";

	if (req->env->tally == NULL)
		what = ", over all workers";
	else if (!holds)
		what = "; the client is exempt";
	else if (wait_ns > 0)
		what = req->env->sites->dry_run ? "; the client exceeds it, but dry-run is on"
						: "; the client exceeds it: refused";
	trace_step(req, TRACE_RATE, TRACE_AT(req->location, requests),
		"limits each client to %" PRIu64 ", burst %" PRIu64 "%s",
		UINT64_C(1000000000) / r->cost_ns, r->depth_ns / r->cost_ns, what);
}

/* Answers a client over its rate. */
static __attribute__((cold, noinline)) bool over(struct h2d_req *req, uint64_t wait_ns)
{
	if (req->env->sites->dry_run) {
		err_log_dry(ERR_REQUEST_RATE, req_client(req));
		return true;
	}
	reply_later(req, ERR_REQUEST_RATE, (wait_ns + 999999) / 1000000);
	return false;
}

/* A traced request, a possible health check, or one of an exempt client, or of a client other than
 * the peer. */
static __attribute__((noinline)) bool take_slowly(struct h2d_req *req)
{
	const struct rate *rate = req->location->requests;
	uint64_t mark, wait_ns = 0;
	bool holds;

	/* Load balancers request it all the time. */
	if (site_is_health(req->site, req->path))
		return true;
	holds = req_limited(req, &mark);
	if (holds)
		wait_ns = tally_take(req->env->tally, mark, rate, rate->cost_ns, clock_us());
	if (__builtin_expect(req->env->conf.traced, false))
		trace_rate(req, holds, wait_ns);
	return wait_ns == 0 || over(req, wait_ns);
}

bool gate_take_request(struct h2d_req *req)
{
	uint64_t wait_ns, now_us = clock_us(); /* first: registers are free for the rest */
	const struct account *a = req->conn->account;
	const struct rate *rate = req->location->requests;
	const struct http_env *env = req->env;

	if (__builtin_expect(req->path.n == req->site->health.n || req->client != NULL ||
				     env->tally == NULL || a == NULL || a->limited == 0 ||
				     env->conf.traced,
		    false))
		return take_slowly(req);
	wait_ns = tally_take(env->tally, a->limited, rate, rate->cost_ns, now_us);
	return __builtin_expect(wait_ns == 0, true) || over(req, wait_ns);
}
