/*
 * store_work: what an upload, or a removal, does on the disk: from an open root to files in their
 * place, or to nothing left behind. Called in offload threads, one at a time; everything may block.
 * Results: 0, a status that says what the client did wrong or what is in the way, or -errno.
 */
#ifndef H2D_STORE_STORE_WORK_H
#define H2D_STORE_STORE_WORK_H

#include "http/coding.h"
#include "http/cond.h"
#include "http/digest_field.h"
#include "http/multipart.h"
#include "request/body_queue.h"
#include "store/store_file.h"
#include "store/store_quota.h"

enum {
	STORE_PARTS_MAX = 10000, /* of a form, files or not */
	STORE_FILES_MAX = 1000,  /* of these */
	STORE_OPEN_MAX = 8,      /* files of a form whose descriptors are kept */
};

struct store_part; /* store/store_part.h */

struct store_work {
	/* What is asked; set before the first call, and stays. */
	const struct job *job; /* who gives up waiting for locks; NULL: nobody does */
	int root;              /* the root's descriptor; borrowed */
	const char *dir;       /* the folder, below it */
	const char *name;      /* of the file; NULL: a form says */
	bool removes;
	bool overwrite;
	uint64_t max_file_size; /* up to here content is hashed as it comes */
	struct etag_memo *memo;
	uint64_t length;            /* of the body; BODY_UNKNOWN if it was not said */
	const struct field *fields; /* conditions; of what can be resumed, digests too */
	unsigned nfields;
	time_t now;
	struct etag known; /* what a GET says of the file, as the image has it; n 0: nothing */
	struct etag coded[CODINGS];     /* the tags of the file in these codings, likewise */
	struct digest_field digests[2]; /* content-digest, repr-digest */
	bool wants_digest;              /* the answer is to carry one, however long the file is */
	struct multipart *form;         /* with its boundary; NULL: the body is the file */
	struct store_part *part;        /* it can be resumed; NULL: whole or not at all */

	/* What became of it. */
	struct store_dir at;      /* the folder */
	struct store_sum sum;     /* of the body */
	uint64_t size;            /* of what was written, by requests before this one too */
	struct store_quota quota; /* its max is asked, too */
	uint64_t replaced;        /* what the files that the upload will replace cost */
	bool in_part;             /* the last of the files is not complete */
	const struct err *err;    /* what the peer did wrong, where the result is its status */
	bool changed; /* names stand for something else now, whatever came of it afterwards */
	struct store_file **files;
	unsigned nfiles, cap;
};

/* Opens the folder and its sum: first of all. 0, or -errno. */
int store_work_open(struct store_work *w);

/* Opens as store_work_open() does, and sees whether the upload can succeed at all. */
int store_work_begin(struct store_work *w);

/* Takes the next pieces of the body. */
int store_work_take(struct store_work *w, const struct body_piece *pieces);

/* The body is complete: checks it, and waits until the disk has its files. */
int store_work_seal(struct store_work *w);

/* Whether the files can be placed, after store_work_seal(). */
bool store_work_is_whole(const struct store_work *w);

/* Puts the files in their places. */
int store_work_place(struct store_work *w);

/* Removes the file that has the name; called in place of all of the above. */
int store_work_remove(struct store_work *w);

/*
 * Closes everything; nothing stays that has no name of its own, but what can be resumed. False: a
 * long file that was replaced is still to be freed, by the next call, as that takes a while.
 */
bool store_work_close(struct store_work *w);

/* Frees what is left after store_work_close(); cannot block. */
void store_work_free(struct store_work *w);

/* --- for store_part.c ------------------------------------------------------------------------- */

/* One more of w->files, not set; NULL when memory is out. */
struct store_file *store_work_new_file(struct store_work *w);
/* The size up to which the content of its files is hashed. */
uint64_t store_work_sum_max(const struct store_work *w);
/* The result of what the peer did wrong: its status; what it was is kept for the log. */
int store_work_wrong(struct store_work *w, const struct err *err);
/* Compares what was summed with what n fields say: 400 if they differ. Ends the sums. */
int store_work_compare(
	struct store_work *w, struct store_sum *sum, const struct digest_field *fields, unsigned n);
/* Waits until the disk has the folder's names: a rename that a power cut undoes was none. */
int store_work_sync_dir(const struct store_work *w);

#endif
