/*
 * load: makes the map and maps it: the values of an array lie side by side. The descriptor stays
 * the master's: with it a process could write to every slot.
 */
#include "net/load.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net/ebpf.h"

_Static_assert(sizeof(struct load_slot) == 4096, "a slot is one page");

enum { BYTES = LOAD_SLOTS * sizeof(struct load_slot) };

int load_open(struct load *l)
{
	void *p;
	int fd = ebpf_map_new(
		BPF_MAP_TYPE_ARRAY, sizeof(struct load_slot), LOAD_SLOTS, BPF_F_MMAPABLE);

	*l = (struct load){ .fd = -1 };
	if (fd < 0)
		return fd;
	p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	*l = (struct load){ .fd = fd, .slots = p };
	return 0;
}

void load_close(struct load *l)
{
	if (l->slots == NULL)
		return;
	munmap(l->slots, BYTES);
	close(l->fd);
	*l = (struct load){ .fd = -1 };
}

struct load_slot *load_keep(struct load *l, unsigned slot)
{
	struct load_slot *own = &l->slots[slot];
	char *end = (char *)(l->slots + LOAD_SLOTS), *after = (char *)(own + 1);

	if (slot > 0 && munmap(l->slots, (size_t)((char *)own - (char *)l->slots)) < 0)
		return NULL;
	if (after < end && munmap(after, (size_t)(end - after)) < 0)
		return NULL;
	l->slots = NULL;
	return own;
}

#define LOAD(field)     __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define STORE(field, v) __atomic_store_n(&(field), (v), __ATOMIC_RELAXED)

/* Between 0 and max; what is below 0 has wrapped. */
static uint32_t clamp(uint32_t n, uint32_t max)
{
	if ((int32_t)n < 0)
		return 0;
	return n < max ? n : max;
}

/* Connections that were sent here since the last look; *recent: in the time that counts. */
static uint32_t note(struct load_seen *v, uint32_t assigned, uint32_t *recent)
{
	uint32_t *oldest = &v->assigned[v->looks % LOAD_LOOKS];
	uint32_t last = v->assigned[(v->looks + LOAD_LOOKS - 1) % LOAD_LOOKS];

	*recent = assigned - *oldest;
	*oldest = assigned;
	v->looks++;
	return assigned - last;
}

uint32_t load_look(const struct load_slot *s, struct load_seen *v, uint32_t live, uint32_t came,
	uint32_t queued)
{
	uint32_t assigned = LOAD(s->assigned), visible = came + queued, fresh, recent;

	if (!v->begun) {
		for (unsigned i = 0; i < LOAD_LOOKS; i++)
			v->assigned[i] = assigned;
		v->visible = visible;
		v->begun = true;
	}
	fresh = note(v, assigned, &recent);
	v->half_open = clamp(v->half_open + fresh - (visible - v->visible), recent);
	v->visible = visible;
	return live + queued + v->half_open;
}

void load_set(struct load_slot *s, const struct load_seen *v, uint32_t load)
{
	STORE(s->settled, v->assigned[(v->looks - 1) % LOAD_LOOKS] - load);
}

void load_clear(struct load_slot *s)
{
	STORE(s->settled, LOAD(s->assigned));
}

uint32_t load_of(const struct load_slot *s)
{
	return LOAD(s->assigned) - LOAD(s->settled);
}

void load_gone(struct load_slot *s, uint32_t n)
{
	STORE(s->settled, LOAD(s->settled) + n);
}
