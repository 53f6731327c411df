/*
 * log: one write(2) or one datagram to syslogd per line. It never allocates, never changes errno
 * and never waits.
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4000 };

static const struct {
	const char *name;
	int priority;
} levels[] = {
	[LEVEL_ALERT] = { "alert", LOG_ALERT },
	[LEVEL_ERROR] = { "error", LOG_ERR },
	[LEVEL_WARN] = { "warn", LOG_WARNING },
	[LEVEL_NOTICE] = { "notice", LOG_NOTICE },
	[LEVEL_INFO] = { "info", LOG_INFO },
	[LEVEL_DEBUG] = { "debug", LOG_DEBUG },
};

enum log_level log_max = LEVEL_INFO;

static int log_fd = STDERR_FILENO;
static char who_name[32] = "h2d";
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of out and lost */
static struct log_out out;
static unsigned lost;
static void (*told)(enum log_level level, const char *message);

void log_to(int fd)
{
	log_fd = fd;
}

void log_tell(void (*fn)(enum log_level level, const char *message))
{
	told = fn;
}

void log_who(const char *who)
{
	snprintf(who_name, sizeof(who_name), "%s", who);
}

static size_t put_head(char *line, size_t size, enum log_level level)
{
	struct timespec now;
	struct tm tm;
	int n;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	n = snprintf(line, size,
		"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ %s [%d] %s: ", tm.tm_year + 1900,
		tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
		(int)(now.tv_nsec / 1000000), levels[level].name, (int)getpid(), who_name);
	return n > 0 ? (size_t)n : 0;
}

/* Appends msg with control bytes escaped, cut to fit below size. */
static size_t put_escaped(char *line, size_t at, size_t size, const char *msg)
{
	static const char hex[] = "0123456789abcdef";

	for (; *msg != '\0'; msg++) {
		unsigned char c = (unsigned char)*msg;

		if (c >= 0x20 && c != 0x7f) {
			if (at + 1 > size)
				break;
			line[at++] = (char)c;
		} else {
			if (at + 4 > size)
				break;
			line[at++] = '\\';
			line[at++] = 'x';
			line[at++] = hex[c >> 4];
			line[at++] = hex[c & 15];
		}
	}
	return at;
}

/*
 * syslog(3) without waiting for a reader. Keeps no descriptor, because children close all that are
 * not on their list.
 */
static bool to_syslog(enum log_level level, const char *msg, size_t n)
{
	static const struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = "/dev/log" };
	char line[LINE_MAX_BYTES + 128], stamp[32];
	time_t now = time(NULL);
	struct tm tm;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), len;
	ssize_t rc = -1;

	if (fd < 0)
		return false;
	localtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%h %e %T", &tm);
	len = snprintf(line, sizeof(line), "<%d>%s h2d[%d]: %s: %.*s",
		LOG_MAKEPRI(LOG_DAEMON, levels[level].priority), stamp, (int)getpid(), who_name,
		(int)n, msg);
	if (len > 0)
		rc = sendto(fd, line, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL,
			(const struct sockaddr *)&at, sizeof(at));
	close(fd);
	return rc >= 0;
}

/* Writes one line; false: it is lost. */
static bool put_line(enum log_level level, const char *msg)
{
	char line[LINE_MAX_BYTES + 1];
	size_t n = 0;

	if (log_fd < 0) {
		n = put_escaped(line, n, LINE_MAX_BYTES - 1, msg);
		return to_syslog(level, line, n);
	}
	n = put_head(line, sizeof(line), level);
	n = put_escaped(line, n, LINE_MAX_BYTES - 1, msg);
	line[n++] = '\n';
	return log_out_write(&out, log_fd, line, n) == n;
}

/* False while there is no room. */
static bool say_lost(void)
{
	char msg[64];

	if (lost == 0)
		return true;
	snprintf(msg, sizeof(msg), "%u log line%s lost", lost, lost == 1 ? " was" : "s were");
	if (!put_line(LEVEL_ERROR, msg))
		return false;
	lost = 0;
	return true;
}

static void log_put(enum log_level level, const char *msg)
{
	int saved = errno;

	pthread_mutex_lock(&lock);
	if (!say_lost() || !put_line(level, msg))
		lost++;
	if (told != NULL && level <= LEVEL_WARN)
		told(level, msg);
	pthread_mutex_unlock(&lock);
	errno = saved;
}

static __attribute__((format(printf, 2, 0))) void log_vwrite(
	enum log_level level, const char *fmt, va_list args)
{
	char msg[LINE_MAX_BYTES];

	if (vsnprintf(msg, sizeof(msg), fmt, args) < 0)
		snprintf(msg, sizeof(msg), "(message not printable: %s)", fmt);
	log_put(level, msg);
}

void log_write(enum log_level level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_vwrite(level, fmt, args);
	va_end(args);
}

const char *log_level_name(enum log_level level)
{
	return levels[level].name;
}

/* --- kinds of lines that peers cause: one per second ------------------------------------------ */

enum { EVERY_MS = 1000 };

static pthread_mutex_t kinds_lock = PTHREAD_MUTEX_INITIALIZER; /* of all kinds */
static struct log_kind *kinds;                                 /* kinds that were used */

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void say_rest(struct log_kind *kind)
{
	if (kind->rest > 0)
		log_write(kind->level, "%s … and %u more like it in the last second", kind->text,
			kind->rest);
	kind->rest = 0;
}

void log_limited(struct log_kind *kind, enum log_level level, const char *fmt, ...)
{
	uint64_t now = now_ms();
	va_list args;

	pthread_mutex_lock(&kinds_lock);
	if (!kind->listed) {
		kind->listed = true;
		kind->next = kinds;
		kinds = kind;
	} else if (now < kind->until_ms) {
		kind->rest++;
		pthread_mutex_unlock(&kinds_lock);
		return;
	}
	say_rest(kind);
	kind->level = level;
	kind->until_ms = now + EVERY_MS;
	va_start(args, fmt);
	vsnprintf(kind->text, sizeof(kind->text), fmt, args);
	va_end(args);
	va_start(args, fmt);
	log_vwrite(level, fmt, args);
	va_end(args);
	pthread_mutex_unlock(&kinds_lock);
}

void log_forget(void)
{
	for (struct log_kind *k = kinds; k != NULL; k = k->next)
		k->rest = 0;
}

void log_tick(bool end)
{
	uint64_t now = now_ms();

	pthread_mutex_lock(&lock);
	say_lost();
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&kinds_lock);
	for (struct log_kind *k = kinds; k != NULL; k = k->next)
		if (end || now >= k->until_ms)
			say_rest(k);
	pthread_mutex_unlock(&kinds_lock);
}

/* --- whole lines, without waiting ------------------------------------------------------------- */

/*
 * Sockets have MSG_DONTWAIT, regular files never make a writer wait for a reader, all else has
 * O_NONBLOCK by log_out_own(). If the kernel refused to open it again (the pipe of another user),
 * RWF_NOWAIT does the same for one write, and if that is missing for pipes, poll(2) precedes the
 * write: only if another process fills the pipe in between can the write wait.
 */
static ssize_t write_if_polled(int fd, const char *p, size_t n)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	if (poll(&pfd, 1, 0) == 1)
		return write(fd, p, n);
	errno = EAGAIN;
	return -1;
}

static ssize_t log_out_put(int fd, mode_t mode, const char *p, size_t n)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)p, .iov_len = n };
	ssize_t rc;

	if (S_ISSOCK(mode))
		return send(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (S_ISREG(mode) || fcntl(fd, F_GETFL) & O_NONBLOCK)
		return write(fd, p, n);
	rc = pwritev2(fd, &iov, 1, -1, RWF_NOWAIT);
	if (rc < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL))
		return write_if_polled(fd, p, n);
	return rc;
}

/* The length of the whole lines in p[0..n), 0 if there is none. */
static size_t whole(const char *p, size_t n)
{
	const char *end = n > 0 ? memrchr(p, '\n', n) : NULL;

	return end != NULL ? (size_t)(end - p) + 1 : 0;
}

/*
 * A full disk took part of a line: truncates the file by it. Other writers have appended nothing,
 * because the disk is full for them too; if one has, the line stays torn.
 */
static bool take_back(int fd, mode_t mode, size_t n)
{
	struct stat st;

	return S_ISREG(mode) && fcntl(fd, F_GETFL) & O_APPEND && fstat(fd, &st) == 0 &&
	       st.st_size == lseek(fd, 0, SEEK_CUR) && st.st_size >= (off_t)n &&
	       ftruncate(fd, st.st_size - (off_t)n) == 0;
}

/* One write of at most PIPE_BUF bytes is whole or nothing in a pipe, even if other processes write
 * to it. */
static size_t log_out_piece(mode_t mode, const char *p, size_t n)
{
	const char *end;

	if (S_ISREG(mode) || n <= PIPE_BUF)
		return n;
	if (whole(p, PIPE_BUF) > 0)
		return whole(p, PIPE_BUF);
	end = memchr(p, '\n', n);
	return end != NULL ? (size_t)(end - p) + 1 : n;
}

size_t log_out_write(struct log_out *o, int fd, const char *p, size_t n)
{
	size_t done = 0;
	struct stat st;

	if (fstat(fd, &st) < 0 || (o->torn && log_out_put(fd, st.st_mode, "\n", 1) != 1))
		return 0;
	o->torn = false;
	while (done < n) {
		size_t want = log_out_piece(st.st_mode, p + done, n - done), lines;
		ssize_t got = log_out_put(fd, st.st_mode, p + done, want);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			break;
		lines = whole(p + done, (size_t)got);
		done += lines;
		if ((size_t)got < want) {
			size_t half = (size_t)got - lines;

			o->torn = half > 0 && !take_back(fd, st.st_mode, half);
			errno = S_ISREG(st.st_mode) ? ENOSPC : EAGAIN;
			break;
		}
	}
	return done;
}

void log_out_own(int fd)
{
	char path[32];
	struct stat st;
	int own;

	if (fstat(fd, &st) < 0 || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own < 0)
		return;
	dup2(own, fd);
	close(own);
}
