/*
 * log: formats a line on the stack and writes it with one write(2), or hands it to syslog(3). Anybody
 * calls it, offload threads too; it never allocates and never changes errno.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
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

void log_to(int fd)
{
	log_fd = fd;
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
	n = snprintf(line, size, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ %s [%d] %s: ",
		tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
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

void log_write(enum log_level level, const char *fmt, ...)
{
	char msg[LINE_MAX_BYTES];
	char line[LINE_MAX_BYTES + 1];
	int saved = errno;
	size_t n = 0;
	va_list args;
	ssize_t rc;

	va_start(args, fmt);
	if (vsnprintf(msg, sizeof(msg), fmt, args) < 0)
		snprintf(msg, sizeof(msg), "(message not printable: %s)", fmt);
	va_end(args);

	if (log_fd >= 0)
		n = put_head(line, sizeof(line), level);
	n = put_escaped(line, n, LINE_MAX_BYTES - 1, msg);
	if (log_fd >= 0) {
		line[n++] = '\n';
		do {
			rc = write(log_fd, line, n);
		} while (rc < 0 && errno == EINTR);
	} else {
		/* Keeps no descriptor: children close what is not on their list, and libc must not notice. */
		openlog("h2d", LOG_PID, LOG_DAEMON);
		syslog(levels[level].priority, "%s: %.*s", who_name, (int)n, line);
		closelog();
	}
	errno = saved;
}

const char *log_level_name(enum log_level level)
{
	return levels[level].name;
}

int log_level_parse(const char *name)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (strcmp(name, levels[i].name) == 0)
			return (int)i;
	}
	return -1;
}
