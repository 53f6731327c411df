/*
 * file_seen: how a file was when it was noted last, to be asked whether it has changed since. The
 * master asks about files that it takes up without a reload. It reads none of them, and waits for
 * nothing.
 */
#ifndef H2D_BASE_FILE_SEEN_H
#define H2D_BASE_FILE_SEEN_H

#include "base/file_id.h"

struct file_seen {
	struct file_id id; /* zeros: it was not there */
	bool doubtful;     /* it was being written: what is written further may not show */
};

/*
 * Notes how the file is now, in front of reading it; "" is never there. A file that a process has
 * open for writing may be half of what it will be: it is doubtful, until ten seconds after its last
 * change, where the system tells (fcntl(2), leases).
 */
void file_seen_note(struct file_seen *s, const char *file);

/* A file is another than when it was noted, or may be. */
bool file_seen_changed(const struct file_seen *s, const char *file);

#endif
