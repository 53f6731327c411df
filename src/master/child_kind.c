/*
 * child_kind: the functions of the rows run in the new process, after spawn has closed descriptors
 * that are not in the row and has dropped privileges. Only the counting runs in the master.
 */
#include "master/child.h"

#include "keeper/keeper.h"
#include "machine/cgroup.h"
#include "sandbox/sandbox_paths.h"
#include "sandbox/seccomp.h"
#include "server/acceptor.h"

static unsigned count_keepers(const struct conf *conf)
{
	return conf->cache.max_size > 0 ? 1 : 0;
}

static unsigned count_workers(const struct conf *conf)
{
	return conf->worker_processes != 0 ? (unsigned)conf->worker_processes : cpus_usable();
}

/* Worker slot n runs on the n-th CPU that h2d may run on. */
static int run_worker(const struct gifts *gifts)
{
	if (gifts->conf->worker_cpu_affinity != 0)
		cpus_pin(gifts->slot);
	return worker_run(gifts);
}

static unsigned count_acceptors(const struct conf *conf)
{
	return conf->dispatch == DISPATCH_ACCEPTOR ? 1 : 0;
}

const struct child_kind child_kinds[] = {
	/* The keeper first: the sooner it reads, the sooner there is an image. */
	{
		.name = "keeper",
		.run = keeper_run,
		.count = count_keepers,
		.gets = CHILD_ERROR_LOG | CHILD_LAST_IMAGE | CHILD_DOUBTS,
		.says = CHILD_SAYS(CTL_IMAGE) | CHILD_SAYS(CTL_CACHE) | CHILD_SAYS(CTL_AGAIN) |
			CHILD_SAYS(CTL_TICK) | CHILD_SAYS(CTL_LINE),
		.restart = { .first = 1000, .most = 60000 },
		.expendable = 200, /* no connection ends with it */
		.sandbox = {
			.paths = SANDBOX_ROOTS,
			.calls = SECCOMP_EVERY | SECCOMP_FILES | SECCOMP_KEEPER,
		},
		.died = BOARD_COUNT_keepers_died,
	},
	{
		.name = "worker",
		.numbered = true,
		.board = true,
		.run = run_worker,
		.count = count_workers,
		.gets = CHILD_LISTENERS | CHILD_ERROR_LOG | CHILD_ACCESS_LOGS | CHILD_IMAGES |
			CHILD_KEEPERS | CHILD_KEYS | CHILD_INBOX | CHILD_SERVE,
		.says = CHILD_SAYS(CTL_UP) | CHILD_SAYS(CTL_AGAIN) | CHILD_SAYS(CTL_LINE) |
			CHILD_SAYS(CTL_FULL) | CHILD_SAYS(CTL_SHOW),
		.awaited = true,
		.restart = { .first = 1000, .most = 60000, .last = 50 },
		.expendable = 50,
		.sandbox = {
			.paths = SANDBOX_ROOTS | SANDBOX_PASSWORDS | SANDBOX_UPLOADS |
				SANDBOX_LINKS | SANDBOX_MORE,
			.calls = SECCOMP_EVERY | SECCOMP_FILES | SECCOMP_WORKER | SECCOMP_SERVE,
			.fewer = true,
		},
		.died = BOARD_COUNT_workers_died,
	},
	/* Without it no connections are accepted: it is restarted soon. */
	{
		.name = "acceptor",
		.run = acceptor_run,
		.count = count_acceptors,
		.gets = CHILD_ERROR_LOG | CHILD_INBOXES | CHILD_SERVE,
		.says = CHILD_SAYS(CTL_UP) | CHILD_SAYS(CTL_AGAIN) | CHILD_SAYS(CTL_TICK) |
			CHILD_SAYS(CTL_LINE),
		.awaited = true,
		.restart = { .first = 20, .most = 50 },
		.expendable = 50,
		.sandbox = { .calls = SECCOMP_EVERY | SECCOMP_SERVE },
		.died = BOARD_COUNT_acceptors_died,
	},
	{ .name = NULL },
};
