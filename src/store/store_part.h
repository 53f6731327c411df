/*
 * store_part: the disk's part of a request to a resumable upload: begins or continues the upload,
 * keeps received bytes, counts them. Its functions are steps (store_work.h), called in offload
 * threads, one at a time.
 *
 * An offset that a client was told is final: a request that appends holds the upload's ticket for
 * each write, and loses it once another request was told an offset. An offset told at the end of a
 * request, or on a query, is on the disk by then.
 */
#pragma once

#include "store/store_ticket.h"
#include "store/store_work.h"

/* The part of the upload that stays after the request. */
enum store_part_left {
	STORE_PART_ALL,
	STORE_PART_TOLD, /* no more than the client was told: no room for the rest */
	STORE_PART_NONE, /* it can never be complete */
};

struct store_part {
	/* By the request; set before the first step, then constant. */
	bool goes_on;     /* an existing upload */
	bool last;        /* the upload ends with the body */
	uint64_t asked;   /* where the body begins, if it goes on */
	uint64_t length;  /* of the whole, by this request; BODY_UNKNOWN */
	uint64_t max;     /* client-max-body-size, of the whole */
	const char *user; /* the authenticated user; "": none */
	const char *path; /* of the file: "a/b/name" */

	/* Results of the steps. */
	struct store_ticket ticket;
	uint64_t offset; /* last told to the client */
	uint64_t begun;  /* where this body began */
	uint64_t synced; /* bytes that are certainly on the disk */
	uint64_t hashed; /* bytes of the part read again */
	bool complete;   /* it is the file now */
	enum store_part_left left;
};

/* Begins or continues an upload: makes the ticket and the file to write to. */
struct store_result store_part_begin(struct store_work *w);

/* Writes the next pieces of the body. From time to time advances part->offset: the disk has that
 * much. */
struct store_result store_part_take(struct store_work *w);

/* Writes the last pieces to the disk. After the last ones of the upload the file is placed, or
 * store_part_read() comes first. */
struct store_result store_part_seal(struct store_work *w);

/* Hashes the next portion from earlier requests; after the last one the file is placed. */
struct store_result store_part_read(struct store_work *w);

/* Writes as much as possible of the bytes in flight when the client left. */
struct store_result store_part_keep(struct store_work *w);

/* Finds its size, or removes it: the only steps of their plans. */
struct store_result store_part_look(struct store_work *w);
struct store_result store_part_cancel(struct store_work *w);

/* Closes the ticket; store_work_close(), which follows, then leaves the parts of the upload that
 * stay. */
void store_part_close(struct store_work *w);

/* --- for store_part_body.c -------------------------------------------------------------------- */

/* Requests the hashes of the whole file, before its first byte. 0, or -errno. */
int store_part_want_sums(struct store_work *w);
/* Removes the ticket, which was entered, and its part. */
void store_part_remove(struct store_work *w);
/* Waits until the disk has the part and its ticket: an offset told to a client survives a power
 * cut. 0, or -errno. */
int store_part_sync(const struct store_work *w, int part);
