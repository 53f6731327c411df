/*
 * reply_names: which names of files may answer for a path, in their order: it, index files of a
 * directory, extensions that were left out. Called by reply_file.c, which looks for them.
 */
#ifndef H2D_FILES_REPLY_NAMES_H
#define H2D_FILES_REPLY_NAMES_H

#include "files/reply_disk.h"

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

#endif
