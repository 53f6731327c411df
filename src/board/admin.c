/*
 * admin: answers with a text in memory of its own, which is freed when it is sent: what all workers
 * have to tell may be more than the arena of a request holds. The handlers of this folder call it.
 */
#include "board/admin.h"

#include <stdlib.h>

/* A text on its way to the client. */
struct text {
	struct ref ref;
	char *p;
};

static void release(struct ref *ref)
{
	struct text *text = (struct text *)ref;

	free(text->p);
	free(text);
}

void admin_reply(struct h2d_req *req, const char *type, struct strbuf *t)
{
	struct text *text = t->failed ? NULL : malloc(sizeof(*text));

	if (text == NULL || reply_add(req, SLICE("content-type"), slice_str(type)) < 0 ||
		reply_add(req, SLICE("cache-control"), SLICE("no-store")) < 0) {
		free(text);
		strbuf_fini(t);
		h2d_reply_error(req, 503);
		return;
	}
	ref_init(&text->ref, release);
	text->p = t->p;
	body_memory(&req->reply.body, t->p, t->n, &text->ref);
	ref_put(&text->ref);
	*t = (struct strbuf){ 0 };
	reply_send(req, 200);
}
