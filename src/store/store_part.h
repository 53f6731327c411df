/*
 * store_part: what a request to a resumable upload does on the disk, beside what every upload does:
 * begins the upload or goes on with it, keeps what came, says how much that is. Called in offload
 * threads by store_work.c and store_job.c, one at a time. Results as in store_work.h.
 *
 * An offset that a client was told stands: who appends holds the upload's ticket for each write,
 * and has lost it once another request was told an offset. What is told at the end of a request, or
 * when it is asked for, is on the disk by then.
 */
#ifndef H2D_STORE_STORE_PART_H
#define H2D_STORE_STORE_PART_H

#include "store/store_ticket.h"
#include "store/store_work.h"

enum store_part_what {
	STORE_PART_CREATE, /* the body begins a new upload */
	STORE_PART_APPEND, /* it goes on with one */
	STORE_PART_LOOK,   /* how far it is */
	STORE_PART_CANCEL, /* it is not wanted any more */
};

/* What is wrong with a request, beyond its status. */
enum store_part_problem {
	STORE_PART_OK,
	STORE_PART_OFFSET,   /* it does not begin where the upload ends */
	STORE_PART_LENGTH,   /* it contradicts the length that was said */
	STORE_PART_COMPLETE, /* there is nothing to append to */
};

struct store_part {
	/* What is asked; set before the first call, and stays. */
	enum store_part_what what;
	bool last;        /* with the body's end the upload is complete */
	uint64_t asked;   /* where the body begins; of APPEND */
	uint64_t length;  /* of the whole, as this request says; BODY_UNKNOWN */
	uint64_t max;     /* client-max-body-size, of the whole */
	const char *user; /* whose password was right; "": nobody's */

	/* What became of it. */
	struct store_ticket ticket;
	enum store_part_problem problem;
	uint64_t offset; /* what the client is told, or was told last */
	uint64_t begun;  /* where this body began */
	uint64_t synced; /* what the disk has for certain */
	uint64_t hashed; /* how much of the part was read again */
	bool complete;   /* it is the file now */
	bool doomed;     /* it can never be complete: nothing stays */
	bool no_room;    /* by the quota, for the rest of the body */
};

/* The folder is open. Begins CREATE and APPEND: the ticket, and the file to write to. */
int store_part_begin(struct store_work *w);

/* Around each change. */
int store_part_enter(struct store_work *w);
void store_part_leave(struct store_work *w);

/* Whether n more bytes may be. */
int store_part_check(struct store_work *w, size_t n);

/* What was written some time ago goes to the disk; 1 if that is worth telling. */
int store_part_sync(struct store_work *w);

/* The body is complete; what came of it is on the disk, or gone. */
int store_part_seal(struct store_work *w);

/* Whether the whole has to be read again; then, until it has not, the next portion. */
bool store_part_unread(const struct store_work *w);
int store_part_read(struct store_work *w);

/* All of the upload is there: the file's hash, held against what the client said. */
int store_part_end(struct store_work *w);

/* Around the file's placing. */
int store_part_placing(struct store_work *w);
int store_part_placed(struct store_work *w, int rc);

/* LOOK and CANCEL, from the beginning. */
int store_part_look(struct store_work *w);
int store_part_cancel(struct store_work *w);

/* Closes everything; what is not doomed stays; where there was no room for more, no more than the
 * client was told. */
void store_part_close(struct store_work *w);

#endif
