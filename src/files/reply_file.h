/*
 * reply_file: error pages out of a site's root; for struct http_env's error_page. h2d_reply_file(),
 * which is made here too, is declared in h2d/handler.h.
 */
#ifndef H2D_FILES_REPLY_FILE_H
#define H2D_FILES_REPLY_FILE_H

#include "files/files.h"
#include "request/req.h"

/*
 * reply_names: which names of files may answer for a path, in their order: it, index files of a
 * directory, extensions that were left out. Called by reply_file.c, which looks for them.
 */

/*
 * reply_disk: a reply with a file that the image does not have: what is to be looked for on the
 * disk, and the answer once that is known. Called by reply_file.c, which takes the steps and knows
 * what other names there are; never blocks.
 */

/* How the name that is tried answers for the path that was asked for. */
enum file_reply_way {
	FILE_REPLY_ASKED,   /* as it is, by an index file or with an extension */
	FILE_REPLY_SLASHED, /* it leads to the path without its slash */
	FILE_REPLY_FALLBACK,
};

/* A reply that may need the disk; in the request's arena. */
struct file_reply {
	struct h2d_req *req;
	struct files *files;
	enum h2d_tree tree;
	struct slice path; /* below root, the folder of uploads included */
	struct slice name; /* the name that is tried: path, or another that answers for it */
	unsigned root;     /* number of the tree it is looked for in */
	unsigned links;    /* symbolic ones: BENEATH_LEAVE, BENEATH_NO_LINKS, or 0 */
	bool own;          /* the client asked for it by this path */
	bool sandboxed;    /* it lies in the folder of uploads */
	enum file_reply_way way;
	bool plain;                     /* the file itself may be sent, not only one beside it */
	unsigned next;                  /* how many names were tried */
	unsigned seen;                  /* reply_conditional_seen() */
	int page_status;                /* of the error it is the page of; 0: it is no such page */
	const struct location *of_path; /* of the path; req->location is that of name */
};

/* The file name, to be looked for on the disk; a request that goes away closes it. NULL: memory was
 * out, and that was answered. */
struct disk_file *reply_disk_file(struct file_reply *a, const struct disk_plan *plan);

/* Whether the answer sends the file: one that is only looked at takes no place. */
bool reply_disk_sends(const struct file_reply *a, const struct disk_file *file);

/* Answers with it. */
void reply_disk_send(struct file_reply *a, struct disk_file *file);

/* True: by the error, nothing of that name can be sent. */
bool reply_disk_is_missing(int rc);

/* Answers with another error of a file. */
void reply_disk_refuse(struct file_reply *a, const struct disk_file *file, int rc);

/* From now on what holds for responses with the file at path: the rule of its name, if there is
 * one.
 */
void reply_disk_settings(struct h2d_req *req, struct slice path);

/* Answers with that error; an error page becomes h2d's own. */
void reply_disk_fail(struct file_reply *a, int status);

/* Answers with 503, and the log says why; an error page becomes h2d's own. */
void reply_disk_no_memory(struct file_reply *a);

static inline bool reply_names_is_dir(const struct file_reply *a)
{
	return a->path.p[a->path.n - 1] == '/';
}

/* Takes the next one as a->name, whose p is NULL when memory is out. False: there is no other. */
bool reply_names_next(struct file_reply *a);

/* With FILE_REPLY_SLASHED a->name is there: its client is sent to the path without the slash. */
void reply_names_take_away_slash(struct file_reply *a);

/* Sends the client to path, with more behind it. */
void reply_names_send_to(struct h2d_req *req, struct slice path, const char *more);

/* Sends the client to the path without extension or index, if that is another. True: it did. */
bool reply_names_redirect(struct h2d_req *req, struct slice path);

/*
 * Answers with status and, as content, the file below the root of req's site, from the image or the
 * disk, now or later; reply_own_page() if it cannot be had. Whatever else req had as body is
 * closed.
 */
void reply_file_error_page(struct h2d_req *req, int status, struct slice file);

#endif
