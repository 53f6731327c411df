/*
 * user_access: warns of files and folders that the configuration names and the workers' user may
 * not open: roots, folders of uploads, password files, pages, paths of handlers. None of it is a
 * fault, since files may come later; but nothing else would say it before the first request does.
 */
#ifndef H2D_MACHINE_USER_ACCESS_H
#define H2D_MACHINE_USER_ACCESS_H

#include "conf/conf.h"
#include "sandbox/privs.h"

/*
 * Calls warn once per thing that is wrong, from a child process, whose output must not need the
 * caller's memory; blocks until that is done, a few seconds at most. conf has no fault.
 */
void user_access_check(
	const struct conf *conf, const struct privs *privs, conf_fault_fn *warn, void *ctx);

#endif
