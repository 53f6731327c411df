/* check_work_line: a client's work has its share of the threads, the others' begins meanwhile, in
 * turns; what is not wanted any more leaves the line or its thread. */
#include <semaphore.h>

#include "api/work_line.h"
#include "base/counters.h"
#include "loop_unit.h"

enum { THREADS = 4, ITEMS = 8 };

struct item {
	struct work_turn turn;
	sem_t end;
	int ran, done;
};

static struct accounts *all;
static struct account *clients[3];
static struct work_line *line;
static struct item items[ITEMS];
static sem_t begun;
static char order[ITEMS + 1]; /* of items that were begun with */

static void work(struct work_turn *t)
{
	struct item *it = LIST_ENTRY(t, struct item, turn);

	it->ran = 1;
	sem_post(&begun);
	sem_wait(&it->end);
}

static void done(struct work_turn *t)
{
	LIST_ENTRY(t, struct item, turn)->done++;
}

UNIT_SETUP(setup)
{
	all = accounts_new(10, &(struct account_keys){ 0 }, 64, NULL);
	for (unsigned i = 0; i < 3; i++) {
		static const char *const texts[] = { "192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1" };
		struct addr a;

		ck_assert_ptr_null(addr_parse(texts[i], &a));
		clients[i] = account_open(all, &a);
	}
	line = work_line_new(&loop, THREADS);
	ck_assert_ptr_nonnull(line);
	sem_init(&begun, 0, 0);
	memset(items, 0, sizeof(items));
	for (unsigned i = 0; i < ITEMS; i++) {
		items[i].turn.work = work;
		items[i].turn.done = done;
		sem_init(&items[i].end, 0, 0);
	}
}

static void turn_until_done(const struct item *it)
{
	while (it->done == 0)
		ck_assert_int_eq(loop_turn(&loop, -1), 0);
}

static void end(unsigned i)
{
	sem_post(&items[i].end);
	turn_until_done(&items[i]);
}

UNIT_TEARDOWN(teardown)
{
	for (unsigned i = 0; i < ITEMS; i++)
		sem_post(&items[i].end);
	work_line_free(&line);
	ck_assert_ptr_null(line);
	ck_assert_int_eq(counters->offload_jobs, 0);
	ck_assert_int_eq(counters->offload_queued, 0);
	for (unsigned i = 0; i < 3; i++)
		account_close(&clients[i]);
	accounts_free(&all);
}

static void join(unsigned i, struct account *a)
{
	ck_assert_int_eq(work_line_join(line, &items[i].turn, a), 0);
}

/* Which of the items wait, as "0123". */
static const char *waiting(void)
{
	size_t n = 0;

	for (unsigned i = 0; i < ITEMS; i++)
		if (items[i].turn.line != NULL && work_line_waits(&items[i].turn))
			order[n++] = (char)('0' + i);
	order[n] = '\0';
	return order;
}

TEST(shares)
{
	int64_t limit = counters->limit_handler_threads;

	for (unsigned i = 0; i < 4; i++)
		join(i, clients[0]);
	ck_assert_str_eq(waiting(), "23");
	ck_assert_int_eq(counters->limit_handler_threads, limit + 2);
	join(4, clients[1]);
	ck_assert_str_eq(waiting(), "23");
	join(5, clients[1]);
	join(6, clients[2]);
	join(7, clients[2]);
	ck_assert_str_eq(waiting(), "2357");
	/* Client 0 has more than the others still. */
	end(0);
	ck_assert_str_eq(waiting(), "2357");
	end(1);
	ck_assert_str_eq(waiting(), "357");
	end(4);
	ck_assert_str_eq(waiting(), "37");
	end(6);
	ck_assert_str_eq(waiting(), "3");
	end(2);
	ck_assert_str_eq(waiting(), "");
}

TEST(nobodys)
{
	for (unsigned i = 0; i < ITEMS; i++)
		join(i, NULL);
	ck_assert_str_eq(waiting(), "4567");
	for (unsigned i = 0; i < ITEMS; i++)
		end(i);
}

TEST(leaving)
{
	for (unsigned i = 0; i < 4; i++)
		join(i, clients[0]);
	sem_wait(&begun);
	sem_wait(&begun);
	ck_assert(work_line_leave(&items[2].turn));
	ck_assert_str_eq(waiting(), "3");
	ck_assert(!work_line_leave(&items[0].turn));
	ck_assert(job_unwanted(&items[0].turn.job));
	ck_assert(!job_unwanted(&items[1].turn.job));
	end(0);
	ck_assert_str_eq(waiting(), "");
	ck_assert_int_eq(items[2].done + items[2].ran, 0);
}

/* The account lives as long as what its client has in line or in a thread. */
TEST(accounts_stay)
{
	for (unsigned i = 0; i < 3; i++)
		join(i, clients[0]);
	account_close(&clients[0]);
	ck_assert_uint_eq(accounts_count(all), 3);
	for (unsigned i = 0; i < 3; i++)
		end(i);
	ck_assert_uint_eq(accounts_count(all), 2);
}
