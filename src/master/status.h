/*
 * status: PIDFILE.status, in which the master reports how reloads and upgrades ended, so that `h2d
 *-s` can wait for them. Lines of "key value":
 *
 *	request 7       the newest finished request; 0 is the start
 *	generation 5    the serving one
 *	result failed   ok | failed, of that request
 *	running 8       the running request, 0: none
 *	replaced 4      the generation that it replaced, 0: none
 *	gone 4 812 0 0  an ended generation: connections that were drained, cut, refused
 *	upgrade 6 ok    the newest request for an upgrade, and its outcome; 0: none
 *	drained 1       -s drain has the health check answer 503; else no such line
 *	text /etc/h2d/h2d.conf:12: …    once per line of the report
 *
 * A request is numbered, and "running" written, before the configuration is read. So a process that
 * reads this file, sends a signal, and waits for a request above max(request, running) to finish,
 * can be sure that its configuration was read: by its own request, or by one that began later.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "board/board_health.h"

struct child;
struct gen;
struct master;

enum { STATUS_TEXT = 4096, STATUS_GONE = 8 };

/* The connections of a generation, and their ends. */
struct status_gone {
	uint32_t generation; /* 0: none */
	uint32_t drained, cut, refused;
};

struct status {
	uint32_t request, running, generation, replaced, upgrade;
	struct status_gone gone[STATUS_GONE]; /* the last one first */
	bool ok;
	bool upgraded;          /* the upgrade's end */
	bool drained;           /* at the end of that request */
	char text[STATUS_TEXT]; /* lines, separated by newlines */
};

/* Adds a line to s->text; omits the part that does not fit. */
void status_add(struct status *s, const char *line);

/* By rename, so that no reader sees half of it. 0, or -errno. */
int status_write(const struct status *s, const char *pid_file);

/* 0, -errno, or -EPROTO when it is no such file. */
int status_read(struct status *s, const char *pid_file);
void status_remove(const char *pid_file);

/* --- outcomes: reports to `h2d -s`, gathered in m->outcome.next ------------------------------- */

/* A request begins: called before the configuration is read. */
void outcome_begin(struct master *m);

/* The request is over; writes that to the file. */
void outcome_end(struct master *m, bool ok);

/* The generation being built has replaced `old`: adds a line about it to the next outcome. */
void outcome_replaced(struct master *m, const struct gen *old);

/* c's process, which drained, has ended: adds up the ends of its connections. */
void outcome_add(struct gen *g, const struct child *c);

/* The last process of g has ended: adds a line about its connections. */
void outcome_gone(struct master *m, const struct gen *g);

/*
 * health: tells load balancers if they may send requests here. It keeps the facts of
 * board/board_health.def in the scoreboard, for workers, and logs each change.
 */

void health_set(struct master *m, enum board_health fact, bool holds);

bool health_has(const struct master *m, enum board_health fact);

/* Checks for configured unhealthy states; every second, and at a new image. */
void health_look(struct master *m);
void health_begin(struct master *m);

/*
 * Takes the machine out of its load balancers, or puts it back, for `h2d -s drain` and `undrain`: a
 * request with an outcome. h2d keeps serving. Only while no other request is under way.
 */
void health_drain(struct master *m, bool drained);
