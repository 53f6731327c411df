/*
 * fault: how a configuration fault is written: on stderr, in the log and in the status file. Every
 * place that reports faults formats them here, so that they read the same.
 */
#ifndef H2D_CONF_FAULT_H
#define H2D_CONF_FAULT_H

#include <stddef.h>

#include "conf/conf.h"

enum { FAULT_TEXT = 1024 };

/* "FILE:LINE: message", "command line: message", or the bare message. */
void fault_format(const struct conf_pos *pos, const char *message, char *buf, size_t size);

/* What goes before that on stderr: nothing before FILE:LINE, which editors find, else the name. */
const char *fault_prefix(const struct conf_pos *pos);

#endif
