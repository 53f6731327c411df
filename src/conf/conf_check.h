/*
 * conf_check: checks a conf that was read: values against each other and against the file system.
 * Called by conf_load last. It never binds, and opens files only to check that it can.
 */
#pragma once

#include "conf/conf_fault.h"

/* NULL members are reported already; with faults->lost no value is reported as missing. */
void conf_check(struct conf *conf, struct conf_faults *faults);

/* --- server blocks (conf_check_server.c) ------------------------------------------------------ */

/* Checks names, roots, locations and error pages. Headers and address ranges are checked with
 * HTTP's rules, in sites. */
void conf_check_servers(struct conf *conf, struct conf_faults *faults);

/* True for a path of a decoded request, without dot segments. */
bool conf_check_server_path(const char *s);

/* True for a path or a URL that a redirect may lead to. */
bool conf_check_server_target(const char *s);

/* --- their names (conf_check_name.c) ---------------------------------------------------------- */

/* Reports malformed names, and names of more than one server. */
void conf_check_names(struct conf *conf, struct conf_faults *faults);

/* Why a server cannot have that name; NULL: no reason. */
const char *conf_check_name(const char *name);
