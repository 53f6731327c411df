/*
 * check_offload: work() in threads, done() in the loop, each once; several at a time, never more
 * than allowed; nothing is lost at the end. Thread creation may fail (linked with --wrap).
 */
#include "event/offload.h"

#include <dirent.h>
#include <semaphore.h>

#include "base/clock.h"
#include "base/counters.h"
#include "loop_unit.h"

enum { JOBS = 200, THREADS = 4 };

struct item {
	struct job job;
	int worked, done;
};

int __real_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);

static int threads_left = 1000;

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	return threads_left-- > 0 ? __real_pthread_create(t, attr, fn, arg) : EAGAIN;
}

static struct offload *offload;
static struct item items[JOBS];
static pthread_t loop_thread;
static sem_t entered, leave;
static int at_work, at_work_max;
static int ndone;

static void work(struct job *j)
{
	struct item *it = (struct item *)(void *)j;
	int now = __atomic_add_fetch(&at_work, 1, __ATOMIC_SEQ_CST);
	int max = __atomic_load_n(&at_work_max, __ATOMIC_SEQ_CST);

	while (now > max && !__atomic_compare_exchange_n(&at_work_max, &max, now, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	it->worked += pthread_equal(pthread_self(), loop_thread) ? 100 : 1;
	__atomic_sub_fetch(&at_work, 1, __ATOMIC_SEQ_CST);
}

static void work_held(struct job *j)
{
	sem_post(&entered);
	sem_wait(&leave);
	((struct item *)(void *)j)->worked++;
}

static void work_check_mask(struct job *j)
{
	sigset_t mask;

	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	((struct item *)(void *)j)->worked =
		sigismember(&mask, SIGTERM) && sigismember(&mask, SIGHUP) &&
		!sigismember(&mask, SIGABRT) && !sigismember(&mask, SIGSEGV);
}

/* A frame as long as the stack meets its guard, and not another thread's stack. */
static void work_check_guard(struct job *j)
{
	pthread_attr_t attr;
	size_t guard = 0, size = 0;
	int rc = pthread_getattr_np(pthread_self(), &attr);

	pthread_attr_getguardsize(&attr, &guard);
	pthread_attr_getstacksize(&attr, &size);
	pthread_attr_destroy(&attr);
	((struct item *)(void *)j)->worked = rc == 0 && guard >= 256 << 10 && size >= 256 << 10;
}

static void done(struct job *j)
{
	struct item *it = (struct item *)(void *)j;

	ck_assert(pthread_equal(pthread_self(), loop_thread));
	ck_assert_int_eq(it->worked, 1);
	ck_assert_int_eq(it->done, 0);
	it->done = 1;
	ndone++;
	ck_assert_int_eq(counters_get(counters, COUNTER_offload_jobs), offload_pending(offload));
}

static void done_at_end(struct job *j)
{
	struct item *it = (struct item *)(void *)j;

	ck_assert_int_eq(it->worked, 1);
	it->done++;
	ndone++;
}

static void done_frees(struct job *j)
{
	ndone++;
	free(j);
}

static void done_submits(struct job *j)
{
	struct item *it = (struct item *)(void *)j;

	done(j);
	if (it + 1 < items + 50)
		ck_assert_int_eq(offload_submit(offload, &it[1].job), 0);
}

static int count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	for (struct dirent *e; (e = readdir(dir)) != NULL;)
		n += e->d_name[0] != '.';
	closedir(dir);
	return n;
}

static void make(void (*work_fn)(struct job *j), void (*done_fn)(struct job *j))
{
	for (int i = 0; i < JOBS; i++)
		items[i] = (struct item){ .job = { .work = work_fn, .done = done_fn } };
}

static void turn_ms(uint64_t ms)
{
	for (uint64_t end = clock_read_us() + 1000 * ms; clock_read_us() < end;)
		ck_assert_int_eq(loop_turn(&loop, 100), 0);
}

static void turn_until(int n)
{
	while (ndone < n)
		ck_assert_int_eq(loop_turn(&loop, -1), 0);
	ck_assert_int_eq(ndone, n);
}

UNIT_SETUP(setup)
{
	loop_thread = pthread_self();
	sem_init(&entered, 0, 0);
	sem_init(&leave, 0, 0);
	offload = offload_new(&loop, THREADS);
	ck_assert_ptr_nonnull(offload);
}

UNIT_TEARDOWN(teardown)
{
	offload_free(&offload);
	ck_assert_ptr_null(offload);
	offload_free(&offload);
	ck_assert_int_eq(counters_get(counters, COUNTER_offload_jobs), 0);
	ck_assert_int_eq(counters_get(counters, COUNTER_offload_queued), 0);
	ck_assert_int_eq(counters_get(counters, COUNTER_offload_late), 0);
}

TEST(all_once)
{
	int before = count_threads();

	make(work, done);
	for (int i = 0; i < JOBS; i++)
		ck_assert_int_eq(offload_submit(offload, &items[i].job), 0);
	ck_assert_uint_eq(offload_pending(offload), JOBS);
	turn_until(JOBS);
	ck_assert_uint_eq(offload_pending(offload), 0);
	ck_assert_int_le(at_work_max, THREADS);
	ck_assert_int_le(count_threads() - before, THREADS);
}

TEST(one_after_the_other)
{
	int before = count_threads();

	make(work, done_submits);
	ck_assert_int_eq(count_threads(), before);
	ck_assert_int_eq(offload_submit(offload, &items[0].job), 0);
	turn_until(50);
	ck_assert_int_le(count_threads() - before, THREADS);
}

/* A blocked thread holds back nobody while there is another. */
TEST(at_the_same_time)
{
	make(work_held, done);
	for (int i = 0; i < THREADS; i++) {
		items[i].job.class = i == 0 ? JOB_LOOKUP : JOB_FILE;
		ck_assert_int_eq(offload_submit(offload, &items[i].job), 0);
		sem_wait(&entered);
	}
	items[THREADS].job.class = JOB_PASSWORD;
	items[THREADS].job.work = work;
	ck_assert_int_eq(offload_submit(offload, &items[THREADS].job), 0);
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_int_eq(ndone, 0);
	sem_post(&leave);
	turn_until(2);
	ck_assert_int_eq(items[THREADS].done, 1);
	for (int i = 1; i < THREADS; i++)
		sem_post(&leave);
	turn_until(THREADS + 1);
}

TEST(signals_are_the_loops)
{
	sigset_t mask;

	make(work_check_mask, done);
	ck_assert_int_eq(offload_submit(offload, &items[0].job), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	ck_assert_int_eq(sigismember(&mask, SIGTERM), 0);
	turn_until(1);
}

TEST(an_overrun_is_a_fault)
{
	make(work_check_guard, done);
	ck_assert_int_eq(offload_submit(offload, &items[0].job), 0);
	turn_until(1);
}

TEST(free_finishes_everything)
{
	make(work_held, done_at_end);
	for (int i = 0; i < JOBS; i++)
		ck_assert_int_eq(offload_submit(offload, &items[i].job), 0);
	for (int i = 0; i < JOBS; i++)
		sem_post(&leave);
	offload_free(&offload);
	ck_assert_int_eq(ndone, JOBS);
	for (int i = 0; i < JOBS; i++)
		ck_assert_int_eq(items[i].done, 1);
}

static void work_nothing(struct job *j)
{
}

TEST(done_may_free)
{
	for (int i = 0; i < JOBS; i++) {
		struct job *j = malloc(sizeof(*j));

		*j = (struct job){ .work = work_nothing, .done = done_frees };
		ck_assert_int_eq(offload_submit(offload, j), 0);
	}
	turn_until(JOBS);
}

TEST(no_thread)
{
	make(work, done);
	threads_left = 0;
	ck_assert_int_eq(offload_submit(offload, &items[0].job), -EAGAIN);
	ck_assert_uint_eq(offload_pending(offload), 0);
	/* With one there is no need of a second. */
	threads_left = 1;
	for (int i = 0; i < JOBS; i++)
		ck_assert_int_eq(offload_submit(offload, &items[i].job), 0);
	turn_until(JOBS);
}

static void hold(int i, enum job_class class, const void *owner)
{
	items[i].job.class = class;
	items[i].job.owner = owner;
	ck_assert_int_eq(offload_submit(offload, &items[i].job), 0);
}

/* However many listings are held, a thread is left for what is short. */
TEST(classes_do_not_starve_one_another)
{
	make(work_held, done);
	for (int i = 0; i < 10; i++)
		hold(i, JOB_LISTING, NULL);
	for (int i = 10; i < 20; i++)
		hold(i, JOB_PASSWORD, NULL);
	for (int i = 0; i < 3; i++)
		sem_wait(&entered);
	items[20].job.work = work;
	ck_assert_int_eq(offload_submit(offload, &items[20].job), 0);
	turn_until(1);
	ck_assert_int_eq(items[20].done, 1);
	for (int i = 0; i < 20; i++)
		sem_post(&leave);
	turn_until(21);
}

/* Whatever hangs for ever, names are looked up and local files are read. */
TEST(remote_jobs_hang_alone)
{
	make(work_held, done);
	for (int i = 0; i < 10; i++)
		hold(i, JOB_REMOTE, NULL);
	for (int i = 10; i < 20; i++)
		hold(i, JOB_FILE, NULL);
	for (int i = 0; i < THREADS; i++)
		sem_wait(&entered);
	for (int i = 20; i < 40; i++) {
		items[i].job.work = work;
		hold(i, i % 2 == 0 ? JOB_FILE : JOB_LOOKUP, NULL);
	}
	for (int i = 0; i < 20; i++)
		sem_post(&leave);
	turn_until(40);
}

/* Reads leave a thread to look-ups, and the other way round. */
TEST_EACH(reads_and_lookups, 2)
{
	enum job_class held = _i == 0 ? JOB_FILE : JOB_LOOKUP;

	make(work_held, done);
	for (int i = 0; i < 10; i++)
		hold(i, held, NULL);
	for (int i = 0; i < THREADS - 1; i++)
		sem_wait(&entered);
	items[20].job.work = work;
	hold(20, _i == 0 ? JOB_LOOKUP : JOB_FILE, NULL);
	turn_until(1);
	ck_assert_int_eq(items[20].done, 1);
	for (int i = 0; i < 10; i++)
		sem_post(&leave);
	turn_until(11);
}

/* One who asks for a hundred things does not make another wait for all of them. */
TEST(owners_take_turns)
{
	struct offload *four = offload;
	int order;

	offload = offload_new(&loop, 1);
	make(work_held, done);
	for (int i = 0; i < 100; i++)
		hold(i, JOB_FILE, items);
	sem_wait(&entered);
	hold(100, JOB_FILE, &items[7]);
	for (order = 0; items[100].done == 0; order++) {
		sem_post(&leave);
		turn_until(order + 1);
	}
	ck_assert_int_le(order, 4);
	for (int i = 0; i < 100; i++)
		sem_post(&leave);
	turn_until(101);
	offload_free(&offload);
	offload = four;
}

TEST(nobody_wants_it)
{
	make(work_held, done);
	for (int i = 0; i < THREADS; i++)
		hold(i, i == 0 ? JOB_LOOKUP : JOB_FILE, NULL);
	for (int i = 0; i < THREADS; i++)
		sem_wait(&entered);
	hold(THREADS, JOB_FILE, NULL);
	ck_assert(offload_cancel(offload, &items[THREADS].job));
	ck_assert_uint_eq(offload_pending(offload), THREADS);
	ck_assert(!job_unwanted(&items[0].job));
	ck_assert(!offload_cancel(offload, &items[0].job));
	ck_assert(job_unwanted(&items[0].job));
	for (int i = 0; i < THREADS; i++)
		sem_post(&leave);
	turn_until(THREADS);
	ck_assert_int_eq(items[THREADS].worked, 0);
}

/*
 * A volume that hangs has its threads for ever, and no others: its further jobs alone wait. With
 * _i 1 the first job is late before the others begin.
 */
TEST_EACH(a_place_that_hangs, 2)
{
	static const enum job_class classes[] = { JOB_LISTING, JOB_REMOTE, JOB_FILE, JOB_LOOKUP };
	static const int threads[] = { 1, 2, 3, 3 };
	int volume[JOB_CLASSES], held = 0, n = 0;

	make(work_held, done);
	for (int c = 0; c < 4; c++) {
		for (int i = 0; i < 10; i++, n++) {
			items[n].job.volume = &volume[0];
			hold(n, classes[c], NULL);
			if (_i == 1 && i == 0)
				turn_ms(OFFLOAD_LATE_MS / 2);
		}
		/* Others have their turn although every one of its threads is taken. */
		for (int k = 1; k < JOB_CLASSES; k++, n++) {
			items[n].job.work = work;
			items[n].job.volume = &volume[k];
			hold(n, classes[c], NULL);
		}
		turn_until((c + 1) * (JOB_CLASSES - 1));
		held += threads[c];
		for (int i = 0; i < threads[c]; i++)
			sem_wait(&entered);
		ck_assert_int_eq(sem_trywait(&entered), -1);
	}
	ck_assert_int_le(count_threads(), 1 + THREADS + held);
	while ((int)counters_get(counters, COUNTER_offload_late) < held)
		turn_ms(1);
	ck_assert_int_eq(counters_get(counters, COUNTER_offload_late), held);
	ck_assert_int_eq(counters_get(counters, COUNTER_offload_queued), 40 - held);
	/* What was put aside goes on when the first is back, in its volume. */
	for (int i = 0; i < 40; i++)
		sem_post(&leave);
	turn_until(n);
}

/* Work without a volume may last: as much of it is done at a time as before. */
TEST(what_works_is_not_late)
{
	make(work_held, done);
	for (int i = 0; i < 10; i++)
		hold(i, JOB_PASSWORD, NULL);
	for (int i = 0; i < 2; i++)
		sem_wait(&entered);
	turn_ms(2 * OFFLOAD_LATE_MS);
	ck_assert_int_eq(sem_trywait(&entered), -1);
	for (int i = 0; i < 10; i++)
		sem_post(&leave);
	turn_until(10);
}

/* It is late, its owner is gone, and it comes back: nothing is left of it. */
TEST(late_and_unwanted)
{
	int volume;

	make(work_held, done);
	for (int i = 0; i < 3; i++) {
		items[i].job.volume = &volume;
		hold(i, JOB_LISTING, NULL);
	}
	sem_wait(&entered);
	items[3].job.work = work;
	hold(3, JOB_LISTING, NULL);
	turn_until(1);
	/* One was put aside, or is still in line: either way it can be taken off. */
	ck_assert(!offload_cancel(offload, &items[0].job));
	ck_assert(offload_cancel(offload, &items[1].job));
	sem_post(&leave);
	sem_post(&leave);
	turn_until(3);
	ck_assert_int_eq(items[1].worked, 0);
}
