/*
 * offload: threads that take jobs off the lines and put them on another; an eventfd tells the loop.
 * A thread touches the queues and its job, nothing else: no counters, no loop, no connection.
 */
#include "event/offload.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/counters.h"

enum { STACK_BYTES = 256 * 1024, LANES = 32 };

/* The jobs of one class. */
struct line {
	struct list lanes[LANES]; /* by owner; each has its turn */
	unsigned lane;            /* the last that had it */
	unsigned queued, running, max;
};

struct offload {
	struct watch watch; /* of the eventfd */
	struct loop *loop;
	unsigned pending; /* loop only */

	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t wake;
	struct line lines[JOB_CLASSES];
	unsigned next; /* whose turn it is */
	struct list done;
	unsigned queued;  /* jobs in line */
	unsigned waiting; /* threads without a job */
	bool quit;
	unsigned started, max;
	pthread_t threads[];
};

/* Owners share a lane by chance, each time others. */
static struct list *lane_of(struct line *l, const struct job *j)
{
	return &l->lanes[((uint64_t)(uintptr_t)j->owner * UINT64_C(0x9e3779b97f4a7c15)) >> 59];
}

static struct job *pop(struct line *l)
{
	struct list *node;

	do {
		l->lane = (l->lane + 1) % LANES;
		node = list_pop(&l->lanes[l->lane]);
	} while (node == NULL);
	l->queued--;
	return LIST_ENTRY(node, struct job, node);
}

/* The next job: one of each class after the other, as far as each may have another thread. */
static struct job *take(struct offload *o)
{
	for (unsigned i = 0; i < JOB_CLASSES; i++) {
		struct line *l = &o->lines[(o->next + i) % JOB_CLASSES];
		struct job *j;

		if (l->queued == 0 || l->running >= l->max)
			continue;
		j = pop(l);
		o->next = (o->next + i + 1) % JOB_CLASSES;
		o->queued--;
		l->running++;
		j->queued = false;
		return j;
	}
	return NULL;
}

static void *thread_main(void *arg)
{
	struct offload *o = arg;

	pthread_mutex_lock(&o->lock);
	for (;;) {
		struct job *j;
		bool first;

		while ((j = take(o)) == NULL && !o->quit) {
			o->waiting++;
			pthread_cond_wait(&o->wake, &o->lock);
			o->waiting--;
		}
		if (j == NULL)
			break;
		pthread_mutex_unlock(&o->lock);

		j->work(j);

		pthread_mutex_lock(&o->lock);
		o->lines[j->class].running--;
		first = list_empty(&o->done);
		list_append(&o->done, &j->node);
		/* Under the lock: once the loop has seen the job, it may free o. */
		if (first)
			eventfd_write(o->watch.fd, 1);
	}
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

static void run_done(struct offload *o)
{
	struct list done, *node;
	eventfd_t ignored;

	eventfd_read(o->watch.fd, &ignored);
	list_init(&done);
	pthread_mutex_lock(&o->lock);
	list_splice(&done, &o->done);
	pthread_mutex_unlock(&o->lock);
	while ((node = list_pop(&done)) != NULL) {
		struct job *j = LIST_ENTRY(node, struct job, node);

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

struct offload *offload_new(struct loop *l, unsigned nthreads)
{
	struct offload *o;
	int rc;

	H2D_ASSERT(nthreads > 0);
	o = calloc(1, sizeof(*o) + nthreads * sizeof(o->threads[0]));
	if (o == NULL)
		return NULL;
	o->loop = l;
	o->max = nthreads;
	for (unsigned i = 0; i < JOB_CLASSES; i++) {
		for (unsigned k = 0; k < LANES; k++)
			list_init(&o->lines[i].lanes[k]);
		o->lines[i].max = nthreads;
	}
	o->lines[JOB_FILE].max = o->lines[JOB_LOOKUP].max = nthreads > 1 ? nthreads - 1 : 1;
	o->lines[JOB_REMOTE].max = (nthreads + 1) / 2;
	o->lines[JOB_LISTING].max = (nthreads + 3) / 4;
	o->lines[JOB_PASSWORD].max = (nthreads + 1) / 2;
	list_init(&o->done);
	pthread_mutex_init(&o->lock, NULL);
	pthread_cond_init(&o->wake, NULL);
	o->watch.fn = on_eventfd;
	o->watch.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (o->watch.fd < 0) {
		rc = -errno;
		goto fail;
	}
	rc = loop_watch(l, &o->watch, EPOLLIN);
	if (rc != 0)
		goto fail_fd;
	return o;

fail_fd:
	close(o->watch.fd);
fail:
	pthread_cond_destroy(&o->wake);
	pthread_mutex_destroy(&o->lock);
	free(o);
	errno = -rc;
	return NULL;
}

/* Signals are the loop's: a thread takes none. */
static int start_thread(struct offload *o)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int rc = pthread_attr_init(&attr);

	if (rc != 0)
		return -rc;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&o->threads[o->started], &attr, thread_main, o);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (rc == 0)
		o->started++;
	return -rc;
}

int offload_submit(struct offload *o, struct job *j)
{
	int rc = 0;

	pthread_mutex_lock(&o->lock);
	if (o->queued >= o->waiting && o->started < o->max)
		rc = start_thread(o);
	/* One thread is enough to go on with. */
	if (o->started > 0) {
		rc = 0;
		list_init(&j->node);
		list_append(lane_of(&o->lines[j->class], j), &j->node);
		o->lines[j->class].queued++;
		j->queued = true;
		j->cancelled = false;
		o->queued++;
		pthread_cond_signal(&o->wake);
	}
	pthread_mutex_unlock(&o->lock);
	if (rc != 0)
		return rc;
	o->pending++;
	COUNT(offload_jobs, 1);
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
	}
	pthread_mutex_unlock(&o->lock);
	if (!was_queued) {
		__atomic_store_n(&j->cancelled, true, __ATOMIC_RELAXED);
		return false;
	}
	H2D_ASSERT(o->pending > 0);
	o->pending--;
	COUNT(offload_jobs, -1);
	return true;
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
		pthread_join(o->threads[i], NULL);
	loop_unwatch(o->loop, &o->watch);
	close(o->watch.fd);
	pthread_cond_destroy(&o->wake);
	pthread_mutex_destroy(&o->lock);
	free(o);
}
