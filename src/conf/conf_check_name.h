/*
 * conf_check_name: the names that server blocks answer: their titles and server-name. Called by
 * conf_check_server.
 */
#ifndef H2D_CONF_CONF_CHECK_NAME_H
#define H2D_CONF_CONF_CHECK_NAME_H

#include "conf/conf_fault.h"

/* As conf_check(): malformed names, and names of more than one server. */
void conf_check_names(struct conf *conf, struct conf_faults *faults);

/* Why a server cannot have that name; NULL: it can. */
const char *conf_check_name(const char *name);

#endif
