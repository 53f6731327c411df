/*
 * conf_watched: the files beside h2d.conf whose change requires a reload: certificates, their keys
 * and staples, authorities of clients and their lists, keys of session tickets.
 */
#pragma once

#include "conf/conf.h"

typedef void conf_watched_fn(void *ctx, const char *path);

/* Calls fn with the path of each, some more than once. */
void conf_watched_each(const struct conf *conf, conf_watched_fn *fn, void *ctx);

/* A number for the state of all, by device, inode, size and times, and of conf_hosts_look(): if it
 * differs from conf->watched_seen one was written or replaced, or a host came or went. */
uint64_t conf_watched_look(const struct conf *conf, uint64_t hosts);

/* A number for their content and hosts; reads all of them, and may block. Never 0. */
uint64_t conf_watched_read(const struct conf *conf, uint64_t hosts);
