/*
 * gifts: walks the table of gifts, for finding and for keeping; spawn calls it behind the fork. A
 * descriptor that was not given is closed: a forgotten listener would go on swallowing connections,
 * and a forgotten control socket would hide the master's death.
 */
#include "master/gifts.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "files/doubt_client.h"
#include "machine/cpus.h"
#include "master/doubts.h"
#include "master/master_state.h"
#include "share/tally.h"

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

/* The image of the generation that serves; not if another user's keeper made it, which may have
 * read more than this one is allowed to. */
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

static void find_tally(struct gifts *to, const struct child *c)
{
	struct tally **all = &c->gen->master->tally;

	if (c->board == NULL)
		tally_free(all);
	to->tally = *all;
}

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
		.board = g->master->board,
		.bus = g->master->bus,
		.board_slot = c->board,
		.heir = g->master->phase == MASTER_HEIR,
		.cpus = cpus_usable(),
		.cache_size = cache_room_size(&g->master->cache_room, g->conf),
		.first_image = g->master->next_image,
		.replaces = g->image.arg != 0,
	};
	for (unsigned i = 0; i < GIFTS; i++)
		if (c->kind->gets & rows[i].flag)
			to->all[i] = rows[i].find(c);
	find_tally(to, c);
	to->listeners = gen_listeners(c, &to->nlisteners);
	return to->listeners != NULL ? 0 : -ENOMEM;
}

/* --- keeping ---------------------------------------------------------------------------------- */

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
