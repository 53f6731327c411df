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

void http_env_init(struct http_env *env, const struct http_parts *parts)
{
	static const struct slice servers[] = { [TOKENS_VERSION] =
							SLICE_LIT("h2d/" PACKAGE_VERSION),
		[TOKENS_NAME] = SLICE_LIT("h2d"),
		[TOKENS_OFF] = SLICE_LIT("") };
	const struct conf *conf = parts->conf;
	time_t now = clock_wall().tv_sec;

	date_format(now, parts->date);
	*env = (struct http_env){
		.sites = parts->sites,
		.conf.https_port = parts->https_port,
		.conf.routes = &routes_table,
		.conf.fallback = &h2d_handler_files,
		.conf.health = &h2d_handler_health,
		.conf.proxy = &upstream_handler,
		.date = slice_of(parts->date, DATE_LEN),
		.date_s = now,
		.conf.server = servers[conf->server_tokens],
		.conf.header_size = conf->limits.client_header_size,
		.conf.header_fields = (unsigned)conf->limits.client_header_fields,
		.conf.instance_name = slice_str(conf->instance_name),
		.conf.request_ids = conf->request_id,
		.conf.handler_ms = conf->timeouts.handler * 1000,
		.loop = parts->loop,
		.api = parts->api,
		.files = parts->files,
		.conf.error_page = reply_file_error_page,
		.auth_queue = parts->auth_queue,
		.accounts = parts->accounts,
		.tally = parts->tally,
	};
}
