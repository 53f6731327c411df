/*
 * reply: makes a response's head and gives it to the protocol. Called by handlers (h2d_reply_*), by
 * the request core and by the file replies of files/. Never reads content.
 */
#include "request/reply.h"

#include <inttypes.h>

#include "base/log.h"
#include "http/page.h"
#include "http/reason.h"
#include "request/handler_call.h"
#include "request/pace.h"
#include "request/req_body.h"
#include "request/req_client.h"
#include "request/req_id.h"
#include "request/trace.h"

const struct states req_states = {
	.of = "request",
	.rows = {
#define REQ_STATE(name, next, help) { #name, next },
#include "request/req_state.def"
	},
};

static struct slice digits(uint64_t v, char buf[20])
{
	char *p = buf + 20;

	do
		*--p = (char)('0' + v % 10);
	while ((v /= 10) != 0);
	return slice_of(p, (size_t)(buf + 20 - p));
}

/* The location's cache-control is for the requested file, not for an error (rules/site.h). */
static bool takes_cache_control(int status)
{
	static const int those[] = { 200, 203, 204, 206, 301, 302, 304, 307, 308 };

	for (size_t i = 0; i < sizeof(those) / sizeof(those[0]); i++)
		if (those[i] == status)
			return true;
	return false;
}

/* True if a response may have several of them, which then add up (rules/site.h). */
static bool adds_up(struct slice name)
{
	return slice_eq(name, SLICE("link")) || slice_eq(name, SLICE("server-timing")) ||
	       slice_eq(name, SLICE("set-cookie"));
}

/*
 * Two headers vary are as good as one (RFC 9110, 5.3), but not for every cache. 1: the existing one
 * now has value, too; 0: there is none; -1: memory is out.
 */
static int join_vary(struct h2d_req *req, struct slice value)
{
	struct reply *r = &req->reply;
	struct field *f = r->fields;
	struct slice name;

	while (f != r->fields + r->nfields && !slice_eq(f->name, SLICE("vary")))
		f++;
	if (f == r->fields + r->nfields)
		return 0;
	while (field_list_next(&value, &name)) {
		char *both;

		if (field_list_has(f->value, name))
			continue;
		both = arena_printf(
			&req->arena, "%.*s, %.*s", SLICE_ARG(f->value), SLICE_ARG(name));
		if (both == NULL)
			return -1;
		f->value = slice_str(both);
	}
	return 1;
}

int reply_vary(struct h2d_req *req, struct slice value)
{
	int joined = join_vary(req, value);

	if (joined == 0)
		return reply_add(req, SLICE("vary"), value);
	return joined > 0 ? 0 : -1;
}

/* Removes the response's own headers that the configuration does not admit. */
static void drop_configured(struct h2d_req *req)
{
	struct reply *r = &req->reply;
	unsigned kept = 0;

	if (site_is_health(req->site, req->path))
		return; /* a cache would answer for a server that drains */
	for (unsigned i = 0; i < r->nfields; i++) {
		const struct site_removed *rule = site_removal(req->location, r->fields[i].name);

		if (rule == NULL || rule->outer_only)
			r->fields[kept++] = r->fields[i];
		if (rule != NULL)
			TRACE_STEP(req, REMOVE, &rule->at, "%s %.*s",
				rule->outer_only ? "keeps the response's own" : "removes",
				SLICE_ARG(rule->name));
	}
	r->nfields = kept;
}

/* Adds the configuration's headers after all of the response's own. False: memory is out. */
static bool add_configured(struct h2d_req *req, int status)
{
	const struct location *location = req->location;
	struct reply *r = &req->reply;
	unsigned own;

	if (!reply_room(req, 1 + location->nheaders))
		return false;
	if (location->cache_control.n > 0 && takes_cache_control(status) &&
		field_find(r->fields, r->nfields, SLICE("cache-control")) == NULL)
		r->fields[r->nfields++] =
			(struct field){ SLICE("cache-control"), location->cache_control };
	own = r->nfields;
	for (const struct field *f = location->headers; f != location->headers + location->nheaders;
		f++)
		if (slice_eq(f->name, SLICE("vary"))) {
			if (join_vary(req, f->value) <= 0)
				r->fields[r->nfields++] = *f;
		} else if (adds_up(f->name) || field_find(r->fields, own, f->name) == NULL) {
			r->fields[r->nfields++] = *f;
		}
	return true;
}

int reply_cache_control(struct h2d_req *req, struct slice value)
{
	if (req->location->cache_control.n > 0)
		return 0;
	return reply_add(req, SLICE("cache-control"), value);
}

/* A value from the configuration is sent by reference, and so recognised. */
const struct conf_pos *reply_field_at(const struct h2d_req *req, const struct field *f)
{
	const struct location *l = req->location;

	if (f->value.p == req->site->transport_security.p)
		return &req->site->transport_security_at;
	if (l->at == NULL)
		return NULL;
	if (f->value.p == l->cache_control.p)
		return &l->at->cache_control;
	if (f->value.p == l->redirect.to.p)
		return &l->at->redirect;
	for (unsigned i = 0; i < l->nheaders; i++)
		if (f->value.p == l->headers[i].value.p)
			return &l->at->headers[i];
	return NULL;
}

/* RFC 6797, 7.2: never in cleartext. */
static void add_transport_security(struct h2d_req *req)
{
	static const struct slice name = SLICE_LIT("strict-transport-security");
	struct reply *r = &req->reply;

	if (req->site != NULL && req->site->transport_security.n > 0 &&
		field_find(r->fields, r->nfields, name) == NULL)
		r->fields[r->nfields++] = (struct field){ name, req->site->transport_security };
}

static void add_id(struct h2d_req *req)
{
	struct slice id = req_id_shown(req);
	struct reply *r = &req->reply;

	if (id.n > 0 && field_find(r->fields, r->nfields, req_id_field) == NULL)
		r->fields[r->nfields++] = (struct field){ req_id_field, id };
}

static void add_own(struct h2d_req *req, int status)
{
	struct reply *r = &req->reply;
	struct field *end;

	if (req->conn != NULL && req_client_https(req))
		add_transport_security(req);
	if (req->env->conf.request_ids)
		add_id(req);
	end = r->fields + r->nfields;
	if (!(r->said >> REPLY_SAID_DATE & 1))
		*end++ = (struct field){ SLICE("date"), req->env->date };
	if (!(r->said >> REPLY_SAID_SERVER & 1) && req->env->conf.server.n > 0)
		*end++ = (struct field){ SLICE("server"), req->env->conf.server };
	/* RFC 9110, 8.6: none with 204, and with 304 only that of a 200, so none. */
	if (status != 204 && status != 304 && r->body.left != BODY_UNKNOWN)
		*end++ = (struct field){ SLICE("content-length"), digits(r->body.left, r->length) };
	r->nfields = (unsigned)(end - r->fields);
}

/* Adds the headers of every response. False: memory is out. */
static bool complete(struct h2d_req *req, int status)
{
	const struct location *location = req->location;

	if (location != NULL && location->nremoved > 0)
		drop_configured(req);
	add_own(req, status);
	return location == NULL || (location->nheaders == 0 && location->cache_control.n == 0) ||
	       add_configured(req, status);
}

/* Drops the response, except a status that gives the reason. */
static int start_over(struct h2d_req *req, int status)
{
	body_close(&req->reply.body);
	reply_no_fields(&req->reply);
	complete(req, status);
	return status;
}

static bool head_too_long(const struct h2d_req *req)
{
	const struct reply *r = &req->reply;
	size_t n = 0;

	/* A long head is in the request's memory, and beyond the first of it. */
	if (req->arena.used < REPLY_HEAD_MAX / 2)
		return false;
	for (unsigned i = 0; i < r->nfields; i++)
		n += r->fields[i].name.n + r->fields[i].value.n;
	return n > REPLY_HEAD_MAX;
}

/* Completes the head, for the protocol to send. */
static void make_head(struct h2d_req *req, int status)
{
	struct reply *r = &req->reply;

	HANDLER_MUST(req, status >= 200 && status <= 599, STATUS);
	req->owes = false;
	if (!complete(req, status)) {
		log_peer(LEVEL_ERROR, "%.*s: no memory for response headers; sending 503",
			SLICE_ARG(req->target));
		status = start_over(req, ERR_NO_MEMORY->status);
	} else if (head_too_long(req)) {
		log_peer(LEVEL_INFO, "connection %s: %.*s: response headers too long",
			ADDR_HOST(req_client(req)), req->target.n < 100 ? (int)req->target.n : 100,
			req->target.p);
		/* The location is made from the target. */
		status = start_over(req, status / 100 == 3 ? 414 : 500);
	}
	r->status = status;
	r->content = req->method != H2D_HEAD && status != 204 && status != 304 && r->body.left > 0;
	r->ready = true;
	if (r->content && req->location != NULL && req->location->pace != NULL)
		pace_begin(req);
	req->record.first_byte_us = req_record_now(req->env->conf.timed);
	req_go(req, REQ_REPLY);
}

void reply_send(struct h2d_req *req, int status)
{
	make_head(req, status);
	req->stream->reply(req);
	req_body_over(req);
}

void reply_send_duplex(struct h2d_req *req, int status)
{
	make_head(req, status);
	req->reply.duplex = req->reply.content;
	/* Before the head: a client may wait for 100 (RFC 9110, 10.1.1). */
	if (req->reply.duplex)
		req->stream->consume(req, 0);
	else
		req_body_over(req);
	req->stream->reply(req);
}

void reply_ask(struct reply *r, struct lender *lender)
{
	if (r->ready && !r->content)
		r->body.left = 0;
	body_ask(&r->body, lender);
}

/* Answers with a status and no more, which needs no memory. */
static void reply_bare(struct h2d_req *req, int status)
{
	body_close(&req->reply.body);
	reply_no_fields(&req->reply);
	reply_send(req, status);
}

__attribute__((cold)) void reply_bad_value(struct h2d_req *req, const char *what)
{
	HANDLER_SLIP(req, "its %s is not a header value; sending 500", what);
	reply_bare(req, 500);
}

__attribute__((cold)) void reply_no_memory(struct h2d_req *req, size_t n)
{
	HANDLER_SLIP(req, "its request has no memory for %zu bytes; sending 503", n);
	reply_bare(req, ERR_NO_MEMORY->status);
}

bool reply_given_type(struct h2d_req *req, const char *type)
{
	struct slice given = slice_str(type);

	if (!field_value_valid(given)) {
		reply_bad_value(req, "content type");
		return false;
	}
	if (given.n == 0)
		return true;
	given = arena_dup(&req->arena, given);
	if (given.p != NULL && reply_type(req, given) == 0)
		return true;
	reply_no_memory(req, given.n);
	return false;
}

void reply_memory(
	struct h2d_req *req, int status, const char *type, struct slice bytes, struct ref *ref)
{
	if (!reply_given_type(req, type))
		return;
	body_close(&req->reply.body);
	body_memory(&req->reply.body, bytes.p, bytes.n, ref);
	reply_send(req, status);
}

void reply_bytes(struct h2d_req *req, int status, const char *type, struct slice bytes)
{
	struct slice given = slice_str(type);
	char *p;

	if (!field_value_valid(given)) {
		reply_bad_value(req, "content type");
		return;
	}
	/* One piece for both: a second allocation is 1 % of a short HTTP/1.1 request. */
	p = arena_alloc(&req->arena, given.n + bytes.n);
	if (p == NULL || (given.n > 0 && reply_type(req, slice_of(memcpy(p, given.p, given.n),
								 given.n)) < 0)) {
		reply_no_memory(req, bytes.n);
		return;
	}
	if (bytes.n > 0)
		memcpy(p + given.n, bytes.p, bytes.n);
	body_close(&req->reply.body);
	body_memory(&req->reply.body, p + given.n, bytes.n, NULL);
	reply_send(req, status);
}

void h2d_reply_bytes(
	struct h2d_req *req, int status, const char *type, const void *data, size_t len)
{
	HANDLER_CALL();
	if (HANDLER_MAY(req, ONCE))
		reply_bytes(req, status, type, HANDLER_SLICE(req, data, len));
}

/* Drops headers of an unsent representation; those of the error itself stay. */
static void drop_representation(struct reply *r)
{
	static const struct slice names[] = { SLICE_LIT("content-type"),
		SLICE_LIT("content-encoding"), SLICE_LIT("content-language"),
		SLICE_LIT("content-disposition"), SLICE_LIT("etag"), SLICE_LIT("last-modified") };
	unsigned kept = 0;

	for (unsigned i = 0; i < r->nfields; i++) {
		bool drop = false;

		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++)
			drop |= slice_eq(r->fields[i].name, names[j]);
		if (!drop)
			r->fields[kept++] = r->fields[i];
	}
	r->nfields = kept;
}

int reply_page_policy(struct h2d_req *req)
{
	static const struct slice name = SLICE_LIT("content-security-policy");

	if (field_find(req->reply.fields, req->reply.nfields, name) != NULL)
		return 0;
	return reply_add(req, name, page_policy);
}

/* The client's mistake, if status is for it; NULL: none. Texts of err.def need no escape. */
static const char *why_of(const struct h2d_req *req, int status)
{
	const struct err *err = req->record.error;

	return err != NULL && err->status == status && err->level == LEVEL_INFO ? err->text : NULL;
}

void reply_own_page(struct h2d_req *req, int status)
{
	const char *reason, *why;
	struct slice id = req_id_shown(req);
	char *text;

	/* The site's page failed for any reason: the error is the one it was for. */
	if (req->error_status != 0) {
		status = req->error_status;
		req->reply.nfields = req->error_fields;
	}
	reason = reason_of(status);
	why = why_of(req, status);
	text = arena_printf(&req->arena,
		"%s%d %s</title>\n</head>\n<body>\n<main>\n<h1>%d %s</h1>\n%s%s%s%s%.*s%s</main>\n"
		"</body>\n</html>\n",
		page_head, status, reason, status, reason, why != NULL ? "<p class=\"why\">" : "",
		why != NULL ? why : "", why != NULL ? "</p>\n" : "",
		id.n > 0 ? "<p class=\"why\">Request " : "", SLICE_ARG(id),
		id.n > 0 ? "</p>\n" : "");
	drop_representation(&req->reply);
	reply_page_policy(req);
	if (text != NULL)
		reply_memory(req, status, H2D_HTML, slice_str(text), NULL);
	else
		reply_no_memory(req, strlen(page_head));
}

void reply_error_page(struct h2d_req *req, int status, struct slice file, const struct conf_pos *at)
{
	/* From now on the handler has replied, though the page may take a while. */
	req->owes = false;
	drop_representation(&req->reply);
	req->error_status = status;
	req->error_fields = req->reply.nfields;
	req_body_over(req);
	TRACE_STEP(req, PAGE, at, "sends \"%.*s\"", SLICE_ARG(file));
	req->env->conf.error_page(req, status, file);
}

static void reply_page(struct h2d_req *req, int status)
{
	const struct site_error_page *page = NULL;

	req->owes = false;
	if (req->location != NULL && req->env->conf.error_page != NULL && req->error_status == 0)
		page = site_error_page(req->site, req->location, status);
	if (page == NULL)
		reply_own_page(req, status);
	else
		reply_error_page(req, status, page->file, &page->at);
}

void h2d_reply_error(struct h2d_req *req, int status)
{
	HANDLER_CALL();
	if (!HANDLER_MAY(req, ONCE))
		return;
	HANDLER_MUST(req, status >= 400 && status <= 599, STATUS);
	reply_page(req, status);
}

void reply_error(struct h2d_req *req, int status)
{
	if (!req->reply.ready)
		reply_page(req, status);
}

void reply_later(struct h2d_req *req, const struct err *err, uint64_t ms)
{
	const char *s = arena_printf(&req->arena, "%" PRIu64, (ms + 999) / 1000);

	req_fault(req, err);
	reply_add(req, SLICE("retry-after"), s != NULL && ms > 0 ? slice_str(s) : SLICE("1"));
	reply_error(req, err->status);
}
