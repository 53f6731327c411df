/*
 * changes: a reload that nobody has to ask for, when files of the generation that serves have
 * changed (conf/conf_watched.h), or hosts' folders have come or gone (conf/conf_hosts.h). The first
 * change is taken up at once, further ones once a minute at most, and more slowly while generations
 * of before still finish downloads.
 */
#ifndef H2D_MASTER_CHANGES_H
#define H2D_MASTER_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "event/loop.h"

struct master;

struct changes {
	struct watch events;  /* of inotify; not active: there is none */
	struct timer look;    /* armed: something in a folder has changed */
	uint64_t looked_ms;   /* when files were looked at last */
	uint64_t seen;        /* conf_watched_look() by then */
	uint64_t loaded;      /* as the generation that serves has read them */
	uint64_t content;     /* conf_watched_read() of those; 0: not known yet */
	uint64_t tried;       /* how they were when a reload was wished for */
	uint64_t tried_ms;    /* and when that was */
	uint64_t hosts_ms;    /* when hosts were looked for last */
	uint64_t hosts_tried; /* conf_hosts_look() when a reload was wished for */
	uint64_t taken_ms;    /* when a generation came to serve that was wished for; 0: none did */
	bool wished;          /* since another generation came to serve */
	bool waits;           /* files have changed within the pause */
};

void changes_init(struct master *m);

/* Another generation serves: its files are watched from now on. */
void changes_serve(struct master *m);

/* Once a second. */
void changes_second(struct master *m);

void changes_fini(struct master *m);

#endif
