/*
 * cachestat: cachestat(2) of Linux 6.5, which the C library does not have: how many pages of a
 * file's range are in memory. Called by files/ on the loop, and named by sandbox/, whose library
 * may not know it by its name.
 */
#ifndef H2D_BASE_CACHESTAT_H
#define H2D_BASE_CACHESTAT_H

#include <stdint.h>
#include <unistd.h>

#ifdef __alpha__
enum { CACHESTAT_NUMBER = 561 };
#else
enum { CACHESTAT_NUMBER = 451 };
#endif

struct cachestat_of {
	uint64_t at, n;
};

struct cachestat_pages {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

/* 0; -1 with errno: ENOSYS before Linux 6.5; EPERM, since early 2025, where the caller neither owns
 * the file nor may write to it. Pages count that the disk has yet to fill. */
static inline int cachestat_ask(int fd, const struct cachestat_of *of, struct cachestat_pages *now)
{
	return (int)syscall(CACHESTAT_NUMBER, fd, of, now, 0);
}

#endif
