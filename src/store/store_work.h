/*
 * store_work: the disk's part of an upload or a removal: from an open root to files in their place,
 * or to no remains. Called in offload threads, one at a time; all calls may block.
 */
#pragma once

#include <sys/uio.h>

#include "base/strbuf.h"
#include "http/coding.h"
#include "http/cond.h"
#include "http/multipart.h"
#include "http/upload.h"
#include "image/etag.h"
#include "request/req_body.h"
#include "store/store_dir.h"
#include "store/store_quota.h"

/*
 * store_file: one file for the directory of uploads: written without a name, or with a hidden one,
 * and given its name when all of it is on the disk. Called in offload threads, one at a time; all
 * calls may block.
 */

/*
 * store_sum: the hashes of passing content (SHA-256, SHA-512), compared with the client's. Used in
 * offload threads, one thread per sum; never uses a file.
 */

struct store_sum {
	void *ctx[DIGEST_ALGORITHMS]; /* NULL: not computed */
};

/* Adds an algorithm, before the first byte; zeroed, a sum computes none. 0, or -ENOMEM. */
int store_sum_want(struct store_sum *s, enum digest_algorithm a);
/* Adds those of which n fields have a hash. 0, or -ENOMEM. */
int store_sum_want_given(struct store_sum *s, const struct digest_field *fields, unsigned n);
void store_sum_fini(struct store_sum *s);

/* Adds content. 0, or -ENOMEM when the library fails. */
int store_sum_add(struct store_sum *s, const void *p, size_t n);

/* Ends those of which n fields have a hash. ERR_DIGEST_WRONG: it differs. */
struct store_result store_sum_compare(
	struct store_sum *s, const struct digest_field *fields, unsigned n);

struct store_file {
	char name[FILE_NAME_LEN_MAX + 1]; /* its future name; ends in NUL */
	int fd;                           /* -1: closed */
	char hidden[STORE_HIDDEN_NAME];   /* its hidden name; "": none */
	uint64_t size;
	uint64_t on_its_way; /* bytes on the disk, or being written to it */
	uint64_t sum_max;    /* bytes of the longest file whose content is hashed */
	struct store_sum sum;
	bool ended;  /* all of it was written */
	bool summed; /* sha256 is set */
	unsigned char sha256[DIGEST_SIZE_MAX];
	bool created; /* its name was free before */
	int replaced; /* the long file that had its name; -1: none */
};

#define STORE_NO_TAG UINT64_MAX

/* A file in the directory, found by its name. */
struct store_there {
	bool any;         /* it exists, perhaps as a dangling link */
	bool other;       /* neither a regular file nor a link: never replaced */
	uint64_t size;    /* of a regular file */
	struct etag etag; /* n 0: not requested, or it keeps changing */
	int64_t mtime;    /* seconds */
};

/* Begins a file of that name, valid by file_name_check(). 0, or -errno. */
int store_file_begin(
	struct store_file *f, struct store_dir *d, struct slice name, uint64_t sum_max);

/* Continues an open, hidden file of that size: owns fd from now on, and writes append. 0, or
 * -errno. */
int store_file_adopt(struct store_file *f, int fd, struct slice name, const char *hidden,
	uint64_t size, uint64_t sum_max);

/* Appends n pieces, in one call if possible; v is used up. 0, or -errno. */
int store_file_write(struct store_file *f, struct iovec *v, int n);

/* Ends the file and waits until the disk has it; sets sha256, if it is no longer than sum_max. 0,
 * or -errno. */
int store_file_end(struct store_file *f);

/* Closes the descriptor, and so gives it a hidden name. 0, or -errno. */
int store_file_shelve(struct store_file *f, struct store_dir *d);

/*
 * Gives it its name, which then names the whole file or, on failure, the old one. overwrite: a file
 * of that name is replaced, else -EEXIST. The directory is locked. 0, or -errno. A long replaced
 * file is freed by store_file_free_replaced(), which takes the disk a while.
 */
int store_file_place(struct store_file *f, struct store_dir *d, bool overwrite);
void store_file_free_replaced(struct store_file *f);

/* Releases it, and removes its hidden name. */
void store_file_drop(struct store_file *f, const struct store_dir *d);

/* Looks the name up, and makes its entity tag: of the content of a file of up to hash_max bytes.
 * STORE_NO_TAG: not needed. 0, or -errno. */
int store_file_look(
	const struct store_dir *d, const char *name, uint64_t hash_max, struct store_there *there);

struct store_part; /* store/store_part.h */
struct location;   /* rules/site.h */
struct site;

/* store_tree: a change of names on a drive, or a list of them. By the request, like store_work. */
struct store_tree {
	bool drive;                      /* the directory is one */
	bool strict;                     /* its directory must exist (RFC 4918, 9.7.1) */
	struct slice target;             /* of the request, for its header if */
	unsigned depth;                  /* of directories below that of uploads */
	const char *to_folder, *to_name; /* the destination; NULL: none */
	unsigned how;                    /* enum h2d_copy; a list has H2D_COPY_WHOLE for members */
	bool closed;           /* rules differ inside: directories are not changed as a whole */
	struct slice paths[2]; /* its own below the root, and that of the URL */
	const struct location *hides[2]; /* of names in these; NULL: none */
	const struct site *site;
	const char *open; /* for demand_opens(): locations of members that the client may see */

	/* Results. */
	int into;                       /* the directory to_folder; -1: not open */
	char hidden[STORE_HIDDEN_NAME]; /* of a copy that has no place yet; "": none */
	uint64_t left;                  /* the cost that it may still add */
	bool created;                   /* the name was free before */
	struct strbuf entries, names;   /* of a list: struct h2d_entry, and their names */
	struct etag etag;               /* of a listed file; n 0: none */
	uint64_t used_bytes;            /* of the directory of uploads, if it has a quota */
};

enum {
	STORE_FORM_PARTS = 10000, /* of a form, files or not */
	STORE_FORM_FILES = 1000,  /* files of these */
};

struct store_work {
	/* By the request; set before the first step, then constant. */
	const struct job *job; /* ends waits for locks; NULL: never */
	int root;              /* the root's descriptor; borrowed */
	const char *dir;       /* the directory, below it */
	const char *folder;    /* of the file or the form, below that, "a/b"; "": that itself */
	const char *name;      /* of the file in it; NULL: given by a form */
	bool overwrite;
	uint64_t max_file_size;     /* content is hashed on arrival up to here */
	uint64_t length;            /* of the body; BODY_UNKNOWN */
	const struct field *fields; /* conditions; of resumable uploads, digests too */
	unsigned nfields;
	time_t now;
	struct etag known;              /* the file's tag in the image, in the form of a GET; n 0:
					 * none */
	struct etag coded[CODINGS];     /* the tags of the file in these codings */
	struct digest_field digests[2]; /* content-digest, repr-digest */
	bool wants_digest;              /* the answer has one, however long the file is */
	struct multipart *form;         /* with its boundary; NULL: the body is the file */
	struct store_part *part;        /* resumable; NULL: whole or not at all */

	/* For the next step. */
	struct body_piece *pieces; /* of the body */
	struct body_piece *rest;   /* more of them, of a client that has left: to be kept */

	/* Results of the steps. */
	struct store_dir at;      /* the directory */
	struct store_sum sum;     /* of the body */
	uint64_t came;            /* bytes of the body */
	uint64_t size;            /* of the written bytes, also by earlier requests */
	struct store_quota quota; /* the caller sets its max */
	uint64_t replaced;        /* cost of the files that the upload will replace */
	bool changed;             /* names have changed, whatever failed afterwards */
	struct store_file **files;
	unsigned nfiles;
	struct store_file *last; /* the last of files, for pieces; NULL: none */
	struct store_tree tree;
};

/* Writes n pieces of content, of size bytes in all, to their place. */
typedef struct store_result store_work_writer(
	struct store_work *w, struct iovec *v, int n, size_t size);

/* Opens the directory and its sum, before the first step. 0, or -errno. */
int store_work_open(struct store_work *w);

/* --- the steps of a whole file ---------------------------------------------------------------- */

/* Checks that the upload can succeed, and begins the file. */
struct store_result store_work_begin(struct store_work *w);

/* Writes the next pieces of the body. */
struct store_result store_work_take(struct store_work *w);

/* Checks the complete body against its length and its digests. */
struct store_result store_work_compare(struct store_work *w);

/* Writes the last pieces, checks the file, and places it when the disk has it. */
struct store_result store_work_seal(struct store_work *w);

/* Places the files: for a form a separate step. */
struct store_result store_work_place(struct store_work *w);

/* Removes the file of that name; the only step of its plan. */
struct store_result store_work_remove(struct store_work *w);

/* --- store_tree.c ----------------------------------------------------------------------------- */

/* Steps of a drive, each the only one of its plan: make the directory of that name; copy or move
 * the file or directory of that name to the destination; list it. */
struct store_result store_tree_make(struct store_work *w);
struct store_result store_tree_copy(struct store_work *w);
struct store_result store_tree_move(struct store_work *w);
struct store_result store_tree_list(struct store_work *w);

/* Removes the directory of that name, for store_work_remove(); the directory of uploads is locked.
 */
struct store_result store_tree_remove(struct store_work *w);

/* Closes the destination, and removes a copy without a place. */
void store_tree_close(struct store_work *w);

/* --- store_form.c ----------------------------------------------------------------------------- */

/* Steps of a form, after store_work_add_folders(): its files are named in the body. All are stored,
 * or none. The last one checks them. */
struct store_result store_form_take(struct store_work *w);
struct store_result store_form_seal(struct store_work *w);

/* --- the end ---------------------------------------------------------------------------------- */

/* Closes all; removes files without a name of their own. A long replaced file remains to be freed,
 * as that takes a while. */
void store_work_close(struct store_work *w);
void store_work_free_replaced(struct store_work *w);

/* True if store_work_close() or _free_replaced() has work to do. */
bool store_work_is_open(const struct store_work *w);

/* Frees the memory after the close; never blocks. */
void store_work_free(struct store_work *w);

/*
 * store_rules: decides if an upload may write its files: by the request's conditions, existing
 * files, and the directory's quota. Never changes the disk.
 */

/*
 * Looks up the file of that name, and checks the request's conditions against it. elsewhere: the
 * error if the file found is spelled otherwise, as some file systems allow: the configuration's
 * rules are for its own name.
 */
struct store_result store_rules_look(const struct store_work *w, const char *name,
	const struct err *elsewhere, struct store_there *there);
/* Does store_rules_look(), and checks that a new file may take the name. */
struct store_result store_rules_check_name(
	const struct store_work *w, const char *name, struct store_there *there);
/* Checks the request's conditions against a resumable upload, which has neither an entity tag nor a
 * date. */
struct store_result store_rules_check_upload(const struct store_work *w);
/* The cost of the existing file, as w->quota counts it. */
uint64_t store_rules_cost(const struct store_there *there);
/* Measures length bytes more of that cost: ERR_UPLOAD_ROOM, if the quota or the disk has no room
 * for them. BODY_UNKNOWN: checked later. */
struct store_result store_rules_measure(struct store_work *w, uint64_t length, uint64_t cost);

/* --- for store_form.c and store_part.c -------------------------------------------------------- */

/* Adds a file, not set yet; NULL when memory is out. */
struct store_file *store_work_new_file(struct store_work *w);
/* Requests room for new directories. */
struct store_result store_work_add_folders(struct store_work *w);
/* Requests room and begins a file of that name. */
struct store_result store_work_add_file(struct store_work *w, struct slice name);
/* The size up to which the content of its files is hashed. */
uint64_t store_work_sum_max(const struct store_work *w);
/* Adds the pieces to the sum and gives them to write, many at once. */
struct store_result store_work_pieces(
	struct store_work *w, const struct body_piece *pieces, store_work_writer *write);
/* Requests room and appends to the last file. */
store_work_writer store_work_write;
/* Gives the files their names, under the directory's lock. */
struct store_result store_work_name(struct store_work *w);
/* Reports the new names and waits until the disk has them: a rename undone by a power cut does not
 * count. */
struct store_result store_work_named(struct store_work *w);
