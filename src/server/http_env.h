/*
 * http_env: the facts shared by all requests of one process (struct http_env of request/req.h). A
 * worker and explain answer alike with it.
 */
#pragma once

#include "conf/conf.h"
#include "http/date.h"
#include "request/req.h"

struct http_parts {
	const struct conf *conf;
	const struct sites *sites;
	uint16_t https_port;
	char *date; /* DATE_LEN + 1 bytes, written here, and by the caller every second */
	struct loop *loop;
	struct api *api; /* NULL: no handler is started */
	struct files *files;
	struct auth_queue *auth_queue;
	struct accounts *accounts; /* NULL: none are kept */
	struct tally *tally;       /* NULL: no rates are held */
};

/* All parts outlive env. Members that are not set are 0. */
void http_env_init(struct http_env *env, const struct http_parts *parts);
