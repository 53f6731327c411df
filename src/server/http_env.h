/*
 * http_env: the facts shared by all requests of one process (struct http_env of request/req.h). A
 * worker and explain answer alike with it.
 */
#pragma once

#include "conf/conf.h"
#include "http/date.h"
#include "request/req.h"

/*
 * Fills in conf and the date of env, whose other members are the caller's, and stay. date: DATE_LEN
 * + 1 bytes, written here, and by the caller every second. c and date outlive env.
 */
void http_env_init(struct http_env *env, const struct conf *c, uint16_t https_port, char *date);
