/*
 * signal_cmd: `h2d -s NAME`: finds the running master by its pid file, signals it, and waits for
 * the outcome. The command runs in a separate process that does not serve.
 */
#pragma once

#include <stdbool.h>

#include "conf/conf.h"

bool signal_cmd_known(const char *name);

/* The exit status of the program: 0 when the master did as asked. */
int signal_cmd(const char *name, bool wait, const struct conf_override *ov);
