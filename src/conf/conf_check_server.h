/*
 * conf_check_server: whether the server blocks of a conf make sense: their names, roots, locations
 * and error pages. Called by conf_check. What h2d itself says in HTTP (fields, address ranges) is
 * judged where HTTP is known, in server/sites.
 */
#ifndef H2D_CONF_CONF_CHECK_SERVER_H
#define H2D_CONF_CONF_CHECK_SERVER_H

#include "conf/conf_fault.h"

/* As conf_check(). */
void conf_check_servers(struct conf *conf, struct conf_faults *faults);

/* A path as a request has it once it is decoded and its dots are gone. */
bool conf_check_server_path(const char *s);

/* A path or a URL that a redirect may lead to. */
bool conf_check_server_target(const char *s);

#endif
