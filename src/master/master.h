/*
 * master: the process that an operator starts and signals. It never reads a request or a file
 * tree.
 */
#pragma once

#include "conf/conf.h"
#include "upgrade/passed.h"

/* Runs until a signal ends it; the exit status of the program, which an upgrade runs again. */
int master_run(const struct conf_override *ov, const struct program *program);
