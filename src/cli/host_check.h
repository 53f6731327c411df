/*
 * host_check: warns of what the configuration asks of this machine and the machine does not have: a
 * cache larger than the memory, a port that takes a right. None of it is a fault, since -t may run
 * elsewhere than h2d; but nothing else would say it before the server is in trouble.
 */
#ifndef H2D_CLI_HOST_CHECK_H
#define H2D_CLI_HOST_CHECK_H

#include "conf/conf.h"

/* Calls warn once per thing that is wrong. Opens no socket, changes nothing. */
void host_check(const struct conf *conf, conf_fault_fn *warn, void *ctx);

#endif
