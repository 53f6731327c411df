/*
 * etag_memo: the entity tags of files that were hashed, by device, inode, size and times: bounded
 * memory that all workers of all generations share, so that a file is hashed once. What was not
 * asked for long is overwritten. Any thread may call it; it takes no lock and never waits.
 */
#ifndef H2D_IMAGE_ETAG_MEMO_H
#define H2D_IMAGE_ETAG_MEMO_H

#include <stdbool.h>

#include "base/file_id.h"
#include "image/etag.h"

enum {
	ETAG_MEMO_SETS = 1024,
	ETAG_MEMO_WAYS = 4,
	ETAG_MEMO_RESTLESS = 3, /* hashes in a row of a file that goes on changing */
};

/* So soon after each other; then one in so long. */
#define ETAG_MEMO_ROW_NS INT64_C(2000000000)

struct etag_memo;

/* NULL when memory is out. Processes that are forked behind that share it. */
struct etag_memo *etag_memo_new(void);
void etag_memo_free(struct etag_memo **m);

/* The one of this process and those that it forks; made by the first call, and stays. */
struct etag_memo *etag_memo_shared(void);

bool etag_memo_get(struct etag_memo *m, const struct file_id *id, struct etag *e);

/* True: the file is not worth hashing at wall_ns: what was hashed of it a moment ago has changed,
 * more than once, or did not hold still. */
bool etag_memo_restless(const struct etag_memo *m, const struct file_id *id, int64_t wall_ns);

/* It is another file now, of that inode: nothing is known of it. */
void etag_memo_forget(struct etag_memo *m, const struct file_id *id);

/*
 * The file was hashed at wall_ns; e->n 0: it did not hold still. tells: every later write will be
 * seen in id, so that e may be remembered.
 */
void etag_memo_put(struct etag_memo *m, const struct file_id *id, const struct etag *e,
	int64_t wall_ns, bool tells);

#endif
