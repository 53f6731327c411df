/*
 * changes: reloads by itself when files of the serving generation have changed
 * (conf/conf.h), or hosts' directories have come or gone (conf/conf_hosts.h). The first
 * change is used at once, further ones once a minute at most, and more slowly while older
 * generations finish downloads. It also renews the keys of session tickets (tls/tls_tickets.h):
 * every twelve hours, or those of a file with each generation.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/loop.h"

struct master;

struct changes {
	uint64_t looked_ms; /* time of the last check */
	uint64_t seen;      /* conf_watched_look() at that time */
	uint64_t loaded;    /* conf_watched_look() of the serving generation */
	uint64_t content;   /* conf_watched_read() of those; 0: unknown yet */
	uint64_t tried;     /* conf_watched_look() at the last automatic reload */
	uint64_t tried_ms;  /* and its time */
	uint64_t taken_ms;  /* start of the last generation reloaded so; 0: none */
	bool wished;        /* since the last change of generations */
	bool waits;         /* files have changed within the pause */
};

/* Another generation serves: its files count from now on, and workers get the keys of its file. */
void changes_serve(struct master *m);

/* Once a second. */
void changes_second(struct master *m);
