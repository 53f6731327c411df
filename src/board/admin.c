/* admin: a page is in memory of its own: all workers' facts may exceed a request's arena. */
#include "board/admin.h"

#include <stdlib.h>

#include "http/page.h"
#include "src/board/page_parts.h"

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

/* --- pages for people ------------------------------------------------------------------------- */

/*
 * GET /status and /status/connections: files of src/board/page/ that the build embeds and hashes,
 * the same for every request: their scripts fetch /status.json and /status/connections.json.
 */

static const struct slice policy = SLICE_LIT(
	"default-src 'none'; img-src data:; style-src " PAGE_CSS_HASH " " STATUS_CSS_HASH "; "
	"script-src " HUMAN_JS_HASH " " STATUS_JS_HASH " " CONNECTIONS_JS_HASH
	"; connect-src 'self'; "
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'");

static void status_page_start(struct h2d_req *req, void *state)
{
	bool connections = slice_eq(req->path, SLICE("/status/connections"));
	struct strbuf t = { 0 };

	(void)state;
	strbuf_printf(&t, "%sh2d: %s</title>\n<style>%s</style>\n</head>\n<body>\n%s", page_head,
		connections ? "connections" : "status", STATUS_CSS,
		connections ? CONNECTIONS_HTML : STATUS_HTML);
	strbuf_printf(&t, "<script>%s</script>\n<script>%s</script>\n</body>\n</html>\n", HUMAN_JS,
		connections ? CONNECTIONS_JS : STATUS_JS);
	reply_add(req, SLICE("content-security-policy"), policy);
	admin_reply(req, "text/html; charset=utf-8", &t);
}

const struct h2d_handler h2d_handler_status_page = {
	.name = "status_page",
	.scope = H2D_ON_ADMIN,
	.start = status_page_start,
};
