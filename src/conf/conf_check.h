/*
 * conf_check: whether a conf that was read makes sense: values against each other and against the
 * file system. Called by conf_load last. Binds nothing and opens nothing but to see that it can.
 */
#ifndef H2D_CONF_CONF_CHECK_H
#define H2D_CONF_CONF_CHECK_H

#include "conf/conf_fault.h"

/* Members that are NULL are reported already; with faults->lost nothing is reported as missing. */
void conf_check(struct conf *conf, struct conf_faults *faults);

/* --- server blocks (conf_check_server.c) ------------------------------------------------------ */

/* Their names, roots, locations and error pages. Fields and address ranges are judged where HTTP is
 * known, in sites. */
void conf_check_servers(struct conf *conf, struct conf_faults *faults);

/* A path as a request has it once it is decoded and its dots are gone. */
bool conf_check_server_path(const char *s);

/* A path or a URL that a redirect may lead to. */
bool conf_check_server_target(const char *s);

/* --- their names (conf_check_name.c) ---------------------------------------------------------- */

/* Malformed names, and names of more than one server. */
void conf_check_names(struct conf *conf, struct conf_faults *faults);

/* Why a server cannot have that name; NULL: it can. */
const char *conf_check_name(const char *name);

#endif
