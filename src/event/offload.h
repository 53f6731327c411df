/*
 * offload: a few threads for what may block (cold files, path look-ups that leave the dentry
 * cache), so that the loop never does. Threads start with the first job, after the fork, and
 * answer over an eventfd: work() runs in a thread and touches nothing but its job; done() runs in
 * the loop. Each class of jobs has a line of its own; the classes take turns, and those that are
 * long have only some of the threads, so that no job waits behind work of another kind. A job that
 * names what it waits for (its volume) and takes longer than OFFLOAD_LATE_MS makes way: it does not
 * count any more, and another thread starts in its place. So a root that hangs stalls itself alone:
 * once it has as many late jobs of a class as that class may have threads, its others stay in line.
 */
#ifndef H2D_EVENT_OFFLOAD_H
#define H2D_EVENT_OFFLOAD_H

#include "event/loop.h"

struct offload;

enum {
	OFFLOAD_LATE_MS = 1000,
	OFFLOAD_LATE_MAX = 28, /* threads that are late; beyond that they count again */
};

enum job_class {
	JOB_FILE,     /* reads, hashes, images: all threads but one */
	JOB_LOOKUP,   /* names, opens: the same */
	JOB_REMOTE,   /* whatever waits for another machine or process (FUSE): half of them */
	JOB_STORE,    /* uploads: half of them */
	JOB_LISTING,  /* a quarter of them */
	JOB_PASSWORD, /* half of them */
	JOB_HANDLER,  /* whatever handlers do there: all, for it has a pool of its own */
	JOB_CLASSES
};

/*
 * A job is a member of memory that lives until done() ran, even if the request
 * it is for has ended meanwhile: that marks the job instead of freeing it.
 */
struct job {
	void (*work)(struct job *j); /* in a thread */
	void (*done)(struct job *j); /* in the loop, exactly once */
	struct list node;
	enum job_class class;
	const void *owner;  /* the connection it is for: connections take turns; NULL: none */
	const void *volume; /* the root, or other thing, that may keep it waiting; NULL: nothing, it
			      is at work */
	bool queued;        /* no thread has it yet */
	bool cancelled; /* a thread has it, and its result is not needed any more: job_unwanted() */
};

/* nthreads threads at most; NULL when memory or descriptors are out (errno). */
struct offload *offload_new(struct loop *l, unsigned nthreads);

/* Queues j. 0, or -errno when no thread could be started (done() will not be called then). */
int offload_submit(struct offload *o, struct job *j);

/*
 * The result of j is not needed. True: no thread had begun with it, it is off the line, and done()
 * will not be called. False: work() can see it by job_unwanted(), and done() comes.
 */
bool offload_cancel(struct offload *o, struct job *j);

/* In work(), between the steps of a long job: whether it may end early. */
static inline bool job_unwanted(const struct job *j)
{
	return __atomic_load_n(&j->cancelled, __ATOMIC_RELAXED);
}

/* Jobs submitted whose done() has not run. */
unsigned offload_pending(const struct offload *o);

/* Waits for running jobs, runs every done(), joins the threads, frees. */
void offload_free(struct offload **o);

#endif
