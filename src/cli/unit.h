/*
 * unit: what h2d.service of systemd keeps from the master, and which files of a configuration that
 * concerns. Main calls it for -t, which sees files as the operator's shell does.
 */
#ifndef H2D_CLI_UNIT_H
#define H2D_CLI_UNIT_H

#include <stdbool.h>

#include "conf/conf.h"

enum { UNIT_TEXT = 16384 };

/* The settings of a unit that matter; strings point into text. */
struct unit {
	const char *exec, *user;
	const char *system, *home; /* ProtectSystem=, ProtectHome= */
	const char *writable;      /* ReadWritePaths= */
	const char *logs, *run;    /* LogsDirectory=, RuntimeDirectory= */
	const char *capabilities;
	const char *tmp; /* PrivateTmp= */
	char text[UNIT_TEXT];
};

/* Reads lines of "Key=value", as `systemctl show` writes them, from u->text. False where they are
 * of no unit that is loaded. */
bool unit_parse(struct unit *u);

/* Whether the unit starts h2d with this configuration file; dflt: the one that needs no -f. */
bool unit_starts(const struct unit *u, const char *file, const char *dflt);

/* A warning for each file that the unit keeps from the master, with the cure. */
void unit_check(const struct unit *u, const struct conf *conf, conf_fault_fn *warn, void *ctx);

/* All three, with what `systemctl show h2d.service` says; nothing where there is no systemctl, or
 * no such unit, or one that starts h2d with another file. */
void unit_check_installed(const struct conf *conf, conf_fault_fn *warn, void *ctx);

#endif
