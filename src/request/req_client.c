/*
 * req_client: walks the addresses that proxies have added to a request, the newest first: each was
 * added by the proxy whose address precedes it, so it counts only while all before it are trusted.
 * The first untrusted one is the client. Called by req_start() for a trusted peer.
 */
#include "request/req_client.h"

#include "http/forwarded.h"
#include "request/trace.h"
#include "share/account.h"

/* Unknown; no rule for addresses admits it. */
static const struct addr nobody = { 0 };

typedef bool last_fn(struct slice *value, struct forwarded *f);

/* Continues with one line. False: the walk ends, f is untrusted or has no address. */
static bool step(
	const struct proxies *p, struct slice value, last_fn *last, struct forwarded *f, bool *any)
{
	struct forwarded next;

	while (last(&value, &next)) {
		*f = next;
		*any = true;
		if (!proxies_trust(p, &f->from))
			return false;
	}
	return true;
}

/* Lines of the same name are one list (RFC 9110, 5.3). False: it has no element. */
static bool req_client_walk(
	const struct h2d_req *req, struct slice name, last_fn *last, struct forwarded *f)
{
	const struct proxies *p = &req->env->sites->proxies;
	bool any = false, on = true;

	for (unsigned i = req->nfields; on && i-- > 0;)
		if (slice_eq(req->fields[i].name, name))
			on = step(p, req->fields[i].value, last, f, &any);
	return any;
}

/* The header's one address; none from several, or from an invalid one. False: the header is
 * missing. */
static bool named(const struct h2d_req *req, struct slice name, struct forwarded *f)
{
	const struct field *line = field_find(req->fields, req->nfields, name);
	struct slice rest;

	if (line == NULL)
		return false;
	rest = line->value;
	if (!forwarded_last_x(&rest, f) || rest.n > 0 ||
		field_find(line + 1, req->nfields - (unsigned)(line + 1 - req->fields), name) !=
			NULL)
		*f = (struct forwarded){ 0 };
	return true;
}

/* The last line counts, and its last element: it was added by a trusted peer. */
static bool x_https(const struct h2d_req *req)
{
	for (unsigned i = req->nfields; i-- > 0;)
		if (slice_eq(req->fields[i].name, SLICE("x-forwarded-proto")))
			return forwarded_is_https(req->fields[i].value);
	return false;
}

static const struct addr *keep(struct h2d_req *req, const struct addr *from)
{
	struct addr *a;

	if (from->sa.sa_family == AF_UNSPEC)
		return &nobody;
	a = arena_alloc(&req->arena, sizeof(*a));
	if (a == NULL)
		return &nobody;
	*a = *from;
	return a;
}

struct account *req_account(struct h2d_req *req)
{
	if (req->client == NULL || req->env->accounts == NULL)
		return req->conn->account;
	if (req->account == NULL)
		req->account = account_open(req->env->accounts, req->client);
	return req->account;
}

bool req_limited(struct h2d_req *req, uint64_t *mark)
{
	const struct account *a = req_account(req);
	bool exempt;

	if (req->env->tally == NULL || a == NULL)
		return false;
	/* Clients in the crowd's account are distinguished here all the same. */
	if (account_is_crowd(a)) {
		*mark = account_mark(req->env->accounts, req_client(req), &exempt);
		return !exempt;
	}
	*mark = a->mark;
	return !a->exempt;
}

void req_client_find(struct h2d_req *req)
{
	struct forwarded found;

	/* The proxy adds headers at the end, which may be missing in a head that is too large. */
	if (req->head_too_large)
		return;
	switch (req->env->sites->proxies.field) {
	case PROXIES_NO_FIELD:
		return;
	case PROXIES_X_FORWARDED_FOR:
		if (req_client_walk(req, SLICE("x-forwarded-for"), forwarded_last_x, &found))
			req->client = keep(req, &found.from);
		req->client_https = x_https(req);
		break;
	case PROXIES_NAMED:
		if (named(req, req->env->sites->proxies.name, &found))
			req->client = keep(req, &found.from);
		req->client_https = x_https(req);
		break;
	case PROXIES_FORWARDED:
		if (req_client_walk(req, SLICE("forwarded"), forwarded_last, &found)) {
			req->client = keep(req, &found.from);
			req->client_https = found.https;
		}
		break;
	}
	if (req->client_https)
		req->scheme = SLICE("https");
	TRACE_STEP(req, CLIENT, req->env->sites->proxies.field_at, "is %s%s",
		ADDR_HOST(req_client(req)), req->client_https ? ", over https" : "");
}
