/*
 * http_env: the one place that names the compiled routes and the handlers that the request core
 * falls back on. Called by worker.c and explain.c when they start; it has no state.
 */
#include "server/http_env.h"

#include "base/clock.h"
#include "files/reply_file.h"
#include "upstream/exchange.h"

extern const struct route_table routes_table;      /* made from routes.def */
extern const struct h2d_handler h2d_handler_files; /* the document root */
extern const struct h2d_handler h2d_handler_health;

void http_env_init(struct http_env *env, const struct conf *c, uint16_t https_port, char *date)
{
	static const struct slice servers[] = { [TOKENS_VERSION] =
							SLICE_LIT("h2d/" PACKAGE_VERSION),
		[TOKENS_NAME] = SLICE_LIT("h2d"),
		[TOKENS_OFF] = SLICE_LIT("") };

	env->date_s = clock_wall().tv_sec;
	date_format(env->date_s, date);
	env->date = slice_of(date, DATE_LEN);
	env->conf = (struct http_conf){
		.https_port = https_port,
		.routes = &routes_table,
		.fallback = &h2d_handler_files,
		.health = &h2d_handler_health,
		.proxy = &upstream_handler,
		.server = servers[c->server_tokens],
		.header_size = c->limits.client_header_size,
		.header_fields = (unsigned)c->limits.client_header_fields,
		.instance_name = slice_str(c->instance_name),
		.request_ids = c->request_id,
		.handler_ms = c->timeouts.handler * 1000,
		.error_page = reply_file_error_page,
	};
}
