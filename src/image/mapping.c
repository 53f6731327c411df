/*
 * mapping: the list of segments that this process has mapped, found by device and inode: a mapped
 * memfd keeps its inode, so its number names nothing else. Called by segment_map.c in any thread,
 * under one lock; it never looks at what a segment holds.
 */
#include "image/segment_map.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/list.h"
#include "image/memfd.h"

struct mapping {
	struct list node;
	dev_t dev;
	ino_t ino;
	const void *bytes;
	size_t size;
	unsigned users;
	bool detached;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that follows */
static struct list all = { &all, &all };
static unsigned count;

static struct mapping *find_mapping(const struct stat *st)
{
	LIST_FOREACH(node, &all) {
		struct mapping *m = LIST_ENTRY(node, struct mapping, node);

		if (m->dev == st->st_dev && m->ino == st->st_ino)
			return m;
	}
	return NULL;
}

static struct mapping *map_segment(int fd, const struct stat *st, const char **fault)
{
	struct mapping *m = calloc(1, sizeof(*m));

	*fault = "out of memory";
	if (m == NULL)
		return NULL;
	m->dev = st->st_dev;
	m->ino = st->st_ino;
	m->size = (size_t)st->st_size;
	m->bytes = "";
	/* Populated here, so that the loop takes no page faults. */
	if (m->size > 0)
		m->bytes = mmap(NULL, m->size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (m->bytes == MAP_FAILED) {
		*fault = "cannot be mapped";
		free(m);
		return NULL;
	}
	*fault = NULL;
	list_append(&all, &m->node);
	count++;
	return m;
}

struct mapping *mapping_get(int fd, const char **fault)
{
	struct mapping *m;
	struct stat st;

	if (memfd_sealed_size(fd, true) < 0 || fstat(fd, &st) < 0) {
		*fault = "not sealed";
		return NULL;
	}
	pthread_mutex_lock(&lock);
	m = find_mapping(&st);
	if (m == NULL)
		m = map_segment(fd, &st, fault);
	if (m != NULL)
		m->users++;
	pthread_mutex_unlock(&lock);
	return m;
}

void mapping_put(struct mapping *m)
{
	pthread_mutex_lock(&lock);
	if (--m->users == 0) {
		list_remove(&m->node);
		count -= !m->detached;
	} else {
		m = NULL;
	}
	pthread_mutex_unlock(&lock);
	if (m == NULL)
		return;
	if (m->size > 0)
		munmap((void *)(uintptr_t)m->bytes, m->size);
	free(m);
}

bool mapping_detach(struct mapping *m)
{
	pthread_mutex_lock(&lock);
	if (m->users == 1 && !m->detached) {
		list_remove(&m->node);
		count--;
		m->detached = true;
	}
	pthread_mutex_unlock(&lock);
	return m->detached;
}

static void copy_pages(const struct mapping *m, const uint64_t *pages, uint8_t *to)
{
	for (size_t at = 0; at < m->size; at += MAPPING_PAGE) {
		size_t page = at / MAPPING_PAGE, left = m->size - at;

		if (pages[page / 64] >> page % 64 & 1)
			memcpy(to + at, (const uint8_t *)m->bytes + at,
				left < MAPPING_PAGE ? left : MAPPING_PAGE);
	}
}

int mapping_copy(struct mapping *m, const uint64_t *pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (m->size + page - 1) & ~(page - 1);
	uint8_t *copy;
	int rc = 0;

	H2D_ASSERT(m->detached);
	if (n == 0)
		return 0;
	copy = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		-1, 0);
	if (copy == MAP_FAILED)
		return -errno;
	/* A page is to cost no more than a page. */
	madvise(copy, n, MADV_NOHUGEPAGE);
	copy_pages(m, pages, copy);
	/* A reader sees either of them meanwhile, and both are the same: it is one step. */
	if (mprotect(copy, n, PROT_READ) < 0 ||
		mremap(copy, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, m->bytes) == MAP_FAILED) {
		rc = -errno;
		munmap(copy, n);
	}
	return rc;
}

const uint8_t *mapping_bytes(const struct mapping *m)
{
	return m->bytes;
}

uint64_t mapping_size(const struct mapping *m)
{
	return m->size;
}

unsigned mapping_count(void)
{
	unsigned n;

	pthread_mutex_lock(&lock);
	n = count;
	pthread_mutex_unlock(&lock);
	return n;
}
