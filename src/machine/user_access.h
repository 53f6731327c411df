/*
 * user_access: warns of what the configuration names and the workers will not be able to read:
 * document roots, password files and error pages are tried as the user that workers become, and a
 * private key is named that everybody may read, or that lies where workers read. None of it is a
 * fault, since files may come later; but nothing else would say it before the first request does.
 */
#ifndef H2D_MACHINE_USER_ACCESS_H
#define H2D_MACHINE_USER_ACCESS_H

#include "conf/conf.h"
#include "sandbox/privs.h"

/*
 * Calls warn once per thing that is wrong, from a child process, whose output must not need the
 * caller's memory; blocks until that is done, a few seconds at most.
 */
void user_access_check(
	const struct conf *conf, const struct privs *privs, conf_fault_fn *warn, void *ctx);

#endif
