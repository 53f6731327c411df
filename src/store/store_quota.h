/*
 * store_quota: what a folder of uploads holds, as a sum that is kept in a small hidden file of the
 * folder (".h2d-quota"): of its files, and of what is being received, by whichever worker of
 * whichever h2d. So an upload asks one file, and walks nothing. Called in offload threads:
 * everything may block.
 *
 * Bytes that an upload holds have a cell in that file, which the upload has locked (F_OFD_SETLK)
 * until it ends: what a dead worker held is found by its locks being gone. Each file counts as
 * STORE_DIR_FILE at least. The folder is walked to make the sum where there is none, and again
 * when other programs have changed names in it, once in a while.
 */
#ifndef H2D_STORE_STORE_QUOTA_H
#define H2D_STORE_STORE_QUOTA_H

#include "store/store_dir.h"

/* The beginning of the file; the cells follow. */
struct store_quota_head {
	uint64_t magic;
	uint64_t used;              /* bytes of files, and of uploads that can be resumed */
	uint64_t held;              /* of all cells */
	uint64_t cells;             /* how many there are */
	uint64_t changes;           /* counted, of all the above */
	int64_t dir_ns;             /* mtime of the folder as far as used knows of it */
	int64_t walked_ns, walk_ns; /* when it was walked last, on the wall clock, and how long */
};

struct store_quota {
	int fd;       /* -1: not open */
	uint64_t max; /* 0: there is none, and nothing is counted */
	uint64_t mine;
	int64_t cell;   /* of mine; -1: none */
	unsigned walks; /* of the folder, by this upload */
	bool doubted;   /* the folder is to be walked by somebody who is not waited for */
	bool known;     /* of the folder, in the middle of a change: used is right */
	struct store_quota_head head; /* while it is locked */
};

/* Opens the sum; the caller has set q->max. 0, or -errno. */
int store_quota_open(struct store_quota *q, const struct store_dir *d);
/* Gives back what the upload holds. */
void store_quota_close(struct store_quota *q);

enum store_quota_how {
	STORE_QUOTA_CHECK,
	STORE_QUOTA_HOLD, /* the bytes are this upload's until it ends or its file is placed */
	STORE_QUOTA_KEEP, /* they stay, whatever becomes of the upload */
};

/* Asks for so many bytes more in the folder, in place of a file that costs replaced: so there never
 * are more than max and the longest file that is being replaced. ERR_UPLOAD_ROOM: no. */
struct store_result store_quota_ask(struct store_quota *q, const struct store_dir *d,
	enum store_quota_how how, uint64_t more, uint64_t replaced);

/* Called around each change of names in the folder. placed: what this upload held is files now;
 * gone: the cost of what is there no more. */
int store_quota_begin(struct store_quota *q, const struct store_dir *d);
bool store_quota_fits(const struct store_quota *q, uint64_t replaced); /* in between */
void store_quota_end(struct store_quota *q, const struct store_dir *d, bool placed, uint64_t gone);

/* Walks the folder, unless there is no need, or it was a moment ago. 0, or -errno. */
int store_quota_renew(struct store_quota *q, const struct store_dir *d);

#endif
