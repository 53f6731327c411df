/*
 * store_part: what a request to a resumable upload does on the disk: begins the upload or goes on
 * with it, keeps what came, says how much that is. Its functions are steps (store_work.h), called
 * in offload threads, one at a time.
 *
 * An offset that a client was told stands: a request that appends holds the upload's ticket for
 * each write, and has lost it once another request was told an offset. What is told at the end of a
 * request, or when it is asked for, is on the disk by then.
 */
#ifndef H2D_STORE_STORE_PART_H
#define H2D_STORE_STORE_PART_H

#include "store/store_ticket.h"
#include "store/store_work.h"

/* How much of the upload stays when the request is over. */
enum store_part_left {
	STORE_PART_ALL,
	STORE_PART_TOLD, /* no more than the client was told: there was no room for the rest */
	STORE_PART_NONE, /* it can never be complete */
};

struct store_part {
	/* Asked by the request; set before the first step, and stays. */
	bool goes_on;     /* with an upload that is there */
	bool last;        /* with the body's end the upload is complete */
	uint64_t asked;   /* where the body begins, if it goes on */
	uint64_t length;  /* of the whole, as this request says; BODY_UNKNOWN */
	uint64_t max;     /* client-max-body-size, of the whole */
	const char *user; /* with the right password; "": nobody */

	/* Found and done by the steps. */
	struct store_ticket ticket;
	uint64_t offset; /* told to the client now, or last */
	uint64_t begun;  /* where this body began */
	uint64_t synced; /* bytes that the disk has for certain */
	uint64_t hashed; /* how much of the part was read again */
	bool complete;   /* it is the file now */
	enum store_part_left left;
};

/* Begins an upload, or goes on with one: there is the ticket, and the file to write to. */
struct store_result store_part_begin(struct store_work *w);

/* Writes the next pieces of the body. Now and then part->offset moves on: the disk has as much. */
struct store_result store_part_take(struct store_work *w);

/* Writes the last pieces; they are on the disk then. With the last ones of the upload the file is
 * placed, or store_part_read() comes first. */
struct store_result store_part_seal(struct store_work *w);

/* Hashes the next portion of what earlier requests brought; behind the last one the file is placed.
 */
struct store_result store_part_read(struct store_work *w);

/* Writes as much as can be of what was on its way when the client went. */
struct store_result store_part_keep(struct store_work *w);

/* Finds how much is there, or removes it: the only steps of their plans. */
struct store_result store_part_look(struct store_work *w);
struct store_result store_part_cancel(struct store_work *w);

/* Closes everything, but for what stays of the upload. */
void store_part_close(struct store_work *w);

/* --- for store_part_body.c -------------------------------------------------------------------- */

/* Wants the hashes of the whole file, before its first byte. 0, or -errno. */
int store_part_want_sums(struct store_work *w);
/* Removes the ticket, which was entered, and its part. */
void store_part_remove(struct store_work *w);
/* Waits until the disk has the part and its ticket: what a client was told is found again after a
 * power cut, too. 0, or -errno. */
int store_part_sync(const struct store_work *w, int part);

#endif
