/*
 * log: formats a line on the stack and writes it with one write(2), or sends it to the socket of
 * syslog(3). Every layer and the offload threads call it; it never allocates, never changes errno
 * and never waits: a line that does not fit is counted, and the count is the first line that does.
 */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/log_out.h"

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

/* Appends msg with its control bytes escaped; what does not fit below size is cut. */
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
 * As syslog(3), but that waits when nobody reads the socket. Keeps no descriptor, for children
 * close what is not on their list.
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

/* One line; false: it is lost. */
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

/* False while there is still no room. */
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

void log_say_lost(void)
{
	pthread_mutex_lock(&lock);
	say_lost();
	pthread_mutex_unlock(&lock);
}

void log_vwrite(enum log_level level, const char *fmt, va_list args)
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
