/*
 * conf_check: whether a conf that was read makes sense: values against each other and against the
 * file system. Called by conf_load last. Binds nothing and opens nothing but to see that it can.
 */
#ifndef H2D_CONF_CONF_CHECK_H
#define H2D_CONF_CONF_CHECK_H

#include "conf/conf_fault.h"

/* Members that are NULL are reported already; with faults->lost nothing is reported as missing. */
void conf_check(struct conf *conf, struct conf_faults *faults);

#endif
