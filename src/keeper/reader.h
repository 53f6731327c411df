/*
 * reader: reads files into the catalogue, one at a time and a piece at a time, so that the keeper's
 * loop goes on turning. It decides when: at once what a walk found, shortly after its change what
 * changed, ever later what will not hold still, once more what was read too soon after its last
 * change.
 */
#ifndef H2D_KEEPER_READER_H
#define H2D_KEEPER_READER_H

#include "keeper/catalog.h"

enum {
	READER_LEVELS = 8,             /* of restlessness: 20 ms, 40, … 2560 */
	READER_SETTLE = READER_LEVELS, /* read too soon after its last change to trust file_id */
	READER_RETRY,                  /* the machine was short of something */
	READER_WAITS,
	READER_STUCK, /* no segment has room until an image goes */
	READER_FOUND, /* in the next steps */
	READER_CHANGED,
	READER_QUEUES,
};

struct reader {
	struct catalog *catalog;
	struct etag_hash *hash;
	char *buf; /* max_file_size bytes */
	struct list queues[READER_QUEUES];
	unsigned n[READER_QUEUES];
	unsigned left_out; /* too large, or past max-size, since the last look */
	bool said_past;    /* the log has said that max-size is reached */
	bool turn;         /* the line that has its turn: FOUND's or CHANGED's */
	int trouble;       /* -errno of the machine since the last look, 0: none */

	struct catalog_file *file; /* being read, NULL for none */
	bool touched;              /* it changed meanwhile */
	int fd;
	uint64_t got;
	int64_t wall_ns; /* when reading it began */
	struct file_id file_id;
};

/* 0, or -ENOMEM. */
int reader_init(struct reader *r, struct catalog *c);
void reader_fini(struct reader *r);

/* A walk found f, which is not known, or not what it was. */
void reader_found(struct reader *r, struct catalog_file *f);

/* f changed, as the kernel tells. */
void reader_changed(struct reader *r, struct catalog_file *f);

/* Names below d may be another directory's by now: so may that of the file that is being read. */
void reader_changed_below(struct reader *r, const struct catalog_dir *d);

/* Whether f is to be read, or being read: nobody else may say what it is. */
bool reader_has(const struct reader *r, const struct catalog_file *f);

/* f is about to be freed. */
void reader_gone(struct reader *r, struct catalog_file *f);

/* A file is not cached: it is too large, or past max-size, which is said once. */
void reader_left_out(struct reader *r, bool past);

/* An image or a body went: what was stuck is tried again. */
void reader_room(struct reader *r);

/* Moves on what is due; in how many milliseconds the next will be, -1: never. */
int reader_wait(struct reader *r);

/* Reads one piece. False if there was nothing to read. */
bool reader_step(struct reader *r);

/* How many files have yet to be read before the catalogue is right; settling is not among them. */
unsigned reader_pending(const struct reader *r);

#endif
