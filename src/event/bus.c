/*
 * bus: one writer at a time, by a word that holds its process; readers take no lock. A writer first
 * sets limit, the end of its write, and then writes: a reader that has copied a message compares
 * limit to detect that it was overwritten. A futex (futex(2)) wakes the threads of all readers.
 */
#include "event/bus.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/crash.h"

enum {
	LOCK_TRIES = 200,
	LOCK_NS = 100 * 1000,
	READER_STACK = 256 << 10,
	MESSAGES_PER_TURN = 64,
};

struct bus {
	uint32_t writer;   /* atomic; its process, 0: none */
	uint32_t news;     /* atomic; the futex: messages ever (wraps) */
	uint64_t limit;    /* atomic; end of the bytes written or being written */
	uint64_t head;     /* atomic; end of the bytes completely written */
	uint64_t messages; /* ever */
	char ring[BUS_SIZE];
};

/* The head of a message in the ring: topic and data follow, and padding to 8 bytes. */
struct record {
	uint64_t number;
	uint32_t topic_n, data_n;
};

struct bus_reader {
	struct bus *bus;
	struct loop *loop;
	bus_fn *fn;
	void *ctx;
	struct watch watch; /* of the eventfd that the thread writes to */
	struct task again;
	pthread_t thread;
	bool quit;       /* atomic */
	uint64_t at;     /* of the next message, in bytes since the start */
	uint64_t number; /* expected there */
	char text[BUS_TOPIC_MAX + BUS_MESSAGE_MAX];
};

static size_t size_of(size_t topic_n, size_t data_n)
{
	return sizeof(struct record) + ((topic_n + data_n + 7) & ~(size_t)7);
}

static void wake_all(struct bus *b)
{
	syscall(SYS_futex, &b->news, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

struct bus *bus_new(void)
{
	void *p = mmap(NULL, sizeof(struct bus), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);

	return p != MAP_FAILED ? p : NULL;
}

void bus_free(struct bus **b)
{
	if (*b != NULL)
		munmap(*b, sizeof(**b));
	*b = NULL;
}

/* --- writing ---------------------------------------------------------------------------------- */

static bool give_back(struct bus *b, uint32_t pid)
{
	return __atomic_compare_exchange_n(
		&b->writer, &pid, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void bus_left(struct bus *b, pid_t pid)
{
	give_back(b, (uint32_t)pid);
}

static bool take_from(struct bus *b, uint32_t *holder, uint32_t pid)
{
	return __atomic_compare_exchange_n(
		&b->writer, holder, pid, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* A writer that holds the ring for so long hangs, or a process taken over has forged its word: it
 * loses its turn. */
static bool take_turn(struct bus *b, uint32_t pid)
{
	const struct timespec pause = { .tv_nsec = LOCK_NS };
	uint32_t holder = 0;

	for (unsigned i = 0; i < LOCK_TRIES; i++) {
		holder = 0;
		if (take_from(b, &holder, pid))
			return true;
		nanosleep(&pause, NULL);
	}
	return take_from(b, &holder, pid);
}

static void copy_in(struct bus *b, uint64_t at, const void *p, size_t n)
{
	size_t i = at % BUS_SIZE, first = n < BUS_SIZE - i ? n : BUS_SIZE - i;

	if (n == 0)
		return;
	memcpy(b->ring + i, p, first);
	memcpy(b->ring, (const char *)p + first, n - first);
}

int bus_put(struct bus *b, struct slice topic, struct slice data)
{
	struct record r = { .topic_n = (uint32_t)topic.n, .data_n = (uint32_t)data.n };
	uint32_t pid = (uint32_t)getpid();
	uint64_t at;

	if (topic.n > BUS_TOPIC_MAX || data.n > BUS_MESSAGE_MAX)
		return -EMSGSIZE;
	if (!take_turn(b, pid))
		return -EBUSY;
	at = b->head;
	__atomic_store_n(&b->limit, at + size_of(topic.n, data.n), __ATOMIC_RELAXED);
	/* No byte is overwritten before limit covers it. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	r.number = b->messages++;
	copy_in(b, at, &r, sizeof(r));
	copy_in(b, at + sizeof(r), topic.p, topic.n);
	copy_in(b, at + sizeof(r) + topic.n, data.p, data.n);
	if (__atomic_load_n(&b->writer, __ATOMIC_RELAXED) != pid)
		return -EBUSY;
	__atomic_store_n(&b->head, at + size_of(topic.n, data.n), __ATOMIC_RELEASE);
	__atomic_add_fetch(&b->news, 1, __ATOMIC_RELEASE);
	give_back(b, pid);
	wake_all(b);
	return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void copy_out(const struct bus *b, uint64_t at, void *p, size_t n)
{
	size_t i = at % BUS_SIZE, first = n < BUS_SIZE - i ? n : BUS_SIZE - i;

	memcpy(p, b->ring + i, first);
	memcpy((char *)p + first, b->ring, n - first);
}

/* Copies the next message; false: overwritten or invalid. */
static bool copy_next(struct bus_reader *r, uint64_t left, struct record *head)
{
	if (left < sizeof(*head))
		return false;
	copy_out(r->bus, r->at, head, sizeof(*head));
	if (head->topic_n > BUS_TOPIC_MAX || head->data_n > BUS_MESSAGE_MAX ||
		size_of(head->topic_n, head->data_n) > left)
		return false;
	copy_out(r->bus, r->at + sizeof(*head), r->text, head->topic_n + head->data_n);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&r->bus->limit, __ATOMIC_RELAXED) - r->at <= BUS_SIZE;
}

/* Hands on the next message. False: none. */
static bool read_next(struct bus_reader *r)
{
	uint64_t head = __atomic_load_n(&r->bus->head, __ATOMIC_ACQUIRE), lost;
	struct record m;

	if (head == r->at)
		return false;
	if (head - r->at > BUS_SIZE || !copy_next(r, head - r->at, &m)) {
		/* Only the newest end is a known beginning of a message. */
		r->at = head;
		return true;
	}
	lost = m.number - r->number;
	r->at += size_of(m.topic_n, m.data_n);
	r->number = m.number + 1;
	r->fn(r->ctx, slice_of(r->text, m.topic_n), slice_of(r->text + m.topic_n, m.data_n), lost);
	return true;
}

void bus_reader_read(struct bus_reader *r)
{
	while (read_next(r))
		;
}

static void read_some(struct bus_reader *r)
{
	for (unsigned i = 0; i < MESSAGES_PER_TURN; i++)
		if (!read_next(r))
			return;
	loop_ready(r->loop, &r->again);
}

static void on_again(struct task *t)
{
	read_some(LIST_ENTRY(t, struct bus_reader, again));
}

static void on_eventfd(struct watch *w, uint32_t events)
{
	uint64_t n;

	(void)events;
	(void)!read(w->fd, &n, sizeof(n));
	read_some(LIST_ENTRY(w, struct bus_reader, watch));
}

/* Sleeps until a message comes, and wakes the loop. */
static void *wait_for_news(void *arg)
{
	struct bus_reader *r = arg;
	uint32_t seen = 0, now;

	for (;;) {
		now = __atomic_load_n(&r->bus->news, __ATOMIC_ACQUIRE);
		/* In this order: bus_reader_free() sets quit first. */
		if (__atomic_load_n(&r->quit, __ATOMIC_ACQUIRE))
			return NULL;
		if (now != seen)
			(void)!write(r->watch.fd, &(uint64_t){ 1 }, sizeof(uint64_t));
		seen = now;
		syscall(SYS_futex, &r->bus->news, FUTEX_WAIT, seen, NULL, NULL, 0);
	}
}

struct bus_reader *bus_reader_new(struct bus *b, struct loop *l, bus_fn *fn, void *ctx)
{
	struct bus_reader *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->bus = b;
	r->loop = l;
	r->fn = fn;
	r->ctx = ctx;
	task_init(&r->again, on_again);
	r->watch.fn = on_eventfd;
	r->watch.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->watch.fd < 0 || loop_watch(l, &r->watch, EPOLLIN) < 0)
		goto fail;
	r->at = __atomic_load_n(&b->head, __ATOMIC_ACQUIRE);
	r->number = __atomic_load_n(&b->messages, __ATOMIC_RELAXED);
	if (crash_thread(&r->thread, READER_STACK, wait_for_news, r) == 0)
		return r;
fail:
	loop_unwatch(l, &r->watch);
	if (r->watch.fd >= 0)
		close(r->watch.fd);
	free(r);
	return NULL;
}

void bus_reader_free(struct bus_reader **rp)
{
	struct bus_reader *r = *rp;

	if (r == NULL)
		return;
	*rp = NULL;
	__atomic_store_n(&r->quit, true, __ATOMIC_RELEASE);
	/* Changed, so that a thread about to sleep does not. */
	__atomic_add_fetch(&r->bus->news, 1, __ATOMIC_RELEASE);
	wake_all(r->bus);
	pthread_join(r->thread, NULL);
	loop_unwatch(r->loop, &r->watch);
	loop_cancel(&r->again);
	close(r->watch.fd);
	free(r);
}
