/*
 * reply_file: error pages from a site's root; for struct http_env's error_page. h2d_reply_file(),
 * defined here too, is declared in h2d/handler.h.
 */
#pragma once

#include "files/files.h"
#include "image/beneath.h"
#include "request/req.h"

/*
 * reply_names: the names of files that may answer for a path, in order: itself, index files of a
 * directory, omitted extensions. Called by reply_file.c, which looks for them.
 */

/*
 * reply_disk: a reply with a file that the image lacks: the file to look for on the disk, and the
 * answer when the result is known. Called by reply_file.c, which takes the steps and knows the
 * other names; never blocks.
 */

/* The tried name's answer for the requested path. */
enum file_reply_way {
	FILE_REPLY_ASKED,   /* as requested, by an index file or with an extension */
	FILE_REPLY_SLASHED, /* it leads to the path without its slash */
	FILE_REPLY_FALLBACK,
};

/* A reply that may need the disk; in the request's arena. */
struct file_reply {
	struct h2d_req *req;
	struct files *files;
	enum h2d_tree tree;
	struct slice path; /* below root, with the directory of uploads */
	struct slice name; /* the tried name: path, or another that answers for it */
	unsigned root;     /* number of its tree */
	unsigned links;    /* symbolic ones: BENEATH_LEAVE, BENEATH_NO_LINKS, or 0 */
	bool own;          /* the client requested this path */
	bool sandboxed;    /* in the directory of uploads */
	enum file_reply_way way;
	bool plain;                     /* the file itself may be sent, not only one beside it */
	unsigned next;                  /* number of tried names */
	unsigned seen;                  /* reply_conditional_seen() */
	int page_status;                /* of the error whose page it is; 0: none */
	const struct location *of_path; /* of the path; req->location is that of name */
};

/* Symbolic links on the way to a file of location; uploaded ones are looked for below the root
 * alone. */
static inline unsigned reply_file_links(const struct location *location, bool uploaded)
{
	return location->no_links                    ? BENEATH_NO_LINKS
	       : location->follow_links && !uploaded ? BENEATH_LEAVE
						     : 0;
}

/* Makes the file of name, to be looked for on the disk; the end of its request closes it. NULL:
 * memory was out, and that was answered. */
struct disk_file *reply_disk_file(struct file_reply *a);

/* True if the answer sends the file: one that is only checked takes no place. */
bool reply_disk_sends(const struct file_reply *a, const struct disk_file *file);

/* Answers with it. */
void reply_disk_send(struct file_reply *a, struct disk_file *file);

/* True: the error means that no file of that name can be sent. */
bool reply_disk_is_missing(int rc);

/* Answers with another error of a file. */
void reply_disk_refuse(struct file_reply *a, const struct disk_file *file, int rc);

/* Sets the settings of responses with the file at path: the rule of its name, if there is one. */
void reply_disk_settings(struct h2d_req *req, struct slice path);

/* Answers with that error; an error page becomes h2d's own. */
void reply_disk_fail(struct file_reply *a, int status);

/* Answers with 503 and logs the reason; an error page becomes h2d's own. */
void reply_disk_no_memory(struct file_reply *a);

static inline bool reply_names_is_dir(const struct file_reply *a)
{
	return a->path.p[a->path.n - 1] == '/';
}

/* Takes the next one as a->name, whose p is NULL when memory is out. False: none. */
bool reply_names_next(struct file_reply *a);

/* The file of a->name exists (FILE_REPLY_SLASHED): sends the client to the path without the
 * slash. */
void reply_names_take_away_slash(struct file_reply *a);

/* Sends the client to path, with more appended. */
void reply_names_send_to(struct h2d_req *req, struct slice path, const char *more);

/* Sends the client to the path without extension or index, if that differs. True: it did. */
bool reply_names_redirect(struct h2d_req *req, struct slice path);

/*
 * Answers with status and, as content, the file below the root of req's site, from the image or the
 * disk, now or later; reply_own_page() if it is unavailable. Another body of req is closed.
 */
void reply_file_error_page(struct h2d_req *req, int status, struct slice file);
