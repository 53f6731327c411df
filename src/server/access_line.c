/*
 * access_line: copies by hand, as printf() is slow. It never writes an unescaped byte of a peer,
 * and never beyond ACCESS_LINE_MAX.
 */
#include "server/access_logs.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/human.h"
#include "base/utf8.h"
#include "http/authority.h"
#include "http/reason.h"
#include "request/req_client.h"

static void access_line_put(struct access_line *l, struct slice s)
{
	memcpy(l->p + l->n, s.p, s.n);
	l->n += s.n;
}

/* Bytes from a peer in a combined line: all but printable ASCII as \xHH, quotes and backslashes
 * too.
 */
static void put_hex(struct access_line *l, struct slice s)
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
			l->p[l->n++] = (char)c;
			continue;
		}
		access_line_put(l, SLICE("\\x"));
		l->p[l->n++] = hex[c >> 4];
		l->p[l->n++] = hex[c & 15];
	}
}

static void put_escaped(struct access_line *l, struct slice s)
{
	s = utf8_cut(s, ACCESS_PIECE_MAX);
	if (l->format == ACCESS_JSON)
		l->n += json_escape(l->p + l->n, s);
	else
		put_hex(l, s);
}

static void put_number(struct access_line *l, uint64_t v)
{
	char digits[20], *p = digits + sizeof(digits);

	do
		*--p = (char)('0' + v % 10);
	while ((v /= 10) != 0);
	access_line_put(l, slice_of(p, (size_t)(digits + sizeof(digits) - p)));
}

static void put_peer(struct access_line *l, const struct h2d_req *req)
{
	struct addr network;

	if (!l->anonymous) {
		access_line_put(l, slice_str(ADDR_HOST(req_client(req))));
		return;
	}
	network = *req_client(req);
	if (network.sa.sa_family == AF_INET)
		network.in.sin_addr.s_addr &= htonl(0xffffff00);
	else if (network.sa.sa_family == AF_INET6)
		memset(network.in6.sin6_addr.s6_addr + 6, 0, 10);
	access_line_put(l, slice_str(ADDR_HOST(&network)));
}

/* A request header that describes the client. */
static struct slice field_of(
	const struct access_line *l, const struct h2d_req *req, struct slice name)
{
	const struct field *f = l->anonymous ? NULL : field_find(req->fields, req->nfields, name);

	return f != NULL ? f->value : (struct slice){ 0 };
}

static void make_stamp(struct access_stamp *stamp, bool utc)
{
	time_t now = clock_wall().tv_sec;
	struct tm tm;

	if (now == stamp->second && *stamp->text != '\0')
		return;
	stamp->second = now;
	if (utc)
		strftime(
			stamp->text, sizeof(stamp->text), "%Y-%m-%dT%H:%M:%S", gmtime_r(&now, &tm));
	else
		strftime(stamp->text, sizeof(stamp->text), "%d/%b/%Y:%H:%M:%S %z",
			localtime_r(&now, &tm));
}

/* RFC 3339, in UTC. */
static void put_time(struct access_line *l)
{
	unsigned ms = (unsigned)(clock_wall().tv_nsec / 1000000);
	const char fraction[] = { '.', (char)('0' + ms / 100), (char)('0' + ms / 10 % 10),
		(char)('0' + ms % 10), 'Z' };

	make_stamp(&l->utc, true);
	access_line_put(l, slice_str(l->utc.text));
	access_line_put(l, slice_of(fraction, sizeof(fraction)));
}

static void put_or_dash(struct access_line *l, struct slice s)
{
	if (s.n == 0)
		access_line_put(l, SLICE("-"));
	else
		put_escaped(l, s);
}

/* Puts s without spaces: a user's name may have them, in a field that a space ends. */
static void put_word(struct access_line *l, struct slice s)
{
	if (s.n == 0)
		access_line_put(l, SLICE("-"));
	if (s.n > ACCESS_PIECE_MAX)
		s.n = ACCESS_PIECE_MAX;
	while (s.n > 0) {
		const char *space = memchr(s.p, ' ', s.n);
		size_t n = space != NULL ? (size_t)(space - s.p) : s.n;

		put_escaped(l, slice_of(s.p, n));
		if (space == NULL)
			break;
		access_line_put(l, SLICE("\\x20"));
		s = slice_of(space + 1, s.n - n - 1);
	}
}

static struct slice slice_or_none(const char *s)
{
	return s != NULL ? slice_str(s) : (struct slice){ 0 };
}

static void combined(struct access_line *l, const struct h2d_req *req)
{
	put_peer(l, req);
	access_line_put(l, SLICE(" - "));
	/* A client without a password's user is the subject of its certificate. */
	put_word(l, req->user.n > 0 ? req->user : slice_or_none(req->conn->client_subject));
	access_line_put(l, SLICE(" ["));
	make_stamp(&l->local, false);
	access_line_put(l, slice_str(l->local.text));
	access_line_put(l, SLICE("] \""));
	put_escaped(l, req->method_text);
	access_line_put(l, SLICE(" "));
	put_escaped(l, req->target);
	access_line_put(l, SLICE(" "));
	access_line_put(l, req->protocol);
	access_line_put(l, SLICE("\" "));
	put_number(l, (uint64_t)req->reply.status);
	access_line_put(l, SLICE(" "));
	put_number(l, req->record.bytes_out);
	access_line_put(l, SLICE(" \""));
	put_or_dash(l, field_of(l, req, SLICE("referer")));
	access_line_put(l, SLICE("\" \""));
	put_or_dash(l, field_of(l, req, SLICE("user-agent")));
	access_line_put(l, SLICE("\""));
	if (req->env->conf.request_ids) {
		access_line_put(l, SLICE(" "));
		put_word(l, req->id);
	}
	access_line_put(l, SLICE("\n"));
}

static struct slice site_name(const struct h2d_req *req)
{
	return req->site != NULL ? req->site->name : (struct slice){ 0 };
}

/* Apache's vhost_combined: begins with the host that answered. */
static void combined_vhost(struct access_line *l, const struct h2d_req *req)
{
	put_word(l, site_name(req));
	access_line_put(l, SLICE(":"));
	put_number(l, req->conn->port);
	access_line_put(l, SLICE(" "));
	combined(l, req);
}

static void member(struct access_line *l, struct slice key, struct slice value)
{
	access_line_put(l, SLICE(",\""));
	access_line_put(l, key);
	access_line_put(l, SLICE("\":\""));
	put_escaped(l, value);
	access_line_put(l, SLICE("\""));
}

static void access_line_number(struct access_line *l, struct slice key, uint64_t value)
{
	access_line_put(l, SLICE(",\""));
	access_line_put(l, key);
	access_line_put(l, SLICE("\":"));
	put_number(l, value);
}

/* The protocol, and what answered. */
static void json_way(struct access_line *l, const struct h2d_req *req)
{
	static const struct slice sources[] = {
		[REQ_SOURCE_NONE] = SLICE_LIT(""),
		[REQ_SOURCE_IMAGE] = SLICE_LIT("hit"),
		[REQ_SOURCE_DISK] = SLICE_LIT("miss"),
	};

	member(l, SLICE("host"), authority_host(req->authority));
	member(l, SLICE("server"), site_name(req));
	access_line_number(l, SLICE("port"), req->conn->port);
	member(l, SLICE("tls"), slice_or_none(req->conn->tls_version));
	member(l, SLICE("cipher"), slice_or_none(req->conn->tls_cipher));
	member(l, SLICE("client_subject"), slice_or_none(req->conn->client_subject));
	member(l, SLICE("route"), req_record_route_name(req->env->conf.routes, req->record.route));
	member(l, SLICE("cache"), sources[req->record.source]);
}

/* The first reason; for a self-explanatory status, its own name. */
static struct slice reason(const struct h2d_req *req)
{
	const struct err *err = req->record.error;

	if (req->complete && req->reply.status < 400)
		return (struct slice){ 0 };
	if (err == NULL && !req->complete)
		err = req->conn->error;
	if (err != NULL)
		return slice_str(err->text);
	return req->complete ? slice_str(reason_of(req->reply.status))
			     : SLICE("ended before its answer was sent");
}

static void json_answer(struct access_line *l, const struct h2d_req *req)
{
	const struct req_record *r = &req->record;

	access_line_number(l, SLICE("bytes_in"), r->bytes_in);
	if (r->first_byte_us != 0)
		access_line_number(l, SLICE("first_byte_us"), r->first_byte_us - r->begun_us);
	else
		access_line_put(l, SLICE(",\"first_byte_us\":null"));
	member(l, SLICE("error"), reason(req));
	if (req->env->conf.request_ids)
		member(l, SLICE("request_id"), req->id);
	if (req->env->conf.instance_name.n > 0)
		member(l, SLICE("instance_name"), req->env->conf.instance_name);
}

static void json(struct access_line *l, const struct h2d_req *req)
{
	access_line_put(l, SLICE("{\"time\":\""));
	put_time(l);
	access_line_put(l, SLICE("\""));
	access_line_put(l, SLICE(",\"peer\":\""));
	put_peer(l, req);
	access_line_put(l, SLICE("\""));
	member(l, SLICE("user"), req->user);
	member(l, SLICE("method"), req->method_text);
	member(l, SLICE("scheme"), req->scheme);
	member(l, SLICE("authority"), req->authority);
	member(l, SLICE("target"), req->target);
	member(l, SLICE("protocol"), req->protocol);
	access_line_number(l, SLICE("status"), (uint64_t)req->reply.status);
	access_line_number(l, SLICE("bytes"), req->record.bytes_out);
	access_line_number(l, SLICE("duration_us"), req->record.ended_us - req->record.begun_us);
	member(l, SLICE("referer"), field_of(l, req, SLICE("referer")));
	member(l, SLICE("user_agent"), field_of(l, req, SLICE("user-agent")));
	access_line_put(l, SLICE(",\"complete\":"));
	access_line_put(l, req->complete ? SLICE("true") : SLICE("false"));
	json_way(l, req);
	json_answer(l, req);
	access_line_put(l, SLICE("}\n"));
}

/* --- short ------------------------------------------------------------------------------------ */

/* Pads to column n, counted from from. */
static void pad(struct access_line *l, size_t from, size_t n)
{
	while (l->n - from < n)
		access_line_put(l, SLICE(" "));
}

static void time_text(char *buf, size_t size, uint64_t us)
{
	if (us >= 1000000)
		snprintf(buf, size, "%" PRIu64 ".%" PRIu64 " s", us / 1000000, us / 100000 % 10);
	else if (us >= 100000)
		snprintf(buf, size, "%" PRIu64 " ms", us / 1000);
	else
		snprintf(buf, size, "%" PRIu64 ".%" PRIu64 " ms", us / 1000, us / 100 % 10);
}

/* By the class of the status; the first is for no answer. */
static void put_status(struct access_line *l, int status)
{
	static const struct slice colours[] = { SLICE_LIT("\033[31m"), SLICE_LIT(""),
		SLICE_LIT("\033[32m"), SLICE_LIT("\033[36m"), SLICE_LIT("\033[33m"),
		SLICE_LIT("\033[31m") };

	if (l->colour)
		access_line_put(l, colours[status / 100 % 6]);
	if (status > 0)
		put_number(l, (uint64_t)status);
	else
		access_line_put(l, SLICE("---"));
	if (l->colour)
		access_line_put(l, SLICE("\033[0m"));
}

static void brief(struct access_line *l, const struct h2d_req *req)
{
	const struct req_record *r = &req->record;
	char size[HUMAN_SIZE], time[32], text[96];
	size_t from;

	put_status(l, req->reply.status);
	from = l->n;
	access_line_put(l, SLICE(" "));
	put_escaped(l, req->method_text);
	pad(l, from, 6);
	put_escaped(l, req->target);
	pad(l, from, 46);
	time_text(time, sizeof(time), r->ended_us - r->begun_us);
	snprintf(text, sizeof(text), " %8s %9s%s\n", human_size(size, r->bytes_out, "B"), time,
		req->complete ? "" : " aborted");
	access_line_put(l, slice_str(text));
}

size_t access_line(
	struct access_line *l, enum access_format format, const struct h2d_req *req, char *p)
{
	static void (*const formats[])(struct access_line *, const struct h2d_req *) = {
		[ACCESS_COMBINED] = combined,
		[ACCESS_COMBINED_VHOST] = combined_vhost,
		[ACCESS_JSON] = json,
		[ACCESS_SHORT] = brief,
	};

	l->format = format;
	l->p = p;
	l->n = 0;
	formats[format](l, req);
	return l->n;
}
