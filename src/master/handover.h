/*
 * handover: what a master tells the program that is to replace it: a text of one line per thing,
 * "key value …", in a sealed memfd, which names descriptors that the other process inherits.
 * Upgrade writes it and heir reads it. The two may be of different versions: what is read is
 * checked as foreign data, and any other version of the format is refused. So is a line that is not
 * known, for it says what must be heeded; but "may key n descriptors… value" is passed over, and
 * its n descriptors are closed.
 */
#ifndef H2D_MASTER_HANDOVER_H
#define H2D_MASTER_HANDOVER_H

#include "base/list.h"
#include "base/strbuf.h"
#include "net/listener.h"
#include "net/tls_tickets.h"

enum { HANDOVER_VERSION = 2, HANDOVER_MAX = 1 << 20, HANDOVER_SPARE = 64 };

/* The sockets of one address. */
struct handover_listener {
	struct list node;
	uint32_t id; /* in the process that hands over */
	bool passed; /* by the service manager */
	struct addr wanted;
	int *fds;
	unsigned n;
};

struct handover {
	uint32_t process;    /* the master that hands over */
	uint32_t generation; /* its newest */
	uint32_t request;    /* the number of this upgrade in the status file */
	struct tls_tickets tickets;
	uint64_t ticket_age; /* of the first key, in seconds; programs of before say none */
	char *pid_path;      /* NULL: there is no pid file */
	int pid_fd;
	int doubts[2]; /* for the first generation: its keeper reads the first; -1: none */
	int reign[2];  /* of struct master, the reading end first; -1: a program of before has none
			*/
	int keeper;    /* where the keeper that serves now reads doubts; -1: there is none */
	uint32_t drained;          /* 1: -s drain asked for it */
	int spare[HANDOVER_SPARE]; /* of lines that were passed over */
	int nspare;
	struct list listeners; /* struct handover_listener */
};

void handover_init(struct handover *h);

/* One more, with room for n descriptors; NULL when memory is out. */
struct handover_listener *handover_add(struct handover *h, unsigned n);

/* out.failed: memory was out, or the path of the pid file cannot be written down. */
void handover_format(const struct handover *h, struct strbuf *out);

/*
 * Reads a text, which is changed. NULL, or what is wrong with it, a constant string. It looks at no
 * descriptor; handover_fini() is due either way.
 */
const char *handover_parse(struct handover *h, char *text);

/* Calls fn for each descriptor until it answers false; whether it never did. */
bool handover_each_fd(const struct handover *h, bool (*fn)(void *ctx, int fd), void *ctx);

/* Frees its memory; closes nothing. */
void handover_fini(struct handover *h);

#endif
