/*
 * file_seen: how a file was when it was noted last, to be asked whether it has changed since. The
 * master asks about files that it takes up without a reload. Nothing here opens one.
 */
#ifndef H2D_BASE_FILE_SEEN_H
#define H2D_BASE_FILE_SEEN_H

#include "base/file_id.h"

struct file_seen {
	struct file_id id; /* zeros: it was not there */
	bool doubtful;     /* it was being written: what is written further may not show */
};

/* The file as it is now; "" is never there. */
static inline struct file_id file_seen_id(const char *file)
{
	struct stat st;

	return *file != '\0' && stat(file, &st) == 0 ? file_id_of(&st) : (struct file_id){ 0 };
}

/* Notes how the file is now: in front of reading it. */
static inline void file_seen_note(struct file_seen *s, const char *file)
{
	int64_t now = file_id_clock_ns();

	s->id = file_seen_id(file);
	s->doubtful = s->id.ino != 0 && !file_id_tells(&s->id, now);
}

/* A file is another than when it was noted, or may be. */
static inline bool file_seen_changed(const struct file_seen *s, const char *file)
{
	struct file_id is = file_seen_id(file);

	return s->doubtful || !file_id_eq(&is, &s->id);
}

#endif
