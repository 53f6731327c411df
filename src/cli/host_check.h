/*
 * host_check: warns of a port that takes a right which this process has not. It is no fault, since
 * -t may run elsewhere than h2d; a start finds out by itself.
 */
#ifndef H2D_CLI_HOST_CHECK_H
#define H2D_CLI_HOST_CHECK_H

#include "conf/conf.h"

/* Calls warn once per thing that is wrong. Opens no socket, changes nothing. */
void host_check(const struct conf *conf, conf_fault_fn *warn, void *ctx);

#endif
