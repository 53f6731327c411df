/*
 * access_log: formats and gathers the lines of the access log. The worker calls it once per
 * request, so it copies by hand what printf() would be slow at. It never splits a line over two
 * writes, never writes an unescaped byte of a peer and never waits: lines that cannot be written
 * stay in the buffer, and those that have no room there are lost, counted and reported.
 */
#include "server/access_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"

enum {
	BUFFER = 128 * 1024,
	PIECE_MAX = 1024, /* bytes of a peer's piece; longer ones are cut */
	PIECES = 7,       /* of a peer in one line */
	LONGEST = PIECES * JSON_ESCAPED_MAX * PIECE_MAX + 1024,
	FLUSH_MS = 1000,
	FULL_MS = 10,
};

static void flush_timer(struct timer *t)
{
	struct access_log *log = LIST_ENTRY(t, struct access_log, timer);

	log->full = false;
	access_log_flush(log);
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
	if (log->fd < 0 || log->len == 0)
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
	if (log->len <= BUFFER - LONGEST)
		return true;
	if (!log->full)
		access_log_flush(log);
	log->full = log->len > BUFFER - LONGEST;
	if (log->full) {
		timer_disarm(&log->loop->wheel, &log->timer);
		timer_arm(&log->loop->wheel, &log->timer, clock_ms() + FULL_MS);
	}
	return !log->full;
}

/* --- a line ----------------------------------------------------------------------------------- */

static void put(struct access_log *log, struct slice s)
{
	memcpy(log->buf + log->len, s.p, s.n);
	log->len += s.n;
}

/* Bytes from a peer in a combined line: all but printable ASCII as \xHH, quotes and backslashes
 * too.
 */
static void put_hex(struct access_log *log, struct slice s)
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
			log->buf[log->len++] = (char)c;
			continue;
		}
		put(log, SLICE("\\x"));
		log->buf[log->len++] = hex[c >> 4];
		log->buf[log->len++] = hex[c & 15];
	}
}

static void put_escaped(struct access_log *log, struct slice s)
{
	s = utf8_cut(s, PIECE_MAX);
	if (log->format == ACCESS_JSON)
		log->len += json_escape(log->buf + log->len, s);
	else
		put_hex(log, s);
}

static void put_number(struct access_log *log, uint64_t v)
{
	char digits[20], *p = digits + sizeof(digits);

	do
		*--p = (char)('0' + v % 10);
	while ((v /= 10) != 0);
	put(log, slice_of(p, (size_t)(digits + sizeof(digits) - p)));
}

static void put_peer(struct access_log *log, const struct h2d_req *req)
{
	put(log, slice_str(ADDR_HOST(&req->conn->peer)));
}

static struct slice field_of(const struct h2d_req *req, struct slice name)
{
	const struct field *f = field_find(req->fields, req->nfields, name);

	return f != NULL ? f->value : (struct slice){ 0 };
}

/* The JSON time is RFC 3339's in UTC, and its fraction follows in put_time(). */
static void stamp(struct access_log *log)
{
	time_t now = clock_wall().tv_sec;
	struct tm tm;

	if (now == log->stamp_for)
		return;
	log->stamp_for = now;
	if (log->format == ACCESS_JSON)
		strftime(log->stamp, sizeof(log->stamp), "%Y-%m-%dT%H:%M:%S", gmtime_r(&now, &tm));
	else
		strftime(log->stamp, sizeof(log->stamp), "%d/%b/%Y:%H:%M:%S %z",
			localtime_r(&now, &tm));
}

static void put_time(struct access_log *log)
{
	unsigned ms = (unsigned)(clock_wall().tv_nsec / 1000000);
	const char fraction[] = { '.', (char)('0' + ms / 100), (char)('0' + ms / 10 % 10),
		(char)('0' + ms % 10), 'Z' };

	put(log, slice_str(log->stamp));
	put(log, slice_of(fraction, sizeof(fraction)));
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
	put_peer(log, req);
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
	put_time(log);
	put(log, SLICE("\""));
	put(log, SLICE(",\"peer\":\""));
	put_peer(log, req);
	put(log, SLICE("\""));
	member(log, SLICE("user"), req->user);
	member(log, SLICE("method"), req->method_text);
	member(log, SLICE("scheme"), req->scheme);
	member(log, SLICE("authority"), req->authority);
	member(log, SLICE("target"), req->target);
	member(log, SLICE("protocol"), req->protocol);
	number(log, SLICE("status"), (uint64_t)req->reply.status);
	number(log, SLICE("bytes"), req->sent);
	number(log, SLICE("duration_us"), clock_read_us() - req->started_us);
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
	if (!have_room(log)) {
		log->lost++;
		return;
	}
	stamp(log);
	if (log->format == ACCESS_JSON)
		json(log, req);
	else
		combined(log, req);
	if (!timer_armed(&log->timer))
		timer_arm(&log->loop->wheel, &log->timer, clock_ms() + FLUSH_MS);
}
