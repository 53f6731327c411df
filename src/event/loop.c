/*
 * loop: epoll, timers and task queues in one turn. It owns only the descriptor of its epoll
 * instance.
 */
#include "event/loop.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"

/* Few connections per turn keep what they touch in the CPU's cache. */
enum { EVENTS_PER_TURN = 32 };

static int taken = -1;

void loop_take(int epfd)
{
	taken = epfd;
}

int loop_init(struct loop *l)
{
	*l = (struct loop){ .epfd = taken >= 0 ? taken : epoll_create1(EPOLL_CLOEXEC) };
	taken = -1;
	if (l->epfd < 0)
		return -errno;
	clock_update();
	wheel_init(&l->wheel, clock_ms());
	list_init(&l->ready);
	list_init(&l->turn_end);
	list_init(&l->deferred);
	return 0;
}

static void run_tasks(struct list *tasks)
{
	LIST_TAKE(struct task, t, node, tasks)
		t->fn(t);
}

void loop_fini(struct loop *l)
{
	H2D_ASSERT(list_empty(&l->ready));
	H2D_ASSERT(list_empty(&l->turn_end));
	run_tasks(&l->deferred);
	close(l->epfd);
	l->epfd = -1;
}

int loop_watch(struct loop *l, struct watch *w, uint32_t events)
{
	struct epoll_event ev = { .events = events | EPOLLET, .data.ptr = w };

	H2D_ASSERT(!w->active);
	if (epoll_ctl(l->epfd, EPOLL_CTL_ADD, w->fd, &ev) != 0)
		return -errno;
	w->active = true;
	l->watches++;
	return 0;
}

void loop_unwatch(struct loop *l, struct watch *w)
{
	int rc;

	if (!w->active)
		return;
	/* Explicitly: close(2) is not enough if another process holds the same open file. */
	rc = epoll_ctl(l->epfd, EPOLL_CTL_DEL, w->fd, NULL);
	H2D_ASSERT(rc == 0);
	w->active = false;
	l->watches--;
	for (int i = 0; i < l->batch_len; i++) {
		if (l->batch[i] == w)
			l->batch[i] = NULL;
	}
}

static void queue(struct list *l, struct task *t)
{
	if (!list_linked(&t->node))
		list_append(l, &t->node);
}

void loop_ready(struct loop *l, struct task *t)
{
	queue(&l->ready, t);
}

void loop_at_turn_end(struct loop *l, struct task *t)
{
	queue(&l->turn_end, t);
}

void loop_defer(struct loop *l, struct task *t)
{
	queue(&l->deferred, t);
}

void loop_cancel(struct task *t)
{
	list_remove(&t->node);
}

static void run_events(struct loop *l, const struct epoll_event *events, int n)
{
	struct watch *batch[EVENTS_PER_TURN];

	for (int i = 0; i < n; i++)
		batch[i] = events[i].data.ptr;
	l->batch = batch;
	l->batch_len = n;
	for (int i = 0; i < n; i++) {
		if (batch[i] != NULL)
			batch[i]->fn(batch[i], events[i].events);
	}
	l->batch = NULL;
	l->batch_len = 0;
}

static int wait_ms(const struct loop *l, uint64_t now_ms, int max)
{
	int timer;

	if (!list_empty(&l->ready) || !list_empty(&l->turn_end) || !list_empty(&l->deferred))
		return 0;
	timer = wheel_wait(&l->wheel, now_ms);
	if (timer < 0)
		return max;
	return max < 0 || timer < max ? timer : max;
}

/*
 * A timer fires only when all events that were ready at its time are handled: what a client sent in
 * time counts as in time, however long this process was stopped (SIGSTOP, a paused machine, a busy
 * processor). A look is one call of epoll_wait(2), or as many as give each watch its turn; epoll
 * reports in order of readiness.
 */
static void fire_timers(struct loop *l, int heard, uint64_t looked_ms)
{
	if (l->look.heard == 0)
		l->look.from_ms = looked_ms;
	l->look.heard += heard;
	if (heard == EVENTS_PER_TURN && l->look.heard < l->watches)
		return;
	l->look.heard = 0;
	wheel_advance(&l->wheel, l->look.from_ms);
}

int loop_turn(struct loop *l, int max_wait_ms)
{
	struct epoll_event events[EVENTS_PER_TURN];
	struct list ready;
	/* Not clock_ms(): the turn before may have been long, and this look covers all of it. Never
	 * too late: later events are not seen. */
	uint64_t looked_ms = clock_past_ms();
	int wait = wait_ms(l, looked_ms, max_wait_ms);
	int n = epoll_wait(l->epfd, events, EVENTS_PER_TURN, wait);

	if (n < 0 && errno != EINTR)
		return -errno;
	l->turns++;
	clock_update();
	/* Before any callback: a task queued from here on waits for the next turn. */
	list_init(&ready);
	list_splice(&ready, &l->ready);
	run_events(l, events, n);
	if (n >= 0)
		fire_timers(l, n, n == 0 ? looked_ms + (unsigned)wait : looked_ms);
	run_tasks(&ready);
	run_tasks(&l->turn_end);
	run_tasks(&l->deferred);
	return 0;
}

int loop_run(struct loop *l)
{
	int rc = 0;

	while (!l->stop && rc == 0)
		rc = loop_turn(l, -1);
	l->stop = false;
	return rc;
}

void loop_stop(struct loop *l)
{
	l->stop = true;
}

/* --- signals ---------------------------------------------------------------------------------- */

static void on_signals(struct watch *w, uint32_t events)
{
	struct sig *s = (struct sig *)(void *)((char *)w - offsetof(struct sig, watch));
	struct signalfd_siginfo info;

	(void)events;
	/* The callback may have ended the watch. */
	while (w->active && read(w->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		s->fn(s, &info);
}

int sig_init(struct sig *s, struct loop *l, const sigset_t *set,
	void (*fn)(struct sig *s, const struct signalfd_siginfo *info))
{
	sigset_t own;

	sigemptyset(&own);
	for (const int *n = (const int[]){ SIGTERM, SIGQUIT, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, 0 };
		*n != 0; n++)
		sigaddset(&own, *n);
	if (set == NULL)
		set = &own;
	*s = (struct sig){ .watch.fn = on_signals, .fn = fn };
	pthread_sigmask(SIG_BLOCK, set, NULL);
	s->watch.fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->watch.fd >= 0 ? loop_watch(l, &s->watch, EPOLLIN) : -errno;
}

void sig_fini(struct sig *s, struct loop *l)
{
	if (!s->watch.active)
		return;
	loop_unwatch(l, &s->watch);
	close(s->watch.fd);
	s->watch.fd = -1;
}

void sig_reset(void)
{
	sigset_t none;

	/* Fault signals keep their actions: a sanitizer's report depends on them. */
	for (int n = 1; n < NSIG; n++) {
		if (n == SIGSEGV || n == SIGBUS || n == SIGFPE || n == SIGILL || n == SIGABRT)
			continue;
		signal(n, n == SIGPIPE || n == SIGXFSZ ? SIG_IGN : SIG_DFL);
	}
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
}
