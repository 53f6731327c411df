/*
 * access_log: formats and gathers access log lines. Called once per request, so it copies by hand what
 * printf would be slow at. A line is never split over two writes; what a peer sent is escaped.
 */
#include "server/access_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum {
	BUFFER = 128 * 1024,
	PIECE_MAX = 1024,       /* bytes of a peer's piece; longer ones are cut */
	/* Seven pieces of a peer at most, six bytes for each of theirs at most, and what is ours. */
	LONGEST = 7 * 6 * PIECE_MAX + 1024,
	FLUSH_MS = 1000,
};

static void flush_timer(struct timer *t)
{
	access_log_flush(LIST_ENTRY(t, struct access_log, timer));
}

int access_log_init(struct access_log *log, struct loop *loop, int fd, enum access_format format)
{
	memset(log, 0, sizeof(*log));
	log->fd = fd;
	log->format = format;
	log->loop = loop;
	log->stamp_for = -1;
	timer_init(&log->timer, flush_timer);
	log->buf = malloc(BUFFER);
	return log->buf != NULL ? 0 : -1;
}

void access_log_fini(struct access_log *log)
{
	access_log_flush(log);
	free(log->buf);
	log->buf = NULL;
}

void access_log_flush(struct access_log *log)
{
	size_t done = 0;

	timer_disarm(&log->loop->wheel, &log->timer);
	while (log->fd >= 0 && done < log->len) {
		ssize_t n = write(log->fd, log->buf + done, log->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			log_error("access log: write: %s; %zu bytes lost", strerror(errno),
				log->len - done);
			break;
		}
		done += (size_t)n;
	}
	log->len = 0;
}

/* --- a line ------------------------------------------------------------------------------------------ */

static void put(struct access_log *log, struct slice s)
{
	memcpy(log->buf + log->len, s.p, s.n);
	log->len += s.n;
}

/* Bytes from a peer: quotes, backslashes and everything that is not printable ASCII or UTF-8's. */
static void put_escaped(struct access_log *log, struct slice s)
{
	static const char hex[] = "0123456789abcdef";
	const char *esc = log->format == ACCESS_JSON ? "\\u00" : "\\x";
	size_t n = s.n < PIECE_MAX ? s.n : PIECE_MAX;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
			log->buf[log->len++] = (char)c;
			continue;
		}
		put(log, slice_str(esc));
		log->buf[log->len++] = hex[c >> 4];
		log->buf[log->len++] = hex[c & 15];
	}
}

static void put_number(struct access_log *log, uint64_t v)
{
	char digits[20], *p = digits + sizeof(digits);

	do
		*--p = (char)('0' + v % 10);
	while ((v /= 10) != 0);
	put(log, slice_of(p, (size_t)(digits + sizeof(digits) - p)));
}

static struct slice field_of(const struct h2d_req *req, struct slice name)
{
	const struct field *f = field_find(req->fields, req->nfields, name);

	return f != NULL ? f->value : (struct slice){ 0 };
}

static void stamp(struct access_log *log)
{
	time_t now = clock_wall().tv_sec;
	struct tm tm;

	if (now == log->stamp_for)
		return;
	log->stamp_for = now;
	localtime_r(&now, &tm);
	strftime(log->stamp, sizeof(log->stamp),
		log->format == ACCESS_JSON ? "%Y-%m-%dT%H:%M:%S%z" : "%d/%b/%Y:%H:%M:%S %z", &tm);
}

static void put_or_dash(struct access_log *log, struct slice s)
{
	if (s.n == 0)
		put(log, SLICE("-"));
	else
		put_escaped(log, s);
}

/* The same without spaces: a user's name may have them, and stands where they end it. */
static void put_word(struct access_log *log, struct slice s)
{
	if (s.n == 0)
		put(log, SLICE("-"));
	if (s.n > PIECE_MAX)
		s.n = PIECE_MAX;
	while (s.n > 0) {
		const char *space = memchr(s.p, ' ', s.n);
		size_t n = space != NULL ? (size_t)(space - s.p) : s.n;

		put_escaped(log, slice_of(s.p, n));
		if (space == NULL)
			break;
		put(log, SLICE("\\x20"));
		s = slice_of(space + 1, s.n - n - 1);
	}
}

static void combined(struct access_log *log, const struct h2d_req *req)
{
	put(log, req->conn->peer);
	put(log, SLICE(" - "));
	put_word(log, req->user);
	put(log, SLICE(" ["));
	put(log, slice_str(log->stamp));
	put(log, SLICE("] \""));
	put_escaped(log, req->method_text);
	put(log, SLICE(" "));
	put_escaped(log, req->target);
	put(log, SLICE(" "));
	put(log, req->protocol);
	put(log, SLICE("\" "));
	put_number(log, (uint64_t)req->reply.status);
	put(log, SLICE(" "));
	put_number(log, req->sent);
	put(log, SLICE(" \""));
	put_or_dash(log, field_of(req, SLICE("referer")));
	put(log, SLICE("\" \""));
	put_or_dash(log, field_of(req, SLICE("user-agent")));
	put(log, SLICE("\"\n"));
}

static void member(struct access_log *log, struct slice key, struct slice value)
{
	put(log, SLICE(",\""));
	put(log, key);
	put(log, SLICE("\":\""));
	put_escaped(log, value);
	put(log, SLICE("\""));
}

static void number(struct access_log *log, struct slice key, uint64_t value)
{
	put(log, SLICE(",\""));
	put(log, key);
	put(log, SLICE("\":"));
	put_number(log, value);
}

static void json(struct access_log *log, const struct h2d_req *req)
{
	put(log, SLICE("{\"time\":\""));
	put(log, slice_str(log->stamp));
	put(log, SLICE("\""));
	member(log, SLICE("peer"), req->conn->peer);
	member(log, SLICE("user"), req->user);
	member(log, SLICE("method"), req->method_text);
	member(log, SLICE("scheme"), req->scheme);
	member(log, SLICE("authority"), req->authority);
	member(log, SLICE("target"), req->target);
	member(log, SLICE("protocol"), req->protocol);
	number(log, SLICE("status"), (uint64_t)req->reply.status);
	number(log, SLICE("bytes"), req->sent);
	number(log, SLICE("duration_us"), clock_us() - req->started_us);
	member(log, SLICE("referer"), field_of(req, SLICE("referer")));
	member(log, SLICE("user_agent"), field_of(req, SLICE("user-agent")));
	put(log, SLICE(",\"complete\":"));
	put(log, req->complete ? SLICE("true") : SLICE("false"));
	put(log, SLICE("}\n"));
}

void access_log_write(struct access_log *log, const struct h2d_req *req)
{
	if (log->fd < 0)
		return;
	if (log->len > BUFFER - LONGEST)
		access_log_flush(log);
	stamp(log);
	if (log->format == ACCESS_JSON)
		json(log, req);
	else
		combined(log, req);
	if (!timer_armed(&log->timer))
		timer_arm(&log->loop->wheel, &log->timer, clock_ms() + FLUSH_MS);
}
