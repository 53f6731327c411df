/*
 * reply_disk: a reply with a file that the image does not have: looks for it on the disk, step by
 * step, and answers with it. Called by reply_file.c, which knows what other names there are; never
 * blocks.
 */
#ifndef H2D_FILES_REPLY_DISK_H
#define H2D_FILES_REPLY_DISK_H

#include "files/files_private.h"
#include "request/req.h"

/* A reply that may need the disk; in the request's arena. */
/* How the name that is tried answers for the path that was asked for. */
enum file_reply_way {
	FILE_REPLY_ASKED,   /* as it is, by an index file or with an extension */
	FILE_REPLY_SLASHED, /* it leads to the path without its slash */
	FILE_REPLY_FALLBACK,
};

struct file_reply {
	struct h2d_req *req;
	struct files *files;
	enum h2d_tree tree;
	struct slice path; /* below root, the folder of uploads included */
	struct slice name; /* the name that is tried: path, or another that answers for it */
	unsigned root;     /* number of the tree it is looked for in */
	bool follows;      /* symbolic links may lead out of that */
	bool own;          /* the client asked for it by this path */
	bool sandboxed;    /* it lies in the folder of uploads */
	enum file_reply_way way;
	bool plain;                     /* the file itself may be sent, not only one beside it */
	unsigned next;                  /* how many names were tried */
	unsigned seen;                  /* reply_conditional_seen() */
	int page_status;                /* of the error it is the page of; 0: it is no such page */
	const struct location *of_path; /* of the path; req->location is that of name */

	/* name is not there; dir: it is a directory. */
	void (*missing)(struct file_reply *a, bool dir);

	/* name, which is FILE_REPLY_SLASHED, is there. */
	void (*found)(struct file_reply *a);
};

/* Answers with the file name, now or later, or calls missing(). */
void reply_disk(struct file_reply *a);

/* From now on what holds for responses with the file at path: the rule of its name, if there is
 * one.
 */
void reply_disk_settings(struct h2d_req *req, struct slice path);

/* Answers with that error; an error page becomes h2d's own. */
void reply_disk_fail(struct file_reply *a, int status);

/* Answers with 503, and the log says why; an error page becomes h2d's own. */
void reply_disk_no_memory(struct file_reply *a);

#endif
