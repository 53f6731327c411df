/*
 * user_access: warns of the configuration's files and directories that the workers' user may not
 * open. None of it is a fault, since files may come later.
 */
#pragma once

#include "conf/conf.h"
#include "sandbox/privs.h"

/*
 * Calls warn once per problem, from a child process, whose output must not need the caller's
 * memory; blocks until that is done, a few seconds at most. conf has no fault.
 */
void user_access_check(
	const struct conf *conf, const struct privs *privs, conf_fault_fn *warn, void *ctx);
