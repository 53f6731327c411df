/*
 * store_ticket: the facts about a resumable upload between its requests: a small hidden file
 * beside the received bytes, its ticket, which outlives requests, workers and restarts. Called in
 * offload threads: all calls may block.
 *
 * In the directory of uploads ".h2d-TOKEN" is the ticket and ".h2d-TOKEN.part" are the bytes, TOKEN
 * being 128 random bits that only the upload's client was told. It is a separate file because not
 * every file system has extended attributes for users (tmpfs has not), and because the part becomes
 * the file by a rename, without a byte too many.
 *
 * A request claims the upload: that ends the work of an earlier request, of any worker, because
 * each step enters first and finds that the ticket's epoch is no longer its own. So a step holds
 * the ticket's lock (flock(2)) only for a write, and no request waits for a client that has left.
 */
#pragma once

#include "event/offload.h"
#include "http/field.h"
#include "store/store_dir.h"

enum store_ticket_stage {
	STORE_TICKET_OPEN = 1, /* more bytes may come */
	STORE_TICKET_PLACING,  /* complete; without its part it is the file already */
	STORE_TICKET_PLACED,   /* complete, and the file */
};

/* The beginning of the file, overwritten in place. */
struct store_ticket_head {
	uint64_t magic;
	uint64_t epoch;
	uint64_t stage;
	uint64_t length; /* of the whole; BODY_UNKNOWN: not given */
	uint64_t size;   /* of what is complete */
	uint64_t text;   /* bytes that follow */
};

struct store_ticket {
	int fd;                        /* -1: not open */
	char token[STORE_TOKEN + 1];   /* ends in NUL */
	struct store_ticket_head head; /* this request's copy */
	char *text;                    /* the memory of the members below */
	const char *name;              /* of the future file, "a/b/name" */
	const char *user;              /* authenticated when it began; "": none */
	struct field *fields;          /* conditions and digests of the first request */
	unsigned nfields;
};

/* Makes a ticket and its part, claimed; t->fd is -1. The part's descriptor, or -errno. */
int store_ticket_create(struct store_ticket *t, const struct store_dir *d, const char *name,
	const char *user, const struct field *fields, unsigned n, uint64_t length);

/* Opens the ticket of t->token and reads it. ERR_UPLOAD_NONE: none. */
struct store_result store_ticket_open(struct store_ticket *t, const struct store_dir *d);

/* Opens the part, for reading and writing. The descriptor, and its *size; -ENOENT if it has become
 * the file; -errno. */
int store_ticket_part(const struct store_ticket *t, const struct store_dir *d, uint64_t *size);

/*
 * Enters the upload, which no step of an earlier request will from now on. ERR_UPLOAD_NONE: it is
 * gone. job: may give up waiting for the lock, see store_lock_wait().
 */
struct store_result store_ticket_claim(struct store_ticket *t, const struct job *job);

/*
 * Enters the upload: until store_ticket_leave() no other request changes it. ERR_UPLOAD_TAKEN: it
 * is another request's, or gone. Waits for the lock also after its client has left: the bytes it
 * sent stay.
 */
struct store_result store_ticket_enter(const struct store_ticket *t);
void store_ticket_leave(const struct store_ticket *t);

/* Writes t->head with that stage, after entering. 0, or -errno. */
int store_ticket_write(struct store_ticket *t, enum store_ticket_stage stage);

/* The cost of a ticket with these (store_quota.h). */
uint64_t store_ticket_cost(
	const char *name, const char *user, const struct field *fields, unsigned n);

/* The cost of the part; 0: none. */
uint64_t store_ticket_part_cost(const struct store_ticket *t, const struct store_dir *d);

/* Removes it and its part, after entering. */
void store_ticket_remove(const struct store_ticket *t, const struct store_dir *d);

void store_ticket_close(struct store_ticket *t);

/* Removes uploads unused for max_age seconds. Their number, or -errno. */
int store_ticket_sweep(const struct store_dir *d, uint64_t max_age);
