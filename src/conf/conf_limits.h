/*
 * conf_limits: limits by rate and number of clients that are set without anything to act on. Called
 * by conf_warn.
 */
#ifndef H2D_CONF_CONF_LIMITS_H
#define H2D_CONF_CONF_LIMITS_H

#include "conf/conf_fault.h"

/* Warns of requests-burst, limit-exempt and limit-dry-run where they do nothing; said: of conf. */
void conf_limits_check(
	const struct conf *conf, struct conf_said *said, conf_fault_fn *warn, void *ctx);

#endif
