/*
 * conf_hosts: a server whose root has ${host} in it becomes one server for each folder there is in
 * its place. So the host of a request is looked up among names and never becomes a path, and each
 * host has a tree of its own, which is cached and watched, and which no link leads out of. Its
 * access log and certificate may have ${host} in their names, too.
 */
#ifndef H2D_CONF_CONF_HOSTS_H
#define H2D_CONF_CONF_HOSTS_H

#include "conf/conf_fault.h"

/* A number for which folders and certificates of hosts there are: another one than
 * conf->hosts_seen asks for a reload. May block. */
uint64_t conf_hosts_look(const struct conf *conf);

/* Behind what the file and the command line say, before the checks. */
void conf_hosts_expand(struct conf *conf, struct conf_faults *faults);

#endif
