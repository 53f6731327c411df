/*
 * store_file: one file on its way into the folder of uploads: written without a name, or with a
 * hidden one, and given its name when all of it is on the disk. Called in offload threads, one at a
 * time; everything may block.
 */
#ifndef H2D_STORE_STORE_FILE_H
#define H2D_STORE_STORE_FILE_H

#include <sys/uio.h>

#include "http/file_name.h"
#include "image/etag.h"
#include "store/store_dir.h"
#include "store/store_sum.h"

struct store_file {
	char name[FILE_NAME_LEN_MAX + 1]; /* its name to be; ends in NUL */
	int fd;                           /* -1: closed */
	char hidden[STORE_HIDDEN_NAME];   /* its hidden name; "": none */
	uint64_t size;
	uint64_t on_its_way; /* bytes that the disk has, or was told to take */
	uint64_t sum_max;    /* bytes of the longest file whose content is hashed */
	struct store_sum sum;
	bool ended;  /* all of it was written */
	bool summed; /* sha256 is there */
	unsigned char sha256[DIGEST_SIZE_MAX];
	bool created; /* nothing had its name before */
	int replaced; /* the long file that had its name; -1: none */
};

#define STORE_NO_TAG UINT64_MAX

/* Something in the folder, found by its name. */
struct store_there {
	bool any;         /* something, be it a link that leads nowhere */
	bool other;       /* neither a regular file nor a link: nothing is ever put there */
	uint64_t size;    /* of a regular file */
	struct etag etag; /* n 0: none was asked for, or it does not hold still */
	int64_t mtime;    /* seconds */
};

/* Begins a file of that name, which file_name_check() has passed. 0, or -errno. */
int store_file_begin(
	struct store_file *f, struct store_dir *d, struct slice name, uint64_t sum_max);

/* Continues a file that is open and hidden already, and has that size: fd is its own from now on,
 * and writes append. 0, or -errno. */
int store_file_adopt(struct store_file *f, int fd, struct slice name, const char *hidden,
	uint64_t size, uint64_t sum_max);

/* Appends n pieces, in one call as far as it goes; v is used up. 0, or -errno. */
int store_file_write(struct store_file *f, struct iovec *v, int n);

/* Ends the file and waits until the disk has it; sha256 is there then, if it is no longer than
 * sum_max. 0, or -errno. */
int store_file_end(struct store_file *f);

/* Closes the descriptor, so that it has a hidden name from now on. 0, or -errno. */
int store_file_shelve(struct store_file *f, struct store_dir *d);

/*
 * Gives it its name, which then stands for the whole file or, on failure, for what it stood before.
 * overwrite: a file of that name is replaced, else -EEXIST. The folder is locked. 0, or -errno.
 * What was replaced, if it is long, is freed by store_file_free_replaced(), which takes the disk a
 * while.
 */
int store_file_place(struct store_file *f, struct store_dir *d, bool overwrite);
void store_file_free_replaced(struct store_file *f);

/* Lets go of it; what has a hidden name is removed. */
void store_file_drop(struct store_file *f, const struct store_dir *d);

/* Looks the name up, and makes its entity tag: of the content of a file of up to hash_max bytes.
 * STORE_NO_TAG: none is wanted. 0, or -errno. */
int store_file_look(
	const struct store_dir *d, const char *name, uint64_t hash_max, struct store_there *there);

#endif
