/*
 * counters: the block this process counts in, and the names of its fields. The loop thread writes;
 * the master and the status handler read through counters_get() only.
 */
#include "base/counters.h"

#include "base/assert.h"

const struct counter_info counter_info[COUNTER_COUNT] = {
#define COUNTER(name, kind, help) { #name, COUNTER_##kind, help },
#include "base/counters.def"
};

_Static_assert(sizeof(struct counters) == COUNTER_COUNT * sizeof(int64_t), "an array of int64_t");

static struct counters private_block;
struct counters *counters = &private_block;

void counters_to(struct counters *block)
{
	counters = block;
}

int64_t counters_get(const struct counters *block, int i)
{
	H2D_ASSERT(i >= 0 && i < COUNTER_COUNT);
	return __atomic_load_n((const int64_t *)block + i, __ATOMIC_RELAXED);
}
