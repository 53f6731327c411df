/*
 * conf_balance: which values of balance a value of dispatch goes with. conf_check() calls it; what
 * others may ask is in conf.h.
 */
#ifndef H2D_CONF_CONF_BALANCE_H
#define H2D_CONF_CONF_BALANCE_H

#include "conf/conf.h"
#include "conf/conf_fault.h"

/* A fault where balance is none that dispatch has. */
void conf_balance_check(const struct conf *conf, struct conf_faults *faults);

#endif
