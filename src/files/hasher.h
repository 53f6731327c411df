/*
 * hasher: makes the entity tags of files that are too long to be hashed while somebody waits:
 * behind their responses, one file after the other, a portion a job, so that other reads take
 * turns. What it finds goes to the memo. A worker has one, for its disk; on the loop.
 */
#ifndef H2D_FILES_HASHER_H
#define H2D_FILES_HASHER_H

#include "event/offload.h"
#include "image/etag_memo.h"

enum { HASHER_LINE = 8 }; /* files that may wait; of others the next reader asks again */

struct hasher;

/* NULL when memory is out. */
struct hasher *hasher_new(struct offload *o, struct etag_memo *memo);

/* Nobody asks any more. */
void hasher_free(struct hasher **h);

/*
 * The file that fd has open, which stays the caller's, is to be hashed, if it stays what id says.
 * class and volume: of its jobs; volume stays as long as the offload threads.
 */
void hasher_ask(struct hasher *h, int fd, const struct file_id *id, enum job_class class,
	const void *volume);

#endif
