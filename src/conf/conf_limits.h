/*
 * conf_limits: the limits by rate and number of clients, as the configuration has them: whether
 * there are any, and what is set beside them without anything to act on.
 */
#ifndef H2D_CONF_CONF_LIMITS_H
#define H2D_CONF_CONF_LIMITS_H

#include "conf/conf_fault.h"

/* Whether one of them is set, in section limits, a server or a location: one that limit-exempt is
 * for. */
bool conf_limits_any(const struct conf *conf);

/* Warns of requests-burst, limit-exempt and limit-dry-run where they do nothing; said: of conf. */
void conf_limits_check(
	const struct conf *conf, struct conf_said *said, conf_fault_fn *warn, void *ctx);

#endif
