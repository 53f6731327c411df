/*
 * board_lines: a ring with one writer. A line has number 0 while it is written, so that a reader in
 * another process, which looks at the number before and after, never takes half of one.
 */
#include "board/board_lines.h"

#include <string.h>

void board_lines_add(struct board_lines *ring, const struct board_line *line)
{
	uint32_t number = ring->n + 1;
	struct board_line *to = &ring->v[ring->n % BOARD_LINES];

	__atomic_store_n(&to->number, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	to->level = line->level;
	to->ms = line->ms;
	to->pid = line->pid;
	memcpy(to->who, line->who, sizeof(to->who));
	memcpy(to->text, line->text, sizeof(to->text));
	__atomic_store_n(&to->number, number, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->n, number, __ATOMIC_RELEASE);
}

bool board_lines_get(const struct board_lines *ring, unsigned i, struct board_line *out)
{
	uint32_t n = __atomic_load_n(&ring->n, __ATOMIC_ACQUIRE);
	const struct board_line *from;

	if (i >= n || i >= BOARD_LINES)
		return false;
	from = &ring->v[(n - 1 - i) % BOARD_LINES];
	if (__atomic_load_n(&from->number, __ATOMIC_ACQUIRE) != n - i)
		return false;
	memcpy(out, from, sizeof(*out));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	out->who[sizeof(out->who) - 1] = out->text[sizeof(out->text) - 1] = '\0';
	return __atomic_load_n(&from->number, __ATOMIC_RELAXED) == n - i;
}
