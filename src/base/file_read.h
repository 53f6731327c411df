/*
 * file_read: a short file, whole, in one call. For files of an operator, which may be replaced
 * while they are read: whoever calls it looks at what came.
 */
#ifndef H2D_BASE_FILE_READ_H
#define H2D_BASE_FILE_READ_H

#include <stddef.h>
#include <sys/types.h>

/*
 * The file's first bytes, at most size of them, into buf, which stays the caller's. How many there
 * were (size: the file may be longer), or -errno. A FIFO without a writer is empty; nothing waits.
 */
ssize_t file_read(const char *path, void *buf, size_t size);

#endif
