/*
 * world_unit: the memory of this process as it was, put back, in the place of a fork: a tenth of
 * its time. A process looks on, and another, its child, saves and puts back the pages that are
 * known to be written, and no other. Which these are is learned: a page that parent and child do
 * not share any more was written, by the program or by the kernel for it. Where such a page was not
 * among those that are saved, all that was found is void, and is found again with it among them.
 *
 * Descriptors that a world opens are closed with it. One that it closes stays open, for another
 * world has it still: whoever waits for an end of file has to be given one (dead_end()).
 */
#pragma once

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"

enum {
	WORLD_PAGE = 4096,
	WORLD_PAGES = 2048,
	WORLD_LEVELS = 40,
	WORLD_RANGES = 64,
	WORLD_MAPPED = 1024,
	WORLD_HEAP = 4 << 20
};

/* Memory that may be written, but the stack. */
struct world_range {
	uintptr_t from, to;
};

struct world_mapped {
	void *at;
	size_t size;
};

/* Shared by both processes, and in no world. */
static struct world {
	struct world_range ranges[WORLD_RANGES];
	unsigned nranges;
	uintptr_t pages[WORLD_PAGES]; /* that are saved */
	unsigned npages;
	struct world_mapped mapped[WORLD_MAPPED]; /* since the fork */
	unsigned nmapped;
	struct {
		int fd; /* the first behind which none was open */
		unsigned nmapped;
	} levels[WORLD_LEVELS];
	char maps[1 << 16];
	uint8_t copies[WORLD_LEVELS][WORLD_PAGES][WORLD_PAGE];
} * world;

static int world_fd; /* those below belong to a world that is saved */

#ifndef __SANITIZE_ADDRESS__
int close(int fd)
{
	return fd < world_fd ? 0 : (int)syscall(SYS_close, fd);
}

/* It goes with the world that made it. */
void *mmap(void *at, size_t size, int rights, int flags, int fd, off_t offset)
{
	void *p = (void *)syscall(SYS_mmap, at, size, rights, flags, fd, offset);

	if (world_fd > 0 && p != MAP_FAILED) {
		H2D_ASSERT(world->nmapped < WORLD_MAPPED);
		world->mapped[world->nmapped++] = (struct world_mapped){ p, size };
	}
	return p;
}

int munmap(void *p, size_t size)
{
	return world_fd > 0 ? 0 : (int)syscall(SYS_munmap, p, size);
}

int malloc_trim(size_t pad)
{
	(void)pad;
	return 0;
}
#endif

/* --- which memory ----------------------------------------------------------------------------- */

static bool world_read_range(const char *line, struct world_range *r)
{
	char rights[8];

	return sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &r->from, &r->to, rights) == 3 &&
	       strcmp(rights, "rw-p") == 0 && strstr(line, "[stack]") == NULL;
}

/* How many there are now. */
static unsigned world_read_ranges(struct world_range *ranges)
{
	char *text = world->maps;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	unsigned n = 0;
	ssize_t got;

	while ((got = read(fd, text + size, sizeof(world->maps) - 1 - size)) > 0)
		size += (size_t)got;
	syscall(SYS_close, fd);
	text[size] = '\0';
	for (const char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		H2D_ASSERT(n < WORLD_RANGES);
		if (!world_read_range(line, &ranges[n]))
			continue;
		if (n > 0 && ranges[n - 1].to == ranges[n].from)
			ranges[n - 1].to = ranges[n].to;
		else
			n++;
	}
	return n;
}

static bool world_saves(uintptr_t page)
{
	for (unsigned i = 0; i < world->npages; i++)
		if (world->pages[i] == page)
			return true;
	return false;
}

/* Present or in the swap, nobody's but this process's, and of no file. */
static bool world_is_written(uint64_t page)
{
	const uint64_t present = UINT64_C(1) << 63, swapped = UINT64_C(1) << 62,
		       file = UINT64_C(1) << 61, alone = UINT64_C(1) << 56;

	return page & swapped || (page & (present | alone | file)) == (present | alone);
}

/* Of these pages those that were written and are not saved; they are from now on. */
static unsigned world_learn_range(const struct world_range *r, int pagemap)
{
	enum { AT_ONCE = 512 };
	uint64_t seen[AT_ONCE];
	unsigned found = 0;

	for (uintptr_t at = r->from; at < r->to; at += AT_ONCE * WORLD_PAGE) {
		ssize_t n = pread(pagemap, seen, sizeof(seen), (off_t)(at / WORLD_PAGE * 8));

		H2D_ASSERT(n > 0);
		for (unsigned i = 0; i < n / 8 && at + i * WORLD_PAGE < r->to; i++) {
			if (!world_is_written(seen[i]) || world_saves(at + i * WORLD_PAGE))
				continue;
			H2D_ASSERT(world->npages < WORLD_PAGES);
			world->pages[world->npages++] = at + i * WORLD_PAGE;
			found++;
		}
	}
	return found;
}

/* Whether everything that was written since the fork is saved. */
static bool world_is_whole(void)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	unsigned found = 0;

	for (unsigned i = 0; i < world->nranges; i++)
		found += world_learn_range(&world->ranges[i], pagemap);
	syscall(SYS_close, pagemap);
	return found == 0;
}

/* Whether there is no memory that came since. */
static bool world_is_as_large(void)
{
	struct world_range ranges[WORLD_RANGES];
	unsigned n = world_read_ranges(ranges);

	return n == world->nranges && memcmp(ranges, world->ranges, n * sizeof(ranges[0])) == 0;
}

/* --- saving, and putting back ----------------------------------------------------------------- */

/* Whether it can be done here: valgrind has memory of its own in this process. */
static bool world_can(void)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd >= 0 && getenv("LD_PRELOAD") == NULL;
}

/* Once, before anything else is made. */
static void world_init(void)
{
	void *heap;

	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	H2D_ASSERT(world != MAP_FAILED);
	/* All is in one piece, which does not grow. */
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	heap = malloc(WORLD_HEAP);
	H2D_ASSERT(heap != NULL);
	free(heap);
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

/* In the process that looks on, before it forks. */
static void world_begin(void)
{
	world->nranges = world_read_ranges(world->ranges);
	world->nmapped = 0;
}

/* The first descriptor from fd on behind which none is open. */
static int world_last_fd(int fd)
{
	enum { AT_ONCE = 128 };
	struct pollfd look[AT_ONCE];
	int last = fd, seen = 1;

	for (; seen > 0; fd += AT_ONCE) {
		for (int i = 0; i < AT_ONCE; i++)
			look[i] = (struct pollfd){ .fd = fd + i };
		seen = 0;
		H2D_ASSERT(poll(look, AT_ONCE, 0) >= 0);
		for (int i = 0; i < AT_ONCE; i++)
			if (!(look[i].revents & POLLNVAL)) {
				last = fd + i + 1;
				seen++;
			}
	}
	return last;
}

static void world_save(unsigned level)
{
	H2D_ASSERT(level < WORLD_LEVELS);
	world_fd = world_last_fd(level > 0 ? world->levels[level - 1].fd : 0);
	world->levels[level].fd = world_fd;
	world->levels[level].nmapped = world->nmapped;
	for (unsigned i = 0; i < world->npages; i++)
		memcpy(world->copies[level][i], (const void *)world->pages[i], WORLD_PAGE);
}

static void world_put_back(unsigned level)
{
	for (unsigned i = 0; i < world->npages; i++)
		memcpy((void *)world->pages[i], world->copies[level][i], WORLD_PAGE);
	close_range((unsigned)world->levels[level].fd, ~0U, 0);
	while (world->nmapped > world->levels[level].nmapped) {
		const struct world_mapped *m = &world->mapped[--world->nmapped];

		syscall(SYS_munmap, m->at, m->size);
	}
}
