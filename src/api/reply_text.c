/*
 * reply_text: the short replies of h2d/reply.h: text, JSON, a redirect, a cookie, and content that
 * is not copied. Called by handlers; each is made of calls of request/reply.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "request/handler_call.h"
#include "request/req_client.h"

void h2d_reply_text(struct h2d_req *req, int status, const char *text)
{
	HANDLER_CALL();
	if (HANDLER_MAY(req, ONCE))
		reply_bytes(req, status, H2D_TEXT, slice_str(text));
}

void h2d_reply_json(struct h2d_req *req, int status, const char *json)
{
	HANDLER_CALL();
	if (HANDLER_MAY(req, ONCE))
		reply_bytes(req, status, H2D_JSON, slice_str(json));
}

void h2d_reply_printf(struct h2d_req *req, int status, const char *type, const char *fmt, ...)
{
	char *text;
	va_list args;

	HANDLER_CALL();
	if (!HANDLER_MAY(req, ONCE))
		return;
	va_start(args, fmt);
	text = arena_vprintf(&req->arena, fmt, args);
	va_end(args);
	if (text != NULL)
		reply_memory(req, status, type, slice_str(text), NULL);
	else
		reply_no_memory(req, strlen(fmt));
}

void h2d_reply_redirect(struct h2d_req *req, int status, const char *location)
{
	HANDLER_CALL();
	if (!HANDLER_MAY(req, ONCE))
		return;
	HANDLER_MUST(req, status >= 300 && status <= 308 && status != 304, STATUS);
	if (!field_value_valid(slice_str(location)))
		reply_bad_value(req, "location");
	else if (h2d_reply_header(req, "location", location) < 0)
		reply_no_memory(req, strlen(location));
	else
		reply_error(req, status);
}

int h2d_reply_cookie(struct h2d_req *req, const char *name, const char *value, int64_t max_age)
{
	const char *secure = req_client_https(req) ? "; Secure" : "";
	char *text, age[40] = "";

	HANDLER_CALL();
	if (name[0] == '\0' || strpbrk(name, " ;,=\"\\") != NULL ||
		strpbrk(value, " ;,\"\\") != NULL)
		return -1;
	if (max_age >= 0)
		snprintf(age, sizeof(age), "; Max-Age=%" PRId64, max_age);
	text = arena_printf(
		&req->arena, "%s=%s; Path=/%s; HttpOnly; SameSite=Lax%s", name, value, age, secure);
	return text != NULL ? h2d_reply_header(req, "set-cookie", text) : -1;
}

/* --- content that is not copied --------------------------------------------------------------- */

struct owned {
	struct ref ref;
	void *data;
	void (*release)(void *data);
};

static void owned_release(struct ref *ref)
{
	struct owned *o = LIST_ENTRY(ref, struct owned, ref);

	o->release(o->data);
	free(o);
}

void h2d_reply_memory(struct h2d_req *req, int status, const char *type, const void *data,
	size_t len, void (*release)(void *data))
{
	struct owned made = { .data = (void *)(uintptr_t)data, .release = release };
	struct owned *o = release != NULL ? malloc(sizeof(*o)) : NULL;

	HANDLER_CALL();
	if (o != NULL) {
		*o = made;
		ref_init(&o->ref, owned_release);
	}
	if (!HANDLER_MAY(req, ONCE))
		;
	else if (release != NULL && o == NULL)
		reply_no_memory(req, len);
	else
		reply_memory(req, status, type, HANDLER_SLICE(req, data, len),
			o != NULL ? &o->ref : NULL);
	if (o != NULL)
		ref_put(&o->ref);
	else if (release != NULL)
		release(made.data);
}
