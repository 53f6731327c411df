/*
 * spawn: makes a child. The parent's half is a fork and nothing else; the child's half ends in exit().
 * A descriptor that is not on the child's list is closed there: a forgotten listener would go on
 * swallowing connections, and a forgotten control socket would hide the master's death.
 */
#include "master/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "cache/keeper.h"
#include "event/sig.h"
#include "master/master.h"

static int compare_fds(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/* Closes everything above stderr that is not among keep[0..n). */
static int close_others(int *keep, unsigned n)
{
	unsigned from = STDERR_FILENO + 1;

	qsort(keep, n, sizeof(*keep), compare_fds);
	for (unsigned i = 0; i < n; i++) {
		unsigned fd = (unsigned)keep[i];

		if (keep[i] < 0 || fd < from)
			continue;
		if (fd > from && close_range(from, fd - 1, 0) < 0)
			return -errno;
		from = fd + 1;
	}
	return close_range(from, ~0U, 0) < 0 ? -errno : 0;
}

static int no_stdin(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fd != STDIN_FILENO) {
		if (dup2(fd, STDIN_FILENO) < 0)
			return -errno;
		close(fd);
	}
	return 0;
}

/* Worker slot n runs on the n-th CPU that h2d may run on. */
static void pin(unsigned slot)
{
	cpu_set_t all, one;
	int skip;

	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return;
	skip = (int)(slot % (unsigned)CPU_COUNT(&all));
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || skip-- > 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one) < 0)
			log_warn("cannot pin to CPU %d: %s", cpu, strerror(errno));
		return;
	}
}

static int run_worker(const struct child *c, struct board *board, int ctl)
{
	const struct gen *g = c->gen;
	unsigned n;
	struct worker_listener *listeners = gen_worker_listeners(g, c->slot, &n);
	int *keep = calloc(n + 3, sizeof(*keep));
	int rc;

	if (listeners == NULL || keep == NULL)
		return EXIT_FAILURE;
	for (unsigned i = 0; i < n; i++)
		keep[i] = listeners[i].fd;
	keep[n] = ctl;
	keep[n + 1] = g->logs.error;
	keep[n + 2] = g->logs.access;
	rc = close_others(keep, n + 3);
	free(keep);
	if (rc == 0 && g->conf->worker_cpu_affinity != 0)
		pin(c->slot);
	if (rc == 0)
		rc = privs_drop(&g->basis.privs);
	if (rc == 0)
		rc = board_protect(board, c->board);
	if (rc < 0) {
		log_error("start: %s", strerror(-rc));
		free(listeners);
		return EXIT_FAILURE;
	}
	assert_last_words_to(c->board->words, sizeof(c->board->words));
	counters_to(&c->board->counters);
	rc = worker_run(&(struct worker_args){
		.conf = g->conf,
		.trees = &g->basis.trees,
		.sites = g->basis.sites,
		.slot = c->slot,
		.board = board,
		.board_slot = c->board,
		.generation = g->number,
		.ctl = ctl,
		.error_log = g->logs.error,
		.access_log = g->logs.access,
		.listeners = listeners,
		.nlisteners = n,
	});
	free(listeners);
	return rc;
}

static int run_keeper(const struct child *c, struct board *board, int ctl, uint64_t first_image)
{
	const struct gen *g = c->gen;
	const struct gen *serving = g->master->current != NULL ? g->master->current : g;
	int keep[CTL_FDS_MAX + 2] = { ctl, g->logs.error };
	int nimage = 0, rc;

	/*
	 * The newest image goes along: what has not changed since is taken over from it, unless another
	 * user read it, who may have been allowed more.
	 */
	if (privs_same(&serving->basis.privs, &g->basis.privs))
		nimage = serving->nimage_fds;
	memcpy(keep + 2, serving->image_fds, (size_t)nimage * sizeof(*keep));
	rc = close_others(keep, 2 + (unsigned)nimage);

	if (rc == 0)
		rc = privs_drop(&g->basis.privs);
	if (rc == 0)
		rc = board_protect(board, NULL);
	if (rc < 0) {
		log_error("start: %s", strerror(-rc));
		return EXIT_FAILURE;
	}
	return keeper_run(&(struct keeper_args){
		.files = g->basis.trees.files,
		.ctl = ctl,
		.error_log = g->logs.error,
		.generation = g->number,
		.first_number = first_image,
		.image = serving->image_fds,
		.nimage = nimage,
	});
}

static _Noreturn void run(struct child *c, struct board *board, int ctl, uint64_t first_image)
{
	char who[32] = "keeper";
	int rc;

	if (c->kind == CHILD_WORKER)
		snprintf(who, sizeof(who), "worker %u", c->slot);
	sig_reset();
	log_who(who);
	log_to(c->gen->logs.error);
	log_max = (enum log_level)c->gen->conf->log_level;
	rc = no_stdin();
	if (rc < 0) {
		log_error("start: /dev/null: %s", strerror(-rc));
		exit(EXIT_FAILURE);
	}
	rc = c->kind == CHILD_WORKER ? run_worker(c, board, ctl) :
				       run_keeper(c, board, ctl, first_image);
	/* Not _exit(): the leak check of a sanitizer build is an exit handler. */
	exit(rc);
}

pid_t spawn(struct child *c, struct board *board, uint64_t first_image, int *ctl)
{
	int ends[2];
	int rc = ctl_pair(ends);
	pid_t pid;

	H2D_ASSERT(c->pid == 0);
	if (rc < 0)
		return rc;
	fflush(NULL); /* what waits in stdio is written once, by us */
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		run(c, board, ends[1], first_image);
	}
	rc = -errno;
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return rc;
	}
	*ctl = ends[0];
	return pid;
}
