/* spawn: the parent's half is only a fork; the child's half ends in exit(). */
#include "master/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/crash.h"
#include "base/handler_counts.h"
#include "base/log.h"
#include "base/process_use.h"
#include "event/loop.h"
#include "files/doubt_client.h"
#include "ipc/ctl.h"
#include "machine/cache_room.h"
#include "machine/cgroup.h"
#include "master/doubts.h"
#include "master/master_state.h"
#include "sandbox/sandbox.h"
#include "share/tally.h"
#include "tls/tls_tickets.h"

/* --- where each is found ---------------------------------------------------------------------- */

static struct gift one(const int *fd)
{
	return (struct gift){ fd, *fd >= 0 };
}

static struct gift find_error_log(const struct child *c)
{
	return one(&c->gen->logs.error);
}

static struct gift find_access_logs(const struct child *c)
{
	return (struct gift){ c->gen->logs.access, c->gen->logs.naccess };
}

/* The image of the serving generation; not if another user's keeper made it, which may have read
 * more than this one may. */
static struct gift find_image(const struct child *c)
{
	const struct gen *serving = c->gen->master->current;

	if (serving == NULL || !privs_same(&serving->resources.privs, &c->gen->resources.privs))
		return (struct gift){ 0 };
	return (struct gift){ serving->image_fds, (unsigned)serving->nimage_fds };
}

static struct gift find_doubts(const struct child *c)
{
	return one(&c->gen->doubts[0]);
}

static struct gift find_keepers(const struct child *c)
{
	static int fds[DOUBT_KEEPERS];

	return (struct gift){ fds, doubts_find(c->gen->master, fds, DOUBT_KEEPERS) };
}

static struct gift find_inbox(const struct child *c)
{
	const struct inboxes *in = &c->gen->inboxes;

	return in->n > 0 ? one(&in->ends[c->slot][0]) : (struct gift){ 0 };
}

static struct gift find_inboxes(const struct child *c)
{
	return (struct gift){ &c->gen->inboxes.ends[0][0], 2 * c->gen->inboxes.n };
}

static const struct {
	unsigned flag;
	struct gift (*find)(const struct child *c);
} rows[GIFTS] = {
#define GIFT(flag, name, what) { CHILD_##flag, find_##name },
#include "ipc/gift.def"
};

/* --- finding ---------------------------------------------------------------------------------- */

int gifts_find(struct gifts *to, const struct child *c, int ctl)
{
	const struct gen *g = c->gen;

	*to = (struct gifts){
		.conf = g->conf,
		.trees = &g->resources.trees,
		.files = &g->resources.trees.files,
		.sites = g->resources.sites,
		.generation = g->number,
		.slot = c->slot,
		.ctl = ctl,
		.board = g->master->shared.board,
		.bus = g->master->shared.bus,
		.board_slot = c->board,
		.heir = g->master->phase == MASTER_HEIR,
		.cpus = cpus_usable(),
		.cache_size = cache_room_size(g->conf),
		.first_image = g->master->next_image,
		.replaces = g->image.arg != 0,
	};
	for (unsigned i = 0; i < GIFTS; i++)
		if (c->kind->gets & rows[i].flag)
			to->all[i] = rows[i].find(c);
	if (c->board == NULL)
		tally_free(&g->master->shared.tally);
	to->tally = g->master->shared.tally;
	to->listeners = gen_listeners(c, &to->nlisteners);
	return to->listeners != NULL ? 0 : -ENOMEM;
}

/* --- keeping ---------------------------------------------------------------------------------- */

static int compare_fds(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/* Closes all descriptors above stderr that are not among keep[0..n). */
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

int gifts_keep(const struct gifts *g)
{
	unsigned n = 1 + g->nlisteners;
	int *keep, rc;

	for (unsigned i = 0; i < GIFTS; i++)
		n += g->all[i].n;
	keep = calloc(n, sizeof(*keep));
	if (keep == NULL)
		return -ENOMEM;
	n = 0;
	keep[n++] = g->ctl;
	for (unsigned i = 0; i < g->nlisteners; i++)
		keep[n++] = g->listeners[i].fd;
	for (unsigned i = 0; i < GIFTS; i++)
		for (unsigned k = 0; k < g->all[i].n; k++)
			keep[n++] = g->all[i].fds[k];
	rc = close_others(keep, n);
	free(keep);
	return rc;
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

/* When memory is out the kernel kills this process before the master; without /proc all are
 * equal. */
static void go_before_master(int by)
{
	int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC), is;
	char text[16] = "";

	if (fd < 0)
		return;
	if (read(fd, text, sizeof(text) - 1) > 0) {
		is = atoi(text) + by;
		snprintf(text, sizeof(text), "%d", is < 1000 ? is : 1000);
		(void)!write(fd, text, strlen(text));
	}
	close(fd);
}

static int become_child(const struct child *c, const struct gifts *gifts)
{
	int rc = board_protect(gifts->board, gifts->board_slot), epfd = -1;

	go_before_master(c->kind->expendable);
	if (rc == 0 && c->kind->gets & CHILD_KEYS)
		rc = tls_tickets_protect();
	if (rc == 0)
		rc = no_stdin();
	if (rc == 0)
		rc = gifts_keep(gifts);
	if (gifts->board_slot != NULL || (c->kind->gets & CHILD_LAST_IMAGE) != 0)
		process_use_open();
	if (rc == 0)
		rc = sandbox_enter(
			&c->kind->sandbox, c->gen->conf, &c->gen->resources.privs, &epfd);
	loop_take(epfd);
	return rc;
}

/* Other generations are useless to this process; thousands of servers are megabytes. */
static void forget_others(const struct child *c)
{
	bool any = false;

	LIST_EACH(struct gen, g, node, &c->gen->master->gens.all) {
		if (g == c->gen)
			continue;
		gen_resources_fini(&g->resources);
		conf_free(&g->conf);
		any = true;
	}
	if (any)
		malloc_trim(0);
}

static int spawn_run(const struct child *c, int ctl)
{
	struct board_slot *slot = c->board;
	static struct gifts gifts; /* to the end of the process */
	int rc = gifts_find(&gifts, c, ctl);

	if (rc == 0)
		rc = become_child(c, &gifts);
	forget_others(c);
	if (rc < 0) {
		log_error("start: %s; exiting", strerror(-rc));
		return EXIT_FAILURE;
	}
	if (slot != NULL) {
		assert_last_words_to(slot->words, sizeof(slot->words));
		crash_words_to(slot->words, sizeof(slot->words));
		counters_to(&slot->counters);
		handler_counts_to(&slot->handlers);
	}
	return c->kind->run(&gifts);
}

static _Noreturn void child_main(const struct child *c, int ctl)
{
	const struct gen *g = c->gen;
	bool has_keys = c->kind->gets & CHILD_KEYS;

	sig_reset();
	log_who(CHILD_NAME(c));
	log_forget();
	ctl_lines_to(ctl);
	log_to(g->logs.error);
	log_max = (enum log_level)g->conf->log_level;
	/* Private keys of other generations, or of all, leave this process's memory. */
	LIST_EACH(struct gen, other, node, &g->master->gens.all)
		if (!has_keys || other != g)
			certs_fini(&other->resources.certs);
	if (!has_keys)
		tls_tickets_forget();
	/* Not _exit(): the leak check of a sanitizer build is an exit handler. */
	exit(spawn_run(c, ctl));
}

pid_t spawn(struct child *c, int *ctl)
{
	int ends[2];
	int rc = scm_pair(ends);
	pid_t pid;

	if (rc < 0)
		return rc;
	fflush(NULL); /* else both would write stdio's buffers */
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		child_main(c, ends[1]);
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
