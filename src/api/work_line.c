/*
 * work_line: see work_line.h. The line of the threads themselves (event/offload.h) never has more
 * than one job for each: which is the next is decided here, in the loop, when one is back.
 */
#include "api/work_line.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/counters.h"
#include "base/log.h"
#include "share/budget.h"

enum { LEAST = 1, PART = 1 };

struct work_line {
	struct offload *threads;
	struct budget running;
	struct list clients; /* struct account_part that have work waiting, by their turns */
	struct account_part nobody;
};

struct work_line *work_line_new(struct loop *l, unsigned nthreads)
{
	struct work_line *line = calloc(1, sizeof(*line));

	if (line == NULL)
		return NULL;
	line->threads = offload_new(l, nthreads);
	if (line->threads == NULL) {
		free(line);
		return NULL;
	}
	budget_init(&line->running, ACCOUNT_THREADS, nthreads, LEAST, PART);
	list_init(&line->clients);
	account_part_init(&line->nobody);
	return line;
}

void work_line_free(struct work_line **at)
{
	struct work_line *line = *at;

	if (line == NULL)
		return;
	*at = NULL;
	offload_free(&line->threads);
	H2D_ASSERT(list_empty(&line->clients) && line->running.held == 0);
	free(line);
}

unsigned work_line_pending(const struct work_line *line)
{
	return offload_pending(line->threads);
}

/* --- in line ---------------------------------------------------------------------------------- */

static struct account_part *client_of(struct work_line *line, struct account *a)
{
	return a != NULL ? &a->parts[ACCOUNT_THREADS] : &line->nobody;
}

static struct account *account_of(struct work_line *line, struct account_part *client)
{
	if (client == &line->nobody)
		return NULL;
	return LIST_ENTRY(client, struct account, parts[ACCOUNT_THREADS]);
}

static void tell(const struct work_line *line, const struct account *a)
{
	COUNT(limit_handler_threads, 1);
	if (a != NULL)
		log_peer(LEVEL_INFO,
			"client %s: has %u of %u threads of handlers, so its further work waits",
			ADDR_HOST(&a->client), (unsigned)a->parts[ACCOUNT_THREADS].held,
			(unsigned)line->running.max);
}

static void wait_for_turn(struct work_turn *t)
{
	struct account_part *client = client_of(t->line, t->account);

	if (list_empty(&client->line))
		list_append(&t->line->clients, &client->turn);
	list_append(&client->line, &t->node);
	account_hold(t->account);
	COUNT(offload_jobs, 1);
	COUNT(offload_queued, 1);
	tell(t->line, t->account);
}

/* Its account stays open until the caller has closed it. */
static void leave_line(struct work_turn *t)
{
	struct account_part *client = client_of(t->line, t->account);

	list_remove(&t->node);
	if (list_empty(&client->line))
		list_remove(&client->turn);
	COUNT(offload_jobs, -1);
	COUNT(offload_queued, -1);
}

/* The first in line of the client whose turn it is; NULL: none that waits may have a thread. Those
 * who may not have some: there are no more of them than threads. */
static struct work_turn *next(struct work_line *line)
{
	LIST_FOREACH(node, &line->clients) {
		struct account_part *client = LIST_ENTRY(node, struct account_part, turn);

		if (budget_room(&line->running, account_of(line, client)) == 0)
			continue;
		list_remove(&client->turn);
		list_append(&line->clients, &client->turn);
		return LIST_ENTRY(client->line.next, struct work_turn, node);
	}
	return NULL;
}

/* --- in a thread ------------------------------------------------------------------------------ */

static void in_thread(struct job *j)
{
	struct work_turn *t = LIST_ENTRY(j, struct work_turn, job);

	t->work(t);
}

static int begin(struct work_turn *t)
{
	int rc = offload_submit(t->line->threads, &t->job);

	if (rc == 0)
		budget_take(&t->line->running, t->account, 1);
	return rc;
}

/* A thread is free, for who waits. */
static void over(struct work_line *line, struct account *account)
{
	struct work_turn *t;

	budget_give(&line->running, account, 1);
	while ((t = next(line)) != NULL) {
		struct account *held = t->account;
		int rc;

		leave_line(t);
		rc = begin(t);
		/* Whoever waits does so for a thread that was started. */
		H2D_ASSERT(rc == 0);
		account_close(&held);
	}
}

static void in_loop(struct job *j)
{
	struct work_turn *t = LIST_ENTRY(j, struct work_turn, job);

	over(t->line, t->account);
	t->done(t);
}

int work_line_join(struct work_line *line, struct work_turn *t, struct account *account)
{
	t->line = line;
	t->account = account;
	list_init(&t->node);
	t->job.work = in_thread;
	t->job.done = in_loop;
	t->job.class = JOB_HANDLER;
	t->job.owner = account;
	if (list_empty(&client_of(line, account)->line) && budget_room(&line->running, account) > 0)
		return begin(t);
	wait_for_turn(t);
	return 0;
}

bool work_line_leave(struct work_turn *t)
{
	struct account *account = t->account;

	if (work_line_waits(t)) {
		leave_line(t);
		account_close(&account);
		return true;
	}
	if (!offload_cancel(t->line->threads, &t->job))
		return false;
	over(t->line, account);
	return true;
}
