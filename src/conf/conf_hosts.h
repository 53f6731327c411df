/*
 * conf_hosts: a server whose root has ${host} in it becomes one server for each directory in its
 * place. So the host of a request is looked up among names and never becomes a path, and each host
 * has its own tree, which is cached and watched, and which no link leaves. Its access log and
 * certificate may have ${host} in their names, too.
 */
#pragma once

#include "conf/conf_fault.h"

/* A number for the present directories and certificates of hosts: if it differs from
 * conf->hosts_seen a reload is due. May block. */
uint64_t conf_hosts_look(const struct conf *conf);

/* Called after the file and the command line, before the checks. */
void conf_hosts_expand(struct conf *conf, struct conf_faults *faults);
