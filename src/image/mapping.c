/*
 * mapping: the list of segments that this process has mapped, found by device and inode: a mapped
 * memfd keeps its inode, so its number names nothing else. Called by image_map.c in any thread,
 * under one lock; it never looks at what a segment holds.
 */
#include "image/mapping.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/list.h"
#include "image/memfd.h"

struct mapping {
	struct list node;
	dev_t dev;
	ino_t ino;
	const void *bytes;
	size_t size;
	unsigned users;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that follows */
static struct list all = { &all, &all };
static unsigned count;

static struct mapping *find(const struct stat *st)
{
	LIST_FOREACH(node, &all) {
		struct mapping *m = LIST_ENTRY(node, struct mapping, node);

		if (m->dev == st->st_dev && m->ino == st->st_ino)
			return m;
	}
	return NULL;
}

static struct mapping *map(int fd, const struct stat *st, const char **fault)
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
	m = find(&st);
	if (m == NULL)
		m = map(fd, &st, fault);
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
		count--;
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
