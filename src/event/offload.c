/* offload: a thread touches only the queues and its job: no counters, no loop, no connection. */
#include "event/offload.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/crash.h"

enum {
	STACK_BYTES = 256 * 1024,
	LANES = 32,
	TICK_MS = OFFLOAD_LATE_MS / 4,
	LATE_TICKS = 4,
};

struct line {
	struct list lanes[LANES]; /* by owner; they take turns */
	struct list aside;        /* jobs whose volume has enough threads already */
	unsigned lane;            /* the last lane that had its turn */
	unsigned queued, running, max;
};

struct hand {
	struct offload *offload;
	pthread_t thread;
	const struct job *job; /* NULL: none */
	unsigned ticks;        /* since it began */
	bool late;             /* no longer counted in running */
};

struct offload {
	struct watch watch; /* of the eventfd */
	struct loop *loop;
	struct timer tick; /* armed while jobs wait for a thread */
	unsigned pending;  /* loop only, as are the two of the counters */
	unsigned shown_queued, shown_late;

	pthread_mutex_t lock; /* of all members below */
	pthread_cond_t wake;
	struct line lines[JOB_CLASSES];
	unsigned next; /* the class whose turn it is */
	struct list done;
	unsigned queued;  /* jobs in line */
	unsigned waiting; /* threads without a job */
	unsigned running; /* threads with a job, without late ones */
	unsigned late;
	bool quit;
	unsigned started, max;
	struct hand hands[];
};

/* Owners share a lane by chance, with others each time. */
static struct list *lane_of(struct line *l, const struct job *j)
{
	return &l->lanes[((uint64_t)(uintptr_t)j->owner * UINT64_C(0x9e3779b97f4a7c15)) >> 59];
}

/* True: its volume has as many threads, late ones included, as its class may have. */
static bool held_back(const struct offload *o, const struct job *j)
{
	unsigned busy = 0;

	if (o->late == 0 || j->volume == NULL)
		return false;
	for (unsigned i = 0; i < o->started; i++) {
		const struct job *other = o->hands[i].job;

		busy += other != NULL && other->class == j->class && other->volume == j->volume;
	}
	return busy >= o->lines[j->class].max;
}

static struct job *pop(const struct offload *o, struct line *l)
{
	for (unsigned empty = 0; empty < LANES;) {
		unsigned lane = (l->lane + 1) % LANES;
		struct list *node = list_pop(&l->lanes[lane]);

		if (node != NULL && held_back(o, LIST_ENTRY(node, struct job, node))) {
			list_append(&l->aside, node);
			continue;
		}
		l->lane = lane;
		if (node != NULL)
			return LIST_ENTRY(node, struct job, node);
		empty++;
	}
	return NULL;
}

/* The next job: one of each class in turn, if the class may have another thread. */
static struct job *offload_take(struct offload *o, struct hand *h)
{
	for (unsigned i = 0; i < JOB_CLASSES && o->running < o->max; i++) {
		struct line *l = &o->lines[(o->next + i) % JOB_CLASSES];
		struct job *j;

		if (l->queued == 0 || l->running >= l->max)
			continue;
		j = pop(o, l);
		if (j == NULL)
			continue;
		o->next = (o->next + i + 1) % JOB_CLASSES;
		o->queued--;
		o->running++;
		l->queued--;
		l->running++;
		j->queued = false;
		h->job = j;
		h->ticks = 0;
		return j;
	}
	return NULL;
}

/* True if the loop must be woken. */
static bool put_back(struct offload *o, struct hand *h, struct job *j)
{
	struct line *l = &o->lines[j->class];
	bool first = list_empty(&o->done);

	h->job = NULL;
	if (h->late) {
		h->late = false;
		o->late--;
	} else {
		o->running--;
		l->running--;
	}
	/* Jobs of this class put aside may run again. */
	if (!list_empty(&l->aside))
		pthread_cond_broadcast(&o->wake);
	LIST_TAKE(struct job, aside, node, &l->aside)
		list_append(lane_of(l, aside), &aside->node);
	list_append(&o->done, &j->node);
	return first;
}

static void *thread_main(void *arg)
{
	struct hand *h = arg;
	struct offload *o = h->offload;
	char words[CRASH_STACK]; /* at this end, far from an overflow */

	crash_stack(words);
	pthread_mutex_lock(&o->lock);
	for (;;) {
		struct job *j;

		while ((j = offload_take(o, h)) == NULL && !o->quit) {
			o->waiting++;
			pthread_cond_wait(&o->wake, &o->lock);
			o->waiting--;
		}
		if (j == NULL)
			break;
		pthread_mutex_unlock(&o->lock);

		j->work(j);

		pthread_mutex_lock(&o->lock);
		if (!put_back(o, h, j))
			continue;
		/* Without the lock: else the loop would wake to wait for it. */
		pthread_mutex_unlock(&o->lock);
		eventfd_write(o->watch.fd, 1);
		pthread_mutex_lock(&o->lock);
	}
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

/* Under the lock, on the loop: threads do not count. */
static void offload_show(struct offload *o)
{
	COUNT(offload_queued, (int64_t)o->queued - o->shown_queued);
	COUNT(offload_late, (int64_t)o->late - o->shown_late);
	o->shown_queued = o->queued;
	o->shown_late = o->late;
}

static void run_done(struct offload *o)
{
	struct list done;
	eventfd_t ignored;

	eventfd_read(o->watch.fd, &ignored);
	list_init(&done);
	pthread_mutex_lock(&o->lock);
	list_splice(&done, &o->done);
	offload_show(o);
	pthread_mutex_unlock(&o->lock);
	LIST_TAKE(struct job, j, node, &done) {
		H2D_ASSERT(o->pending > 0);
		o->pending--;
		COUNT(offload_jobs, -1);
		j->done(j);
	}
}

static void on_eventfd(struct watch *w, uint32_t events)
{
	(void)events;
	run_done((struct offload *)(void *)((char *)w - offsetof(struct offload, watch)));
}

static int start_thread(struct offload *o)
{
	struct hand *h = &o->hands[o->started];
	int rc;

	h->offload = o;
	rc = crash_thread(&h->thread, STACK_BYTES + CRASH_STACK, thread_main, h);
	if (rc == 0)
		o->started++;
	return rc;
}

/* True: a further thread may start: none is free; late ones are replaced. */
static bool short_of_threads(const struct offload *o)
{
	return o->queued > o->waiting && o->started < o->max + o->late;
}

static void on_tick(struct timer *t)
{
	struct offload *o = LIST_ENTRY(t, struct offload, tick);
	bool again;

	pthread_mutex_lock(&o->lock);
	for (unsigned i = 0; i < o->started; i++) {
		struct hand *h = &o->hands[i];

		if (h->job != NULL && !h->late && h->job->volume != NULL &&
			++h->ticks > LATE_TICKS && o->late < OFFLOAD_LATE_MAX) {
			/* Makes way: it may wait for ever. */
			h->late = true;
			o->late++;
			o->running--;
			o->lines[h->job->class].running--;
			pthread_cond_broadcast(&o->wake);
		}
	}
	while (short_of_threads(o) && start_thread(o) == 0)
		;
	again = o->queued > 0;
	offload_show(o);
	pthread_mutex_unlock(&o->lock);
	if (again)
		timer_arm(&o->loop->wheel, t, clock_ms() + TICK_MS);
}

static void lines_init(struct offload *o, unsigned nthreads)
{
	for (unsigned i = 0; i < JOB_CLASSES; i++) {
		for (unsigned k = 0; k < LANES; k++)
			list_init(&o->lines[i].lanes[k]);
		list_init(&o->lines[i].aside);
	}
	o->lines[JOB_FILE].max = o->lines[JOB_LOOKUP].max = nthreads > 1 ? nthreads - 1 : 1;
	o->lines[JOB_REMOTE].max = (nthreads + 1) / 2;
	o->lines[JOB_STORE].max = (nthreads + 1) / 2;
	o->lines[JOB_LISTING].max = (nthreads + 3) / 4;
	o->lines[JOB_PASSWORD].max = (nthreads + 1) / 2;
	o->lines[JOB_HANDLER].max = nthreads;
}

struct offload *offload_new(struct loop *l, unsigned nthreads)
{
	struct offload *o;
	int rc;

	H2D_ASSERT(nthreads > 0);
	o = calloc(1, sizeof(*o) + (nthreads + OFFLOAD_LATE_MAX) * sizeof(o->hands[0]));
	if (o == NULL)
		return NULL;
	o->loop = l;
	o->max = nthreads;
	timer_init(&o->tick, on_tick);
	lines_init(o, nthreads);
	list_init(&o->done);
	pthread_mutex_init(&o->lock, NULL);
	pthread_cond_init(&o->wake, NULL);
	o->watch.fn = on_eventfd;
	o->watch.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = o->watch.fd >= 0 ? loop_watch(l, &o->watch, EPOLLIN) : -errno;
	if (rc < 0) {
		offload_free(&o);
		errno = -rc;
	}
	return o;
}

int offload_submit(struct offload *o, struct job *j)
{
	bool lines_up;
	int rc = 0;

	pthread_mutex_lock(&o->lock);
	o->queued++;
	if (short_of_threads(o))
		rc = start_thread(o);
	/* One thread is enough. */
	if (o->started > 0) {
		rc = 0;
		list_init(&j->node);
		list_append(lane_of(&o->lines[j->class], j), &j->node);
		o->lines[j->class].queued++;
		j->queued = true;
		j->cancelled = false;
	} else {
		o->queued--;
	}
	lines_up = o->queued > o->waiting;
	offload_show(o);
	pthread_mutex_unlock(&o->lock);
	if (rc != 0)
		return rc;
	pthread_cond_signal(&o->wake);
	o->pending++;
	COUNT(offload_jobs, 1);
	if (lines_up && !timer_armed(&o->tick))
		timer_arm(&o->loop->wheel, &o->tick, clock_ms() + TICK_MS);
	return 0;
}

bool offload_cancel(struct offload *o, struct job *j)
{
	bool was_queued;

	pthread_mutex_lock(&o->lock);
	was_queued = j->queued;
	if (was_queued) {
		list_remove(&j->node);
		j->queued = false;
		o->lines[j->class].queued--;
		o->queued--;
		offload_show(o);
	}
	pthread_mutex_unlock(&o->lock);
	if (was_queued) {
		H2D_ASSERT(o->pending > 0);
		o->pending--;
		COUNT(offload_jobs, -1);
	} else {
		__atomic_store_n(&j->cancelled, true, __ATOMIC_RELAXED);
	}
	return was_queued;
}

unsigned offload_pending(const struct offload *o)
{
	return o->pending;
}

void offload_free(struct offload **op)
{
	struct offload *o = *op;

	if (o == NULL)
		return;
	*op = NULL;
	while (o->pending > 0) {
		struct pollfd pfd = { .fd = o->watch.fd, .events = POLLIN };

		poll(&pfd, 1, -1);
		run_done(o);
	}
	pthread_mutex_lock(&o->lock);
	o->quit = true;
	pthread_cond_broadcast(&o->wake);
	pthread_mutex_unlock(&o->lock);
	for (unsigned i = 0; i < o->started; i++)
		pthread_join(o->hands[i].thread, NULL);
	timer_disarm(&o->loop->wheel, &o->tick);
	loop_unwatch(o->loop, &o->watch);
	close(o->watch.fd);
	pthread_cond_destroy(&o->wake);
	pthread_mutex_destroy(&o->lock);
	free(o);
}
