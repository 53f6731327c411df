/*
 * access_log: gathers the lines of one access log. Called once per request. It never splits a line
 * over two writes and never waits: lines that cannot be written stay in the buffer, and those that
 * have no room there are lost, counted and reported.
 */
#include "server/access_logs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

enum {
	BUFFER = 128 * 1024,
	FLUSH_MS = 1000,
	TERMINAL_MS = 20,
	FULL_MS = 10,
};

static void flush_timer(struct timer *t)
{
	struct access_log *log = LIST_ENTRY(t, struct access_log, timer);

	log->full = false;
	access_log_flush(log);
}

int access_log_init(struct access_log *log, struct loop *loop, int fd)
{
	struct stat st;

	memset(log, 0, sizeof(*log));
	log->fd = fd;
	/* Not isatty(3): its system call is refused to workers. */
	log->terminal = fstat(fd, &st) == 0 && S_ISCHR(st.st_mode);
	log->loop = loop;
	timer_init(&log->timer, flush_timer);
	log->buf = malloc(BUFFER);
	return log->buf != NULL ? 0 : -1;
}

void access_log_fini(struct access_log *log)
{
	access_log_flush(log);
	timer_disarm(&log->loop->wheel, &log->timer);
	for (size_t i = 0; i < log->len; i++)
		log->lost += log->buf[i] == '\n';
	if (log->lost > 0)
		log_error("access log: %u lines were lost", log->lost);
	free(log->buf);
	log->buf = NULL;
}

void access_log_flush(struct access_log *log)
{
	size_t done;

	timer_disarm(&log->loop->wheel, &log->timer);
	if (log->len == 0)
		return;
	done = log_out_write(&log->out, log->fd, log->buf, log->len);
	if (done < log->len && errno != EAGAIN)
		log_peer(LEVEL_ERROR, "access log: %s", strerror(errno));
	log->len -= done;
	memmove(log->buf, log->buf + done, log->len);
	if (log->len > 0) {
		timer_arm(&log->loop->wheel, &log->timer, clock_ms() + FLUSH_MS);
	} else if (log->lost > 0) {
		log_error("access log: %u lines were lost", log->lost);
		log->lost = 0;
	}
}

/* Room for a line; none while what is there waits for the next try. */
static bool have_room(struct access_log *log)
{
	if (log->len <= BUFFER - ACCESS_LINE_MAX)
		return true;
	if (!log->full)
		access_log_flush(log);
	log->full = log->len > BUFFER - ACCESS_LINE_MAX;
	if (log->full) {
		timer_disarm(&log->loop->wheel, &log->timer);
		timer_arm(&log->loop->wheel, &log->timer, clock_ms() + FULL_MS);
	}
	return !log->full;
}

void access_log_write(struct access_log *log, struct access_line *line, enum access_format format,
	const struct h2d_req *req)
{
	if (!have_room(log)) {
		log->lost++;
		return;
	}
	log->len += access_line(line, format, req, log->buf + log->len);
	if (!timer_armed(&log->timer))
		timer_arm(&log->loop->wheel, &log->timer,
			clock_ms() + (log->terminal ? TERMINAL_MS : FLUSH_MS));
}
