/*
 * gate: see gate.h. A request that waits has a struct gate in its arena; the verdict comes in the loop,
 * and never after gate_leave(). Knows no route and no file.
 */
#include "http/gate.h"

#include "base/log.h"
#include "http/access.h"
#include "http/auth.h"
#include "http/redirect.h"

#define ACME "/.well-known/acme-challenge/" /* RFC 8555, 8.3 */

/* A piece of the request body that came while its request waits. */
struct held {
	struct held *next;
	size_t n;
	char bytes[];
};

struct gate {
	struct h2d_req *req;
	const struct auth *auth;
	struct auth_wait wait;
	struct held *first, **last;
	bool ended;             /* the end of the body came too */
};

/* --- who may ------------------------------------------------------------------------------------- */

/* realm as a quoted-string (RFC 9110, 5.6.4); the configuration's bytes, but a field has its rules. */
static struct slice challenge(const struct auth *auth, struct arena *a)
{
	static const struct slice head = SLICE_LIT("Basic realm=\""), tail = SLICE_LIT("\", charset=\"UTF-8\"");
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

static void answer(struct h2d_req *req, const struct auth *auth, enum auth_verdict verdict)
{
	struct slice ask;

	switch (verdict) {
	case AUTH_REFUSED:
		ask = challenge(auth, &req->arena);
		/* RFC 9110, 15.5.2: a 401 without a challenge is none. */
		if (ask.p == NULL || reply_add(req, SLICE("www-authenticate"), ask) < 0)
			req_error(req, ERR_NO_MEMORY->status);
		else
			req_error(req, 401);
		break;
	case AUTH_BUSY:
		reply_add(req, SLICE("retry-after"), SLICE("1"));
		req_error(req, 503);
		break;
	default:
		req_error(req, 503);
	}
}

/* Refused while it waits, for a malformed chunk, say. Its error page may still be on the way. */
static bool answered(const struct h2d_req *req)
{
	return req->reply.ready || req->error_status != 0;
}

/* The verdict of a request that waited, unless it was answered meanwhile. */
static void decided(struct auth_wait *wait, enum auth_verdict verdict)
{
	struct gate *gate = LIST_ENTRY(wait, struct gate, wait);
	struct h2d_req *req = gate->req;

	req->gate = NULL;
	if (verdict != AUTH_PASSED)
		req->user.n = 0;
	if (!answered(req)) {
		if (verdict == AUTH_PASSED)
			req_enter(req);
		else
			answer(req, gate->auth, verdict);
	}
	if (!answered(req) && req->body_taken)
		req->stream->consume(req, 0);
	for (const struct held *h = gate->first; h != NULL; h = h->next)
		req_body(req, h->bytes, h->n);
	if (gate->ended)
		req_end(req);
}

/* The credentials of a request; false if it has none that are well-formed. */
static bool credentials(const struct h2d_req *req, struct basic *who)
{
	const struct field *f = field_find(req->fields, req->nfields, SLICE("authorization"));

	/* A second one (it is no list) makes both worth nothing. */
	return f != NULL &&
	       field_find(f + 1, req->nfields - (unsigned)(f + 1 - req->fields), f->name) == NULL &&
	       basic_parse(f->value, who);
}

static bool ask(struct h2d_req *req, const struct auth *auth)
{
	struct gate *gate = arena_zalloc(&req->arena, sizeof(*gate));
	enum auth_verdict verdict = AUTH_REFUSED;
	struct basic who;

	if (gate == NULL) {
		req_error(req, ERR_NO_MEMORY->status);
		return false;
	}
	gate->req = req;
	gate->auth = auth;
	gate->last = &gate->first;
	gate->wait.fn = decided;
	if (credentials(req, &who)) {
		verdict = auth_ask(req->env->auth_desk, auth, &who, &gate->wait);
		if (verdict == AUTH_PASSED || verdict == AUTH_LATER)
			req->user = arena_dup(&req->arena, who.user);
		basic_wipe(&who);
	}
	if (verdict == AUTH_PASSED)
		return true;
	if (verdict == AUTH_LATER)
		req->gate = gate;
	else
		answer(req, auth, verdict);
	return false;
}

void gate_body(struct h2d_req *req, const void *data, size_t n)
{
	struct gate *gate = req->gate;
	struct held *h;

	if (answered(req)) {
		req->stream->consume(req, n);
		return;
	}
	h = arena_alloc(&req->arena, sizeof(*h) + n);
	if (h == NULL) {
		req_error(req, ERR_NO_MEMORY->status);
		req->stream->consume(req, n);
		return;
	}
	h->next = NULL;
	h->n = n;
	memcpy(h->bytes, data, n);
	*gate->last = h;
	gate->last = &h->next;
}

void gate_end(struct h2d_req *req)
{
	req->gate->ended = true;
}

void gate_leave(struct h2d_req *req)
{
	struct gate *gate = req->gate;
	size_t n = 0;

	req->gate = NULL;
	req->user.n = 0;
	auth_forget(&gate->wait);
	for (const struct held *h = gate->first; h != NULL; h = h->next)
		n += h->n;
	if (n > 0)
		req->stream->consume(req, n);
}

/* --- the rules, in their order --------------------------------------------------------------------- */

static void send_elsewhere(struct h2d_req *req, int status, struct slice location)
{
	if (location.p == NULL || reply_add(req, SLICE("location"), location) < 0)
		status = ERR_NO_MEMORY->status;
	req_error(req, status);
}

/* What a certificate authority asks, on the listener where it asks it. */
static bool is_challenge(const struct h2d_req *req)
{
	return req->conn->redirect_to_https && slice_starts(req->path, SLICE(ACME));
}

/*
 * A site that is elsewhere as a whole still needs a certificate for its name, and the proof lies below
 * its root. Without a root the proof can only be where the redirect leads.
 */
static bool is_elsewhere(const struct h2d_req *req)
{
	const struct place *place = req->place;

	return place->redirect.n > 0 && !(is_challenge(req) && req->site->has_root &&
						 slice_eq(place->redirect_prefix, SLICE("/")));
}

static void to_https(struct h2d_req *req)
{
	struct slice host = site_host(req->authority);

	if (req->env->https_port == 0)
		req_error(req, 404);
	else if (host.n == 0)
		req_error(req, 400);
	else
		send_elsewhere(req, 308,
			redirect_to_https(host, req->env->https_port, req->target, &req->arena));
}

/*
 * RFC 9110, 7.4 and 15.5.20: the name is another server block's, with a certificate of its own, and the
 * connection's is not good for it. Never for the default block, which answers every name.
 */
static bool misdirected(const struct h2d_req *req)
{
	const struct http_conn *conn = req->conn;

	return conn->tls && !req->site->is_default && req->site->certificate != conn->certificate &&
	       conn->covers != NULL && !conn->covers(conn, site_host(req->authority));
}

static bool allowed(const struct h2d_req *req, const struct place *place)
{
	return place->access == NULL || access_allows(place->access, req->conn->peer);
}

/*
 * By the rules of its place, and of the index files that a directory may be answered with. One pair of
 * credentials is asked for: where two files of users have a say, nobody gets in.
 */
static bool let_in(struct h2d_req *req)
{
	const struct site *site = req->site;
	const struct auth *auth = req->place->auth;
	unsigned n = req->path.p[req->path.n - 1] == '/' ? site->nplaces : 0;
	bool in = allowed(req, req->place);

	for (const struct place *p = site->places; p != site->places + n; p++) {
		if (!site_place_is_index(p, req->place, req->path))
			continue;
		in = in && allowed(req, p);
		if (auth == NULL)
			auth = p->auth;
		else if (p->auth != NULL && strcmp(p->auth->file, auth->file) != 0)
			in = false;
	}
	if (!in) {
		log_info("connection %.*s: %.*s: not allowed from there", SLICE_ARG(req->conn->peer),
			SLICE_ARG(req->target));
		req_error(req, 403);
	}
	return in && (auth == NULL || ask(req, auth));
}

bool gate_pass(struct h2d_req *req)
{
	const struct place *place = req->place;

	if (req->authority.n > 0 && site_host(req->authority).n == 0) {
		req_error(req, 400);
		return false;
	}
	if (req->conn->admin)
		return true;
	if (req->conn->redirect_to_https && !is_challenge(req)) {
		to_https(req);
		return false;
	}
	if (misdirected(req)) {
		req_error(req, 421);
		return false;
	}
	if (is_elsewhere(req)) {
		send_elsewhere(req, place->redirect_status,
			redirect_place(place, req->path, req->query, &req->arena));
		return false;
	}
	return let_in(req);
}
