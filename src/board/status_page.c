/*
 * status_page: GET /status and /status/connections on admin listeners: the pages for people, files
 * of src/board/page/ that the build embeds and hashes. They are the same for every request: their
 * scripts ask for /status.json and /status/connections.json.
 */
#include "board/admin.h"
#include "http/page.h"
#include "src/board/page_parts.h"

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
