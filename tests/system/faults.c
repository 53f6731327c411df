/*
 * faults: a library that a server under test is preloaded with, and that fails calls of the C
 * library as an order in shared memory says. faults.py builds it and gives the orders; a process
 * without an order is not touched.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum call {
#define CALL(type, bad, name, params, args, can, how) CALL_##name,
#define MOVES(type, name, params, args, n, how)       CALL_##name,
#define PASSES(name, how)                             CALL_##name,
#include "faults.def"
	CALLS,
};

enum { PIDS = 16, ORDER = 4096 };

/* As faults.py packs it. */
struct order {
	int32_t pids[PIDS]; /* 0: none */
	int32_t others;     /* those are spared, and all others have the fault */
	int32_t masters;    /* of these the ones that have run the program: no children */
	int32_t call;       /* -1: none fails */
	int32_t error;      /* 0: less moves than was asked for */
	int32_t skip;       /* calls before the first that fails */
	int32_t times;      /* calls that fail */
	int32_t failed;
	int32_t seen;
	int32_t shift;       /* seconds by which the wall clock is off, for all processes */
	int32_t made[CALLS]; /* calls of each kind, by processes of the order */
};

_Static_assert(sizeof(struct order) <= ORDER, "the file that is mapped");

static struct order *order;
static pid_t began; /* the process that ran the program */

static bool is_ours(void)
{
	int32_t pid = getpid();
	bool named = false;

	for (int i = 0; i < PIDS; i++)
		named |= order->pids[i] == pid;
	return named != (order->others != 0) && (!order->masters || pid == began);
}

/* Whether this call is one that fails. */
static bool strikes(enum call call, bool can)
{
	int32_t n;

	if (order == NULL || !is_ours())
		return false;
	if (can)
		__atomic_add_fetch(&order->made[call], 1, __ATOMIC_RELAXED);
	if (order->call != (int32_t)call || !can)
		return false;
	n = __atomic_fetch_add(&order->seen, 1, __ATOMIC_RELAXED);
	if (n < order->skip || n - order->skip >= order->times)
		return false;
	__atomic_add_fetch(&order->failed, 1, __ATOMIC_RELAXED);
	return true;
}

static bool fails(enum call call, bool can)
{
	if (!strikes(call, can))
		return false;
	errno = order->error;
	return true;
}

/* What a call is beside this library's; looked up once, by the first one. */
static void *next(void **real, const char *name)
{
	if (*real == NULL)
		*real = dlsym(RTLD_NEXT, name);
	return *real;
}

#define NEXT(name) ((__typeof__(&(name)))next(&real_##name, #name))

#define CALL(type, bad, name, params, args, can, how) static void *real_##name;
#define MOVES(type, name, params, args, n, how)       static void *real_##name;
#define PASSES(name, how)
#include "faults.def"
static void *real_open, *real_openat, *real_fcntl, *real_preadv2, *real_pwritev2, *real_sendmsg,
	*real_getsockopt, *real_clock_gettime, *real_time, *real_syscall, *real_writev,
	*real_sendfile;

#define CALL(type, bad, name, params, args, can, how) \
	type name params \
	{ \
		if (fails(CALL_##name, can)) \
			return (bad); \
		return NEXT(name) args; \
	}
#define MOVES(type, name, params, args, n, how) \
	type name params \
	{ \
		if (strikes(CALL_##name, can_be_short(n))) { \
			if (order->error != 0) { \
				errno = order->error; \
				return -1; \
			} \
			n /= 2; \
		} \
		return NEXT(name) args; \
	}
#define PASSES(name, how)

/* What is read of an eventfd or a signalfd is whole. */
static bool can_be_short(size_t n)
{
	return order == NULL || order->error != 0 || n > sizeof(struct signalfd_siginfo);
}

#include "faults.def"

/* --- calls that take some care ------------------------------------------------------------------
 */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
	return fails(CALL_malloc, true) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return fails(CALL_malloc, true) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return n != 0 && fails(CALL_malloc, true) ? NULL : __libc_realloc(p, n);
}

/* The descriptor is closed all the same. */
int close(int fd)
{
	int rc = (int)syscall(SYS_close, fd);

	return fails(CALL_close, true) ? -1 : rc;
}

static mode_t mode_of(int flags, va_list more)
{
	return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
	va_list more;
	mode_t mode;

	va_start(more, flags);
	mode = mode_of(flags, more);
	va_end(more);
	return fails(CALL_open, true) ? -1 : NEXT(open)(path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
	va_list more;
	mode_t mode;

	va_start(more, flags);
	mode = mode_of(flags, more);
	va_end(more);
	return fails(CALL_openat, true) ? -1 : NEXT(openat)(at, path, flags, mode);
}

int fcntl(int fd, int what, ...)
{
	va_list more;
	void *arg;

	va_start(more, what);
	arg = va_arg(more, void *);
	va_end(more);
	if (what == F_DUPFD_CLOEXEC && fails(CALL_dupfd, true))
		return -1;
	return NEXT(fcntl)(fd, what, arg);
}

long syscall(long number, ...)
{
	va_list more;
	long a[6];

	va_start(more, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(more, long);
	va_end(more);
	if (number == SYS_openat2 && fails(CALL_openat2, true))
		return -1;
	if (number == SYS_landlock_restrict_self && fails(CALL_landlock, true))
		return -1;
	/* A filter; the library asks in other ways what the kernel has. */
	if (number == SYS_seccomp && a[0] == SECCOMP_SET_MODE_FILTER && a[2] != 0 &&
		fails(CALL_seccomp, true))
		return -1;
	return NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Half of the first piece of iov: what a call moves that moves less. */
static struct iovec half(const struct iovec *iov)
{
	return (struct iovec){ .iov_base = iov->iov_base, .iov_len = (iov->iov_len + 1) / 2 };
}

#define VECTOR(name, params, args) \
	ssize_t name params \
	{ \
		struct iovec less; \
\
		if (n > 0 && strikes(CALL_##name, true)) { \
			if (order->error != 0) { \
				errno = order->error; \
				return -1; \
			} \
			less = half(iov); \
			iov = &less; \
			n = 1; \
		} \
		return NEXT(name) args; \
	}

VECTOR(preadv2, (int fd, const struct iovec *iov, int n, off_t at, int flags),
	(fd, iov, n, at, flags))
VECTOR(pwritev2, (int fd, const struct iovec *iov, int n, off_t at, int flags),
	(fd, iov, n, at, flags))
VECTOR(writev, (int fd, const struct iovec *iov, int n), (fd, iov, n))

ssize_t sendfile(int to, int fd, off_t *at, size_t n)
{
	if (strikes(CALL_sendfile, true)) {
		if (order->error != 0) {
			errno = order->error;
			return -1;
		}
		n = (n + 1) / 2;
	}
	return NEXT(sendfile)(to, fd, at, n);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int rc = NEXT(clock_gettime)(clock, t);

	if (order != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		t->tv_sec += order->shift;
	return rc;
}

time_t time(time_t *t)
{
	time_t now = NEXT(time)(NULL) + (order != NULL ? order->shift : 0);

	if (t != NULL)
		*t = now;
	return now;
}

static bool is_stream(int fd)
{
	int type = 0;

	return NEXT(getsockopt)(fd, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){ sizeof(type) }) ==
		       0 &&
	       type == SOCK_STREAM;
}

/* A message of any other socket is sent whole or not at all. */
ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	struct msghdr copy = *m;
	struct iovec less;

	if (order != NULL && order->error == 0 && (m->msg_iovlen == 0 || !is_stream(fd)))
		return NEXT(sendmsg)(fd, m, flags);
	if (!strikes(CALL_sendmsg, true))
		return NEXT(sendmsg)(fd, m, flags);
	if (order->error != 0) {
		errno = order->error;
		return -1;
	}
	less = half(m->msg_iov);
	copy.msg_iov = &less;
	copy.msg_iovlen = 1;
	return NEXT(sendmsg)(fd, &copy, flags);
}

/* All of the other library's calls are known before one can fail. */
__attribute__((constructor)) static void begin(void)
{
	int fd = open(getenv("FAULTS"), O_RDWR | O_CLOEXEC);
	void *p;

	began = getpid();

#define CALL(type, bad, name, params, args, can, how) (void)NEXT(name);
#define MOVES(type, name, params, args, n, how)       (void)NEXT(name);
#define PASSES(name, how)
#include "faults.def"
	(void)NEXT(clock_gettime), (void)NEXT(time), (void)NEXT(preadv2), (void)NEXT(pwritev2),
		(void)NEXT(sendmsg), (void)NEXT(writev), (void)NEXT(sendfile);
	p = mmap(NULL, ORDER, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p != MAP_FAILED)
		order = p;
}
