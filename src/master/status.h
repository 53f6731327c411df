/*
 * status: PIDFILE.status, where the master says how reloads and upgrades ended, so that `h2d -s`
 * can wait for the truth. Lines of "key value":
 *
 *	request 7       the newest request that is finished; 0 is the start
 *	generation 5    the one that serves
 *	result failed   ok | failed, of that request
 *	running 8       the request that is worked on, 0 for none
 *	replaced 4      the generation that it replaced, 0 for none
 *	gone 4 812 0 0  a generation that is gone: connections that were drained, cut, refused
 *	upgrade 6 ok    the newest request that was an upgrade, and how it ended; 0: there was none
 *	drained 1       health says 503, because -s drain asked for it; else there is no such line
 *	text /etc/h2d/h2d.conf:12: …    once per line of what there is to say
 *
 * A request is numbered, and "running" written, before the configuration is read. So a process that
 * reads this file, sends a signal, and waits for a request above max(request, running) to finish,
 *knows that its configuration was read: by its own request, or by one that began after it looked.
 */
#ifndef H2D_MASTER_STATUS_H
#define H2D_MASTER_STATUS_H

#include <stdbool.h>
#include <stdint.h>

enum { STATUS_TEXT = 4096, STATUS_GONE = 8 };

/* The connections of a generation, and how they ended. */
struct status_gone {
	uint32_t generation; /* 0: none */
	uint32_t drained, cut, refused;
};

struct status {
	uint32_t request, running, generation, replaced, upgrade;
	struct status_gone gone[STATUS_GONE]; /* the last one first */
	bool ok;
	bool upgraded;          /* how the upgrade ended */
	bool drained;           /* at the end of that request */
	char text[STATUS_TEXT]; /* lines, separated by newlines */
};

/* Adds a line to s->text; what does not fit is left out. */
void status_add(struct status *s, const char *line);

/* By rename, so that no reader sees half of it. 0, or -errno. */
int status_write(const struct status *s, const char *pid_file);

/* 0, -errno, or -EPROTO when it is not such a file. */
int status_read(struct status *s, const char *pid_file);

/* Unlinks it. */
void status_remove(const char *pid_file);

#endif
