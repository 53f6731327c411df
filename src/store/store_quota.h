/*
 * store_quota: the size of a directory of uploads, as a sum in a small hidden file of it
 * (".h2d-quota"): of its files, and of those being received, by any worker of any h2d. So an upload
 * reads one file, without a scan. Called in offload threads: all calls may block.
 *
 * An upload's reserved bytes have a cell in that file, which the upload locks (F_OFD_SETLK) until
 * it ends: the cells of a dead worker are found unlocked. Each file counts as STORE_DIR_FILE at
 * least. The directory is scanned to make a missing sum, and again when other programs have changed
 * names in it, from time to time.
 */
#pragma once

#include "store/store_dir.h"

/* The beginning of the file; the cells follow. */
struct store_quota_head {
	uint64_t magic;
	uint64_t used;              /* bytes of files, and of resumable uploads */
	uint64_t held;              /* of all cells */
	uint64_t cells;             /* how many there are */
	uint64_t changes;           /* of all the above */
	int64_t dir_ns;             /* mtime of the directory for which used is right */
	int64_t walked_ns, walk_ns; /* wall clock time of the last scan, and its duration */
};

struct store_quota {
	int fd;       /* -1: not open */
	uint64_t max; /* 0: no quota, not counted */
	uint64_t mine;
	int64_t cell;                 /* of mine; -1: none */
	unsigned walks;               /* of the directory, by this upload */
	bool doubted;                 /* a scan is due, for which no upload waits */
	bool known;                   /* during a change: used is right */
	struct store_quota_head head; /* while it is locked */
};

/* Opens the sum; the caller has set q->max. 0, or -errno. */
int store_quota_open(struct store_quota *q, const struct store_dir *d);
/* Releases the upload's bytes. */
void store_quota_close(struct store_quota *q);

enum store_quota_how {
	STORE_QUOTA_CHECK,
	STORE_QUOTA_HOLD, /* this upload's until it ends or its file is placed */
	STORE_QUOTA_KEEP, /* they stay after the upload */
};

/* Requests so many bytes more in the directory, to replace a file that costs replaced: so the total
 * never exceeds max plus the longest file being replaced. ERR_UPLOAD_ROOM: refused. */
struct store_result store_quota_ask(struct store_quota *q, const struct store_dir *d,
	enum store_quota_how how, uint64_t more, uint64_t replaced);

/* Called around each change of names in the directory. placed: this upload's bytes are files now;
 * gone: the cost of removed ones. */
int store_quota_begin(struct store_quota *q, const struct store_dir *d);
bool store_quota_fits(const struct store_quota *q, uint64_t replaced); /* in between */
void store_quota_end(struct store_quota *q, const struct store_dir *d, bool placed, uint64_t gone);

/* The bytes of files, and of those being received. 0, or -errno. */
int store_quota_used(struct store_quota *q, const struct store_dir *d, uint64_t *bytes);

/* Scans the directory, unless it is not needed, or was just done. 0, or -errno. */
int store_quota_renew(struct store_quota *q, const struct store_dir *d);
