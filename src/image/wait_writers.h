/*
 * wait_writers: waits until no write(2) to a file is under way. A write moves the time stamps first
 * and the bytes afterwards: a reader that looks at both in between sees new stamps on half-old
 * content. The call blocks as long as that one write lasts, so it is for threads, never for a loop;
 * only a few threads of a process may wait at a time.
 */
#ifndef H2D_IMAGE_WAIT_WRITERS_H
#define H2D_IMAGE_WAIT_WRITERS_H

#include "base/file_id.h"

/* A write that began so long ago is not waited for: inotify(7) tells of its end. */
#define WAIT_WRITERS_NS INT64_C(60000000000)

/*
 * Every write that had begun before is complete afterwards; one that begins later moves the stamps
 * again. So: stat, wait, read, stat. The file's position is moved: use pread(2). 0; -EAGAIN at once
 * if another thread waits for this file, or too many for others.
 */
int wait_writers(int fd, const struct file_id *id);

#endif
