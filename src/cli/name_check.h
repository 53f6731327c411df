/* name_check: looks up the names of applications once, for the operator. */
#pragma once

#include "conf/conf_fault.h"
#include "rules/site.h"

/* Warns of each name without an address, at its line. Blocks as long as the name servers do. */
void name_check(const struct sites *sites, conf_fault_fn *warn, void *ctx);
