/*
 * spawn: makes the process of a child. The parent's half is a fork and nothing else; the child's
 * half ends in exit(). A descriptor that is not on the child's list is closed there: a forgotten
 * listener would go on swallowing connections, and a forgotten control socket would hide the
 * master's death.
 */
#include "master/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/crash.h"
#include "base/log.h"
#include "event/sig.h"
#include "files/doubt_client.h"
#include "master/balance.h"
#include "master/doubts.h"
#include "master/master_state.h"
#include "net/ctl.h"
#include "sandbox/sandbox.h"

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

/* The newest image of the generation that serves, for a process that begins where it ended. */
static void give_image(const struct gen *g, struct child_run *r)
{
	const struct gen *serving = g->master->current;

	if (serving == NULL) {
		r->image = heir_image(g->master, &g->resources.privs, &r->nimage);
		return;
	}
	/* What another user read may be more than this one is allowed to. */
	if (!privs_same(&serving->resources.privs, &g->resources.privs))
		return;
	r->image = serving->image_fds;
	r->nimage = serving->nimage_fds;
}

/* Closes what is not on the list of the kind. */
static int keep_own(const struct child_run *r)
{
	unsigned n = 0, max = r->nlisteners + (unsigned)r->nimage + r->nkeepers + 2 * r->ninboxes +
			      r->naccess_logs + 4;
	int *keep = calloc(max, sizeof(*keep));
	int rc;

	if (keep == NULL)
		return -ENOMEM;
	keep[n++] = r->ctl;
	keep[n++] = r->error_log;
	keep[n++] = r->doubts;
	keep[n++] = r->inbox;
	for (unsigned i = 0; i < r->naccess_logs; i++)
		keep[n++] = r->access_logs[i];
	for (unsigned i = 0; i < 2 * r->ninboxes; i++)
		keep[n++] = r->inboxes[i / 2][i % 2];
	for (unsigned i = 0; i < r->nlisteners; i++)
		keep[n++] = r->listeners[i].fd;
	for (int i = 0; i < r->nimage; i++)
		keep[n++] = r->image[i];
	for (unsigned i = 0; i < r->nkeepers; i++)
		keep[n++] = r->keepers[i];
	rc = close_others(keep, n);
	free(keep);
	return rc;
}

/* Whom the kernel ends first for want of memory; without /proc all are alike. */
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

/* From the master's rights and memory to the child's own. */
static int become_child(const struct child_kind *kind, const struct child_run *r)
{
	int rc = board_protect(r->board, r->board_slot);

	go_before_master(kind->expendable);
	if (rc == 0)
		rc = no_stdin();
	if (rc == 0)
		rc = keep_own(r);
	if (rc == 0)
		rc = sandbox_enter(&kind->sandbox, r->conf, &r->resources->privs);
	return rc;
}

static int run(const struct child *c, const struct child_run *r)
{
	int rc = become_child(c->kind, r);

	if (rc < 0) {
		log_error("start: %s", strerror(-rc));
		return EXIT_FAILURE;
	}
	if (r->board_slot != NULL) {
		assert_last_words_to(r->board_slot->words, sizeof(r->board_slot->words));
		crash_words_to(r->board_slot->words, sizeof(r->board_slot->words));
		counters_to(&r->board_slot->counters);
	}
	return c->kind->run(r);
}

/* Private keys of all generations but those of keep (NULL: of none) go from this process's memory.
 */
static void forget_keys(const struct master *m, const struct gen *keep)
{
	LIST_FOREACH(node, &m->gens) {
		struct gen *g = LIST_ENTRY(node, struct gen, node);

		if (g != keep)
			certs_fini(&g->resources.certs);
	}
}

/* Of the map of loads a process keeps its own slot's page, if its generation is balanced by it. */
static int keep_load(const struct child *c, struct child_run *r)
{
	struct load *all = &c->gen->master->load;

	if (all->slots == NULL)
		return 0;
	if (!(c->kind->gets & CHILD_LISTENERS) || !balance_has_load(c->gen)) {
		load_close(all);
		return 0;
	}
	r->load = load_keep(all, c->slot);
	return r->load != NULL ? 0 : -errno;
}

static _Noreturn void child_main(struct child *c, int ctl)
{
	const struct gen *g = c->gen;
	unsigned gets = c->kind->gets;
	struct worker_listener *listeners = NULL;
	int keepers[DOUBT_KEEPERS];
	struct child_run r = {
		.conf = g->conf,
		.resources = &g->resources,
		.generation = g->number,
		.slot = c->slot,
		.board = g->master->board,
		.board_slot = c->board,
		.ctl = ctl,
		.error_log = gets & CHILD_ERROR_LOG ? g->logs.error : -1,
		.access_logs = g->logs.access,
		.naccess_logs = gets & CHILD_ACCESS_LOGS ? g->logs.naccess : 0,
		.cache_size = cache_room_size(&g->master->cache_room, g->conf),
		.first_image = g->master->next_image,
		.doubts = gets & CHILD_DOUBTS ? g->doubts[0] : -1,
		.inbox = -1,
		.heir = g->master->phase == MASTER_HEIR,
		.replaces = g->image.arg != 0,
		.keepers = keepers,
	};
	char who[32];
	int rc;

	child_name(c, who, sizeof(who));
	sig_reset();
	log_who(who);
	log_forget();
	ctl_lines_to(ctl);
	log_to(g->logs.error);
	log_max = (enum log_level)g->conf->log_level;
	forget_keys(g->master, gets & CHILD_KEYS ? g : NULL);
	if (!(gets & CHILD_KEYS))
		tls_tickets_forget();
	if (gets & CHILD_KEEPERS)
		r.nkeepers = doubts_find(g->master, keepers, DOUBT_KEEPERS);
	if (gets & CHILD_LAST_IMAGE)
		give_image(g, &r);
	if (gets & CHILD_INBOX && g->inboxes.n > 0)
		r.inbox = g->inboxes.ends[c->slot][0];
	if (gets & CHILD_INBOXES) {
		r.inboxes = g->inboxes.ends;
		r.ninboxes = g->inboxes.n;
		listeners = gen_acceptor_listeners(g, &r.nlisteners);
	} else if (gets & CHILD_LISTENERS) {
		listeners = gen_worker_listeners(g, c->slot, &r.nlisteners);
	}
	if (keep_load(c, &r) < 0)
		exit(EXIT_FAILURE);
	if (gets & (CHILD_INBOXES | CHILD_LISTENERS) && listeners == NULL)
		exit(EXIT_FAILURE);
	r.listeners = listeners;
	rc = run(c, &r);
	free(listeners);
	/* Not _exit(): the leak check of a sanitizer build is an exit handler. */
	exit(rc);
}

pid_t spawn(struct child *c, int *ctl)
{
	int ends[2];
	int rc = ctl_pair(ends);
	pid_t pid;

	if (rc < 0)
		return rc;
	fflush(NULL); /* what waits in stdio is written once, by us */
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
