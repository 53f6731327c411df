/*
 * writer_wait: one idle thread that takes a descriptor at a time. Called by reader.c on the
 * keeper's loop. A thread that does not come back in time is detached and owns its memory from then
 * on; it touches nothing else.
 */
#include "keeper/writer_wait.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "image/wait_writers.h"

enum state { WAITS, DONE, LEFT };

struct writer_thread {
	pthread_t id;
	sem_t go, done;
	enum state state; /* atomic */
	int fd;           /* -1: end */
	struct file_id file_id;
	int result;
};

static void free_thread(struct writer_thread *t)
{
	sem_destroy(&t->go);
	sem_destroy(&t->done);
	free(t);
}

static void *run(void *arg)
{
	struct writer_thread *t = arg;

	for (;;) {
		while (sem_wait(&t->go) < 0)
			;
		if (t->fd < 0)
			return NULL;
		t->result = wait_writers(t->fd, &t->file_id);
		close(t->fd);
		if (__atomic_exchange_n(&t->state, DONE, __ATOMIC_ACQ_REL) == LEFT) {
			free_thread(t);
			return NULL;
		}
		sem_post(&t->done);
	}
}

static struct writer_thread *new_thread(void)
{
	struct writer_thread *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	sem_init(&t->go, 0, 0);
	sem_init(&t->done, 0, 0);
	if (pthread_create(&t->id, NULL, run, t) == 0)
		return t;
	free_thread(t);
	return NULL;
}

/* Whether t came back within ms. */
static bool wait_for(struct writer_thread *t, unsigned ms)
{
	struct timespec until;
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	do {
		rc = sem_clockwait(&t->done, CLOCK_MONOTONIC, &until);
	} while (rc < 0 && errno == EINTR);
	if (rc == 0)
		return true;
	if (__atomic_exchange_n(&t->state, LEFT, __ATOMIC_ACQ_REL) == WAITS)
		return false;
	while (sem_wait(&t->done) < 0)
		;
	return true;
}

int writer_wait(struct writer_wait *w, int fd, const struct file_id *id)
{
	struct writer_thread *t = w->thread;

	if (t == NULL)
		t = w->thread = new_thread();
	if (t == NULL)
		return -ENOMEM;
	t->fd = dup(fd);
	if (t->fd < 0)
		return -errno;
	t->file_id = *id;
	__atomic_store_n(&t->state, WAITS, __ATOMIC_RELEASE);
	sem_post(&t->go);
	if (wait_for(t, w->ms))
		return t->result;
	pthread_detach(t->id);
	w->thread = NULL;
	return -EAGAIN;
}

void writer_wait_fini(struct writer_wait *w)
{
	struct writer_thread *t = w->thread;

	if (t == NULL)
		return;
	w->thread = NULL;
	t->fd = -1;
	sem_post(&t->go);
	pthread_join(t->id, NULL);
	free_thread(t);
}
