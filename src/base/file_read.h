/*
 * file_read: reads a short file in one call. For files of an operator, which may be replaced
 * meanwhile: the caller checks the content.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * Reads the file's first bytes, at most size, into buf. Returns how many (size: the file may be
 * longer), or -errno. A FIFO without a writer is empty; never waits.
 */
ssize_t file_read(const char *path, void *buf, size_t size);
