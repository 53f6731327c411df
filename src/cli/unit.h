/*
 * unit: what h2d.service of systemd keeps from the master, and which files of a configuration that
 * concerns. Main calls it for -t, which sees files as the operator's shell does.
 */
#ifndef H2D_CLI_UNIT_H
#define H2D_CLI_UNIT_H

#include "conf/conf.h"

/* A warning for each file that the unit keeps from the master, with the cure, by what `systemctl
 * show h2d.service` says; none where there is no systemctl, no such unit, or one that starts h2d
 * with another file. */
void unit_check_installed(const struct conf *conf, conf_fault_fn *warn, void *ctx);

#endif
