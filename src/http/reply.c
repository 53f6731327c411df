/*
 * reply: puts a response's head together and hands it to the protocol. Called by handlers (h2d_reply_*)
 * and by the file replies of cache/. A reply is given once; afterwards its head is never touched.
 */
#include <stdio.h>

#include "http/req.h"

static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{ 301, "Moved Permanently" },
	{ 308, "Permanent Redirect" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 409, "Conflict" },
	{ 411, "Length Required" },
	{ 412, "Precondition Failed" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 415, "Unsupported Media Type" },
	{ 416, "Range Not Satisfiable" },
	{ 421, "Misdirected Request" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 503, "Service Unavailable" },
	{ 507, "Insufficient Storage" },
};

static const char *reason_of(int status)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Error";
}

int reply_add(struct h2d_req *req, struct slice name, struct slice value)
{
	/* date, server and content-length always find room. */
	if (req->reply.nfields >= REPLY_FIELDS_MAX - 3)
		return -1;
	req->reply.fields[req->reply.nfields++] = (struct field){ name, value };
	return 0;
}

int h2d_reply_field(struct h2d_req *req, const char *name, const char *value)
{
	struct slice n = slice_str(name), v = slice_str(value);

	H2D_ASSERT(!req->reply.ready);
	if (!field_name_valid(n) || !field_value_valid(v))
		return -1;
	n = arena_dup(&req->arena, n);
	v = arena_dup(&req->arena, v);
	if (n.p == NULL || v.p == NULL)
		return -1;
	return reply_add(req, n, v);
}

static struct slice digits(uint64_t v, char buf[20])
{
	char *p = buf + 20;

	do
		*--p = (char)('0' + v % 10);
	while ((v /= 10) != 0);
	return slice_of(p, (size_t)(buf + 20 - p));
}

void reply_send(struct h2d_req *req, int status)
{
	struct reply *r = &req->reply;

	H2D_ASSERT(!r->ready && status >= 200 && status <= 599);
	r->status = status;
	r->fields[r->nfields++] = (struct field){ SLICE("date"), req->env->date };
	r->fields[r->nfields++] = (struct field){ SLICE("server"), req->env->server };
	/* RFC 9110, 8.6: none with 204, and with 304 only what a 200 would have said, so none. */
	if (status != 204 && status != 304 && r->body.left != BODY_UNKNOWN)
		r->fields[r->nfields++] = (struct field){ SLICE("content-length"),
			digits(r->body.left, r->length) };
	r->content = req->method != H2D_HEAD && status != 204 && status != 304 &&
		     r->body.left > 0;
	r->ready = true;
	req_go(req, REQ_REPLY);
	req->stream->reply(req);
}

/* What can always be said: a status and no more. */
static void reply_bare(struct h2d_req *req, int status)
{
	body_close(&req->reply.body);
	req->reply.nfields = 0;
	reply_send(req, status);
}

static void reply_owned(struct h2d_req *req, int status, const char *type, struct slice data)
{
	if (data.p == NULL ||
		(type != NULL && reply_add(req, SLICE("content-type"), slice_str(type)) < 0)) {
		reply_bare(req, ERR_NO_MEMORY->status);
		return;
	}
	body_close(&req->reply.body);
	body_memory(&req->reply.body, data.p, data.n, NULL);
	reply_send(req, status);
}

void h2d_reply_bytes(struct h2d_req *req, int status, const char *type, const void *data, size_t len)
{
	char *own_type = type != NULL ? arena_strdup(&req->arena, type) : NULL;
	struct slice own = arena_dup(&req->arena, slice_of(data, len));

	if (type != NULL && own_type == NULL)
		own.p = NULL;
	reply_owned(req, status, own_type, own);
}

void h2d_reply_error(struct h2d_req *req, int status)
{
	const char *reason = reason_of(status);
	char *text = arena_printf(&req->arena,
		"<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
		"<meta name=\"color-scheme\" content=\"light dark\">"
		"<title>%d %s</title>\n<h1>%d %s</h1>\n",
		status, reason, status, reason);

	reply_owned(req, status, "text/html; charset=utf-8", slice_of(text, text ? strlen(text) : 0));
}

void h2d_reply_status(struct h2d_req *req)
{
	struct slice json = { 0 };

	if (req->env->status != NULL)
		json = req->env->status(req->env, &req->arena);
	reply_owned(req, 200, "application/json", json);
}
