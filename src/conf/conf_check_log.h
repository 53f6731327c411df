/*
 * conf_check_log: whether the logs of a conf can be: the error log, the access logs of the top
 * level and of each server, and the paths that these leave out. Called by conf_check.
 */
#ifndef H2D_CONF_CONF_CHECK_LOG_H
#define H2D_CONF_CONF_CHECK_LOG_H

#include "conf/conf_fault.h"

/* As conf_check(). */
void conf_check_logs(struct conf *conf, struct conf_faults *faults);

#endif
