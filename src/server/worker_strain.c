/*
 * worker_strain: a timer that measures its own delay: a loop that is short of time, because of its
 * own work, other processes or the quota of a control group, delays it like a request.
 */

#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "board/board_health.h"
#include "server/worker_state.h"

enum {
	LOOK_MS = 50,
	MEMORY = 20, /* looks: the result is of the last second or two */
};

static uint64_t used_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Follows a measured value: each look counts for a twentieth. */
static uint32_t worker_strain_follow(uint32_t shown, uint64_t measured)
{
	int64_t more = (int64_t)(measured < UINT32_MAX ? measured : UINT32_MAX) - shown;

	return (uint32_t)(shown + more / MEMORY);
}

static void worker_strain_look(struct timer *t)
{
	struct worker *w = LIST_ENTRY(t, struct worker, strain.timer);
	struct board_slot *slot = w->args->board_slot;
	uint64_t now = clock_read_us(), used = used_us();
	uint64_t due = w->strain.at_us + LOOK_MS * 1000;
	uint64_t passed = now > w->strain.at_us ? now - w->strain.at_us : 1;

	__atomic_store_n(&slot->late_us,
		worker_strain_follow(slot->late_us, now > due ? now - due : 0), __ATOMIC_RELAXED);
	__atomic_store_n(&slot->busy,
		worker_strain_follow(slot->busy, (used - w->strain.used_us) * 1000 / passed),
		__ATOMIC_RELAXED);
	w->strain.at_us = now;
	w->strain.used_us = used;
	timer_arm(&w->loop.wheel, t, clock_ms() + LOOK_MS);
}

void worker_strain_start(struct worker *w)
{
	bool asked = false;

	timer_init(&w->strain.timer, worker_strain_look);
	for (unsigned i = 0; i < w->args->nlisteners; i++)
		asked |= w->args->listeners[i].conf->haproxy_agent;
	if (!asked)
		return;
	w->strain.at_us = clock_read_us();
	w->strain.used_us = used_us();
	timer_arm(&w->loop.wheel, &w->strain.timer, clock_ms() + LOOK_MS);
}

/*
 * The whole answer has room in an empty socket. The load balancer's bytes (agent-send) are read
 * before the end, or a reset would destroy the answer.
 */
void worker_strain_answer(struct worker *w, int fd)
{
	char text[AGENT_TEXT], said[256];
	unsigned n =
		agent_text(w->args->board, w->args->conf->worker_connections, clock_ms(), text);

	send(fd, text, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	while (recv(fd, said, sizeof(said), MSG_DONTWAIT) == (ssize_t)sizeof(said))
		;
	close(fd);
}
