/*
 * work_line: see work_line.h. The line of the threads themselves (event/offload.h) never has more
 * than one job for each: the next is chosen here, in the loop, when one is done.
 */
#include "api/work_line.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/counters.h"
#include "base/log.h"

struct work_line {
	struct offload *threads;
	struct line line;
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
	line_init(&line->line, ACCOUNT_THREADS, nthreads, 1, 1);
	return line;
}

void work_line_free(struct work_line **at)
{
	struct work_line *line = *at;

	if (line == NULL)
		return;
	*at = NULL;
	offload_free(&line->threads);
	H2D_ASSERT(line->line.nwaiting == 0 && line->line.budget.held == 0);
	free(line);
}

unsigned work_line_pending(const struct work_line *line)
{
	return offload_pending(line->threads);
}

static void count_waiting(int n)
{
	COUNT(offload_jobs, n);
	COUNT(offload_queued, n);
}

static void in_thread(struct job *j)
{
	struct work_turn *t = LIST_ENTRY(j, struct work_turn, job);

	t->work(t);
}

static int work_line_begin(struct work_turn *t)
{
	int rc = offload_submit(t->line->threads, &t->job);

	if (rc == 0)
		line_took(&t->line->line, &t->turn, 1);
	return rc;
}

/* The thread of t is free, for waiting turns. */
static void over(struct work_turn *t)
{
	struct line *line = &t->line->line;
	struct line_turn *turn;

	line_gave(line, &t->turn, 1);
	while ((turn = line_next(line)) != NULL) {
		struct work_turn *next = LIST_ENTRY(turn, struct work_turn, turn);
		struct account *held = turn->account;
		int rc = work_line_begin(next);

		/* A waiting turn's thread was started before. */
		H2D_ASSERT(rc == 0);
		account_close(&held);
		count_waiting(-1);
	}
}

static void in_loop(struct job *j)
{
	struct work_turn *t = LIST_ENTRY(j, struct work_turn, job);

	over(t);
	t->done(t);
}

int work_line_join(struct work_line *line, struct work_turn *t, struct account *account)
{
	t->line = line;
	t->turn = (struct line_turn){ .account = account };
	list_init(&t->turn.node);
	t->job.work = in_thread;
	t->job.done = in_loop;
	t->job.class = JOB_HANDLER;
	t->job.owner = account;
	if (line_is_free(&line->line, account))
		return work_line_begin(t);
	line_join(&line->line, &t->turn, account, NULL);
	count_waiting(1);
	COUNT(limit_handler_threads, 1);
	if (account != NULL)
		log_peer(LEVEL_INFO,
			"client %s: holds %u of %u handler threads; its further work waits",
			ADDR_HOST(&account->client), (unsigned)account->parts[ACCOUNT_THREADS].held,
			(unsigned)line->line.budget.max);
	return 0;
}

bool work_line_leave(struct work_turn *t)
{
	if (work_line_waits(t)) {
		line_leave(&t->line->line, &t->turn);
		count_waiting(-1);
		return true;
	}
	if (!offload_cancel(t->line->threads, &t->job))
		return false;
	over(t);
	return true;
}
