/* access_logs: finds the log of a request, and skips excluded requests; opens no file. */
#include "server/access_logs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"

static int set_ways(struct access_logs *l, const struct conf *conf)
{
	struct conf_access_logs all;

	conf_access_logs(conf, &all);
	H2D_ASSERT(all.n == l->n);
	for (unsigned i = 0; i <= conf->nservers; i++) {
		struct conf_access_log as = conf_access_log(conf, &all, i);
		struct access_logs_way *way = &l->ways[i];
		struct slice *v;

		way->log = as.log >= 0 ? &l->v[as.log] : NULL;
		way->format = as.format;
		way->anonymous = as.anonymous;
		l->timed |= way->log != NULL &&
			    (way->format == ACCESS_JSON || way->format == ACCESS_SHORT);
		way->skip = v = calloc(as.skip->n + 1, sizeof(*v));
		if (v == NULL)
			return -1;
		for (; way->nskip < as.skip->n; way->nskip++)
			v[way->nskip] = slice_str(as.skip->v[way->nskip]);
	}
	return 0;
}

int access_logs_init(struct access_logs *l, struct loop *loop, const struct conf *conf,
	const struct sites *sites, const int *fds, unsigned n)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	*l = (struct access_logs){ .sites = sites };
	/* no-color.org, and the dumb terminal of terminfo(5). */
	l->colours = (no == NULL || *no == '\0') && term != NULL && *term != '\0' &&
		     strcmp(term, "dumb") != 0;
	H2D_ASSERT(sites->n == conf->nservers);
	l->v = calloc(n + 1, sizeof(*l->v));
	l->ways = calloc(conf->nservers + 1, sizeof(*l->ways));
	if (l->v == NULL || l->ways == NULL)
		return -1;
	for (; l->n < n; l->n++)
		if (access_log_init(&l->v[l->n], loop, fds[l->n]) < 0)
			return -1;
	return set_ways(l, conf);
}

void access_logs_write(struct access_logs *l, const struct h2d_req *req)
{
	const struct access_logs_way *way;

	if (l->n == 0)
		return;
	/* A request that ended before its head was complete belongs to the default server. */
	way = &l->ways[req->conn->admin    ? l->sites->n
		       : req->site != NULL ? req->site - l->sites->v
					   : l->sites->fallback];
	if (way->log == NULL)
		return;
	for (unsigned i = 0; i < way->nskip; i++)
		if (site_prefix_owns(way->skip[i], req->path))
			return;
	l->line.colour = l->colours && way->log->terminal;
	l->line.anonymous = way->anonymous;
	access_log_write(way->log, &l->line, way->format, req);
}

void access_logs_reopened(struct access_logs *l, const int *fds, unsigned n)
{
	for (unsigned i = 0; i < l->n && i < n; i++) {
		access_log_flush(&l->v[i]);
		if (dup2(fds[i], l->v[i].fd) < 0)
			log_error("reopening the log: %s", strerror(errno));
	}
}

void access_logs_fini(struct access_logs *l)
{
	for (unsigned i = 0; i < l->n; i++)
		access_log_fini(&l->v[i]);
	for (unsigned i = 0; l->ways != NULL && i <= l->sites->n; i++)
		free(l->ways[i].skip);
	free(l->ways);
	free(l->v);
	*l = (struct access_logs){ 0 };
}

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
	/* Not isatty(3): workers may not make its system call. */
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

/* True: room for a line; false while lines wait for the next try. */
static bool have_room(struct access_log *log)
{
	if (log->len <= BUFFER - ACCESS_LINE_MAX)
		return true;
	if (!log->full)
		access_log_flush(log);
	log->full = log->len > BUFFER - ACCESS_LINE_MAX;
	if (log->full)
		timer_arm(&log->loop->wheel, &log->timer, clock_ms() + FULL_MS);
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
