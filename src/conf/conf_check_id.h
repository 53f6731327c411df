/*
 * conf_check_id: the name of this machine among several. Called by conf_check.
 */
#ifndef H2D_CONF_CONF_CHECK_ID_H
#define H2D_CONF_CONF_CHECK_ID_H

#include "conf/conf_fault.h"

enum { CONF_ID_MAX = 64 }; /* bytes of server-id */

/* As conf_check(): server-id; auto becomes the host's name. */
void conf_check_id(struct conf *conf, struct conf_faults *faults);

#endif
