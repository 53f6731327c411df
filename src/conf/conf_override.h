/*
 * conf_override: what the command line set, laid over a conf that was read, and the defaults where
 * neither says anything. Called by conf_load between reading and checking.
 */
#ifndef H2D_CONF_CONF_OVERRIDE_H
#define H2D_CONF_CONF_OVERRIDE_H

#include "conf/conf_fault.h"

/* Afterwards conf has its listeners and at least one server. */
void conf_override(struct conf *conf, const struct conf_override *ov, struct conf_faults *faults);

#endif
