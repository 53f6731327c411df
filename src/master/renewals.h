/*
 * renewals: certificates and authorities of clients (client-ca, crl) of the generation that serves
 * whose files have changed are taken up, and workers get the new ones; no process is replaced, and
 * no connection ends. The master watches the folders of the files (inotify(7)), and looks at all of
 * them every ten seconds. What cannot be used changes nothing, with the reason in the log, until
 * the files change again.
 */
#ifndef H2D_MASTER_RENEWALS_H
#define H2D_MASTER_RENEWALS_H

#include <stdbool.h>
#include <stdint.h>

#include "event/loop.h"

struct child;
struct ctl_msg;
struct master;

struct renewals {
	struct watch events; /* of inotify; not active: there is none */
	struct timer look;   /* armed: something in a folder has changed */
	uint64_t looked_ms;
	uint32_t last; /* number of the last one of this master */
	struct {
		int fd; /* as workers are sent it; -1: none is kept */
		uint32_t renewal;
	} packed;
};

void renewals_init(struct master *m);

/*
 * Another generation serves: its files are watched from now on; some may have changed since it read
 * them.
 */
void renewals_serve(struct master *m);

/* Once a second. */
void renewals_second(struct master *m);

/* As child_fill_fn has it: the next one that c's process has yet to be sent. */
bool renewals_fill(const struct child *c, unsigned n, struct ctl_msg *msg, int *fds, int *nfds);

/* The message that was filled in last is on its way. */
void renewals_sent(struct child *c);

/* A process that is forked now has all there were; one that lost some is sent all of them again. */
void renewals_forked(struct child *c);
void renewals_again(struct child *c);

void renewals_fini(struct master *m);

#endif
