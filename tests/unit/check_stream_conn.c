/*
 * check_stream_conn: a connection over a socketpair with a nghttp2 client at its other end: the
 * preface in pieces, half-closed peers, peers that do not read, draining, timeouts. No TLS, no
 * files.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "conn/stream_conn.h"
#include "loop_unit.h"
#include "net/tcp.h"
#include "proto/window.h"
#include "request/req.h"
#include "share/account.h"
#include "tools/route_build.h"

enum { BIG = 8 << 20 };

static struct sessions all;
static struct http_timeouts timeouts;
static struct stream_env env;
static struct ahead ahead;
static struct http_env http;
static struct route_build routes;
static int peer = -1;
static nghttp2_session *client;
static size_t body_bytes;
static int status, goaways, ended;
static uint32_t closed_by; /* what streams end with */
static bool peer_eof, hold_reading;
static size_t big_left;

static ssize_t big_fill(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	size_t n = big_left < cap ? big_left : cap;

	memset(buf, 'b', n);
	big_left -= n;
	return (ssize_t)n;
}

static char lent[BIG];
static struct ref lent_ref;
static enum lender_answer answer; /* when all are asked */
static size_t asked;

/* A file of BIG bytes of which all but the last go out from itself. */
static struct ref_file file;
static size_t file_at, file_back;
static bool file_failed;
static struct body *file_body;

static ssize_t file_ready(struct body *b, size_t want)
{
	if (file_failed)
		return BODY_FAILED;
	if (b->left == 1)
		return 1;
	return (ssize_t)(want < b->left - 1 ? want : b->left - 1);
}

static int file_emit(struct body *b, size_t n, struct outq *q)
{
	size_t at = file_at;

	file_at += n;
	b->left -= n;
	return b->left == 0 ? outq_copy(q, "b", 1) : outq_range(q, &file, at, n);
}

static void file_come_back(struct ref_file *f, size_t n)
{
	file_at -= n;
	file_back += n;
	file_body->left += n;
	file_failed = f->refuses;
}

static void file_close(struct body *b)
{
	ck_assert_uint_eq(file.ref.count, 1);
}

static const struct body_ops file_ops = {
	.name = "test file",
	.ready = file_ready,
	.emit = file_emit,
	.close = file_close,
};

static void send_file(struct h2d_req *req)
{
	ck_assert(req->conn->takes_ranges);
	file_body = &req->reply.body;
	*file_body = (struct body){ .ops = &file_ops, .req = req, .left = BIG };
	reply_send(req, 200);
}

static void start(struct h2d_req *req, void *state)
{
	if (strcmp(h2d_req_path(req, NULL), "/file") == 0) {
		send_file(req);
	} else if (strcmp(h2d_req_path(req, NULL), "/lent") == 0) {
		body_memory(&req->reply.body, lent, BIG, &lent_ref);
		reply_send(req, 200);
	} else if (strcmp(h2d_req_path(req, NULL), "/big") == 0) {
		big_left = BIG;
		h2d_reply_stream(req, 200, NULL, big_fill);
	} else {
		h2d_reply_bytes(req, 200, "text/plain", "hello", 5);
	}
}
static const struct h2d_handler fallback = { .name = "fallback", .start = start };

/* --- the client ------------------------------------------------------------------------------- */

static int on_header(nghttp2_session *s, const nghttp2_frame *f, const uint8_t *name, size_t nlen,
	const uint8_t *value, size_t vlen, uint8_t flags, void *user)
{
	if (nlen == 7 && memcmp(name, ":status", 7) == 0)
		status = atoi((const char *)value);
	return 0;
}
static int on_chunk(
	nghttp2_session *s, uint8_t flags, int32_t id, const uint8_t *data, size_t len, void *user)
{
	body_bytes += len;
	return 0;
}
static int on_close(nghttp2_session *s, int32_t id, uint32_t code, void *user)
{
	ck_assert_uint_eq(code, closed_by);
	ended++;
	return 0;
}
static int on_frame(nghttp2_session *s, const nghttp2_frame *f, void *user)
{
	if (f->hd.type == NGHTTP2_GOAWAY)
		goaways++;
	return 0;
}

static void ask(const char *path)
{
#define NV(n, v) { (uint8_t *)(uintptr_t)n, (uint8_t *)(uintptr_t)v, strlen(n), strlen(v), 0 }
	nghttp2_nv head[] = { NV(":method", "GET"), NV(":scheme", "http"), NV(":path", path),
		NV(":authority", "localhost") };

	ck_assert_int_gt(nghttp2_submit_request(client, NULL, head, 4, NULL, NULL), 0);
}

/* By windows that the whole response fits into. */
static void ask_wide(const char *path)
{
	nghttp2_session_set_local_window_size(client, 0, 0, 2 * BIG);
	nghttp2_submit_settings(client, 0,
		&(nghttp2_settings_entry){ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, BIG + 1 }, 1);
	ask(path);
}

/* Sends what the client has, step bytes at a time with a turn of the server in between. */
static void client_send(size_t step)
{
	const uint8_t *p;
	ssize_t n;

	while ((n = nghttp2_session_mem_send(client, &p)) > 0) {
		for (size_t i = 0; i < (size_t)n; i += step) {
			size_t k = (size_t)n - i < step ? (size_t)n - i : step;

			if (send(peer, p + i, k, MSG_NOSIGNAL) != (ssize_t)k)
				return;
			if (step < (size_t)n)
				ck_assert_int_eq(loop_turn(&loop, 0), 0);
		}
	}
}

static void client_recv(void)
{
	static uint8_t buf[65536];
	ssize_t n;

	while (!hold_reading && (n = recv(peer, buf, sizeof(buf), 0)) >= 0) {
		if (n == 0) {
			peer_eof = true;
			return;
		}
		ck_assert_int_eq(nghttp2_session_mem_recv(client, buf, (size_t)n), n);
	}
}

/* Turns until done holds; a deadline of thirty seconds makes a hang a failure. */
#define TURN_UNTIL(done) \
	do { \
		uint64_t end = clock_read_us() + 30000000; \
		while (!(done)) { \
			ck_assert_msg(clock_read_us() < end, "never: %s", #done); \
			client_send(SIZE_MAX / 2); \
			ck_assert_int_eq(loop_turn(&loop, 5), 0); \
			client_recv(); \
		} \
	} while (0)

#define TURN_UNTIL_H1(done) \
	do { \
		uint64_t end = clock_read_us() + 30000000; \
		while (!(done)) { \
			ck_assert_msg(clock_read_us() < end, "never: %s", #done); \
			ck_assert_int_eq(loop_turn(&loop, 5), 0); \
		} \
	} while (0)

/* --- fixture ---------------------------------------------------------------------------------- */

static void connect_pair(void)
{
	int fds[2];
	struct transport *t;

	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	peer = fds[0];
	t = tcp_open(fds[1]);
	ck_assert_ptr_nonnull(t);
	ck_assert_int_eq(
		stream_conn_open(&env, t, &(struct http_conn){ .timeouts = timeouts }, false), 0);
}

static struct account_keys keys;

UNIT_SETUP(setup)
{
	nghttp2_session_callbacks *cb;

	ck_assert_int_eq(route_build(&routes, NULL, 0, stderr), 0);
	http = (struct http_env){ .sites = &sites_plain,
		.conf.routes = &routes.table,
		.conf.fallback = &fallback,
		.date = SLICE("date"),
		.conf.server = SLICE("h2d"),
		.conf.header_fields = 128,
		.conf.header_size = 4096,
		.accounts = accounts_new(64, &keys, 64, NULL) };
	sessions_init(&all, &loop);
	all.accounts = http.accounts;
	timeouts = (struct http_timeouts){ 5000, 5000, 5000, 5000, 5000 };
	ck_assert_int_eq(stream_env_init(&env, &all, 16), 0);
	ahead_init(&ahead, 1 << 20);
	env.proto = (struct proto_conf){
		.max_concurrent_streams = 100, .glitches = 5000, .ahead = &ahead, .env = &http
	};
	nghttp2_session_callbacks_new(&cb);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_chunk);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_client_new(&client, cb, NULL);
	nghttp2_session_callbacks_del(cb);
	nghttp2_submit_settings(client, 0, NULL, 0);
	connect_pair();
}

UNIT_TEARDOWN(teardown)
{
	close(peer);
	while (all.nlive > 0)
		ck_assert_int_eq(loop_turn(&loop, 5), 0);
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	nghttp2_session_del(client);
	sessions_fini(&all);
	stream_env_fini(&env);
	accounts_free(&http.accounts);
	route_build_free(&routes);
	pools_fini();
	h2_fini();
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (counter_info[i].kind == COUNTER_GAUGE)
			ck_assert_msg(counters_get(counters, i) == 0, "%s", counter_info[i].name);
}

static unsigned list_len(const struct list *l)
{
	unsigned n = 0;

	for (const struct list *at = l->next; at != l; at = at->next)
		n++;
	return n;
}

static struct stream_conn *only_conn(void)
{
	return (struct stream_conn *)LIST_ENTRY(all.live.next, struct session, node);
}

/* --- cases ------------------------------------------------------------------------------------ */

TEST_EACH(answers, 2)
{
	ask("/");
	if (_i == 1)
		client_send(1);
	TURN_UNTIL(ended == 1);
	ck_assert_int_eq(status, 200);
	ck_assert_uint_eq(body_bytes, 5);
}

/* An ancestor's mistake: half-close lost the response. */
TEST(half_closed_peer)
{
	ask("/big");
	nghttp2_session_set_local_window_size(client, 0, 0, BIG + 1);
	nghttp2_session_set_local_window_size(client, 0, 1, BIG + 1);
	client_send(SIZE_MAX / 2);
	/* The window for the stream must be open before no more can be said. */
	TURN_UNTIL(body_bytes > 0);
	nghttp2_session_set_local_window_size(client, 0, 1, BIG + 1);
	client_send(SIZE_MAX / 2);
	shutdown(peer, SHUT_WR);
	TURN_UNTIL(peer_eof);
	ck_assert_uint_eq(body_bytes, BIG);
	ck_assert_int_eq(ended, 1);
}

TEST(peer_that_does_not_read)
{
	hold_reading = true;
	nghttp2_session_set_local_window_size(client, 0, 0, BIG + 1);
	ask("/big");
	client_send(SIZE_MAX / 2);
	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_uint_gt(big_left, BIG / 2); /* made no more than what fits into the socket */
	hold_reading = false;
	TURN_UNTIL(ended == 1);
	ck_assert_uint_eq(body_bytes, BIG);
}

/* --- files, over HTTP/1 ----------------------------------------------------------------------- */

static void begin_file(const char *asks)
{
	void *zeros = calloc(1, BIG);

	file = (struct ref_file){ .fd = memfd_create("file", MFD_CLOEXEC), .back = file_come_back };
	ck_assert_int_eq(write(file.fd, zeros, BIG), BIG);
	free(zeros);
	ref_init(&file.ref, NULL);
	file.ref.in_file = true;
	file_at = file_back = 0;
	file_failed = false;
	ck_assert_int_eq(write(peer, asks, strlen(asks)), (ssize_t)strlen(asks));
}

/* Until the server has closed; how many bytes it has sent. */
static size_t read_all(void)
{
	uint64_t end = clock_read_us() + 30000000;
	static char buf[65536];
	size_t sum = 0;
	ssize_t n;

	while ((n = recv(peer, buf, sizeof(buf), 0)) != 0) {
		ck_assert(n > 0 || errno == EAGAIN || errno == ECONNRESET);
		if (n < 0 && errno == ECONNRESET)
			break;
		sum += n > 0 ? (size_t)n : 0;
		ck_assert_uint_lt(clock_read_us(), end);
		ck_assert_int_eq(loop_turn(&loop, n < 0 ? 5 : 0), 0);
	}
	return sum;
}

/* 0: it is asked for; 1: by a peer that says no more; 2: and so is another one behind it. */
TEST_EACH(file_to_the_end, 3)
{
	static const char *const asks[] = {
		"GET /file HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
		"GET /file HTTP/1.0\r\nhost: a\r\n\r\n",
		("GET / HTTP/1.1\r\nhost: a\r\n\r\nGET /file HTTP/1.1\r\nhost: a\r\n\r\n"
		 "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"),
	};
	size_t got;

	begin_file(asks[_i]);
	if (_i == 1)
		shutdown(peer, SHUT_WR);
	got = read_all();
	ck_assert_uint_ge(got, BIG + (_i == 2 ? 10 : 0));
	ck_assert_uint_lt(got, BIG + 1000);
	ck_assert_uint_gt(file_back, 0);
	close(file.fd);
}

/* A peer that takes nothing holds nothing of it, and is not waited for for ever; one that goes on
 * gets the rest. */
TEST_EACH(file_for_one_that_does_not_read, 2)
{
	struct session_look look;

	only_conn()->session.http.timeouts.send = _i == 0 ? 5000 : 300;
	begin_file("GET /file HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(loop_turn(&loop, 1), 0);
	ck_assert(stream_is(only_conn(), STREAM_BLOCKED));
	ck_assert_uint_eq(outq_len(&only_conn()->out), 0);
	ck_assert_uint_eq(file.ref.count, 1);
	ck_assert_uint_gt(file_back, 0);
	session_look(&only_conn()->session, &look);
	ck_assert_str_eq(look.waits_for, "the peer to read");
	if (_i == 0) {
		ck_assert_uint_gt(read_all(), BIG);
	} else {
		TURN_UNTIL_H1(all.nlive == 0);
		ck_assert_uint_lt(read_all(), BIG);
	}
	close(file.fd);
}

/* It becomes shorter than was announced: what is missing shows, and nobody waits. */
TEST_EACH(file_that_shrinks, 2)
{
	begin_file("GET /file HTTP/1.1\r\nhost: a\r\n\r\n");
	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(loop_turn(&loop, 1), 0);
	ck_assert_int_eq(ftruncate(file.fd, _i == 0 ? 0 : (off_t)file_at + 1000), 0);
	ck_assert_uint_lt(read_all(), BIG);
	ck_assert(file_failed);
	close(file.fd);
}

/* Why a connection waits, as an operator sees it: for a request, and for its peer to read. */
TEST(tells_why)
{
	struct session_look look;

	ask("/");
	TURN_UNTIL(ended == 1);
	session_look(&only_conn()->session, &look);
	ck_assert_str_eq(look.protocol, "h2");
	ck_assert_str_eq(look.transport, "tcp");
	ck_assert_str_eq(look.waits_for, "a request");
	ck_assert_str_eq(look.flags, "");
	ck_assert_uint_eq(look.streams, 0);
	ck_assert_uint_eq(look.requests, 1);
	ck_assert_uint_gt(look.bytes_in, 24);
	ck_assert_uint_gt(look.bytes_out, 5);
	hold_reading = true;
	ask_wide("/big");
	TURN_UNTIL(stream_is(only_conn(), STREAM_BLOCKED));
	session_look(&only_conn()->session, &look);
	ck_assert_str_eq(look.waits_for, "the peer to read");
	ck_assert_str_eq(look.flags, "BLOCKED, TIGHT, LONG");
	ck_assert_uint_eq(look.streams, 1);
	ck_assert_uint_eq(look.told.why[PROTO_WHY_SEND], 1);
	ck_assert_uint_gt(look.queued, 0);
	ck_assert_uint_eq(look.unread, 0);
	ck_assert_int_eq(send(peer, "x", 1, 0), 1);
	session_look(&only_conn()->session, &look);
	ck_assert_uint_eq(look.unread, 1);
}

/* A socket that takes whatever one send() may offer, like one with a large buffer. */
static const struct transport_ops *tcp_ops;

static ssize_t greedy_send(struct transport *t, struct outq *q, size_t limit)
{
	size_t sum = 0;

	while (sum < limit && outq_len(q) > 0) {
		struct iovec iov;
		ssize_t n;

		outq_iov(q, &iov, 1, limit - sum);
		n = nghttp2_session_mem_recv(client, iov.iov_base, iov.iov_len);
		ck_assert_int_eq(n, (ssize_t)iov.iov_len);
		outq_consume(q, iov.iov_len);
		sum += iov.iov_len;
	}
	return (ssize_t)sum;
}

/* A write that was cut by its own limit is not a full socket: nothing would ever wake it again. */
TEST(socket_that_takes_all)
{
	struct transport_ops greedy = *only_conn()->transport->ops;

	tcp_ops = only_conn()->transport->ops;
	greedy.send = greedy_send;
	only_conn()->transport->ops = &greedy;
	ask_wide("/big");
	TURN_UNTIL(ended == 1);
	ck_assert_uint_eq(body_bytes, BIG);
	only_conn()->transport->ops = tcp_ops;
}

static size_t most_written, writes;

/* It takes all, while others write: seven of them long output, and one a short answer. */
static ssize_t crowded_send(struct transport *t, struct outq *q, size_t limit)
{
	ssize_t n = greedy_send(t, q, limit);

	if (writes++ > 0 && (size_t)n > most_written)
		most_written = (size_t)n;
	turn_share_wrote(&env.share, loop.turns, false);
	for (int i = 0; i < 7; i++)
		turn_share_wrote(&env.share, loop.turns, true);
	return n;
}

/* Beside short answers long output goes out in smaller pieces; its own end is no short answer. */
TEST_EACH(shares_turns, 2)
{
	struct transport_ops crowded = *only_conn()->transport->ops;

	ask("/");
	TURN_UNTIL(ended == 1);
	ck_assert_uint_eq(env.share.now.brief, 1);
	ck_assert_uint_eq(env.share.now.lengthy, 0);
	tcp_ops = only_conn()->transport->ops;
	crowded.send = _i == 0 ? greedy_send : crowded_send;
	only_conn()->transport->ops = &crowded;
	most_written = writes = 0;
	ask_wide("/big");
	TURN_UNTIL(ended == 2);
	ck_assert_uint_eq(body_bytes, 5 + BIG);
	if (_i == 0) {
		ck_assert_uint_eq(env.share.now.brief, 0);
	} else {
		ck_assert_uint_gt(most_written, PIECE_LEAST);
		ck_assert_uint_le(most_written, TURN_BYTES / 8 + PIECE_LEAST);
	}
	only_conn()->transport->ops = tcp_ops;
}

static ssize_t broken_recv(struct transport *t, void *buf, size_t cap)
{
	t->reason = "bad record mac";
	return -EPROTO;
}

static int broken_handshake(struct transport *t)
{
	t->reason = "no shared cipher";
	return -EPROTO;
}

/* What a peer did wrong is logged with the address that the connection has for it, a proxy's or
 * not. */
TEST_EACH(names_the_peer, 2)
{
	struct transport_ops broken = *only_conn()->transport->ops;
	char text[1024] = "";
	int fd = memfd_create("log", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_ptr_null(addr_parse("192.0.2.7:1", &only_conn()->session.http.peer));
	if (_i == 0)
		broken.recv = broken_recv;
	else
		broken.handshake = broken_handshake;
	only_conn()->transport->ops = &broken;
	log_to(fd);
	TURN_UNTIL(all.nlive == 0);
	log_to(STDERR_FILENO);
	ck_assert_int_gt(pread(fd, text, sizeof(text) - 1, 0), 0);
	ck_assert_msg(
		strstr(text, _i == 0 ? " 192.0.2.7: TLS: bad record mac\n"
				     : "connection 192.0.2.7: TLS handshake: no shared cipher\n") !=
			NULL,
		"%s", text);
	close(fd);
}

/* More requests in one read than are answered at a time, while nothing can be written. */
TEST(requests_behind_a_full_queue)
{
	hold_reading = true;
	ask_wide("/big");
	client_send(SIZE_MAX / 2);
	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert(stream_is(only_conn(), STREAM_BLOCKED));
	for (int i = 0; i < 40; i++)
		ask("/");
	client_send(SIZE_MAX / 2);
	ck_assert_int_eq(loop_turn(&loop, 5), 0);
	hold_reading = false;
	TURN_UNTIL(ended == 41);
	ck_assert_uint_eq(body_bytes, BIG + 40 * 5);
}

/* Turns, and reads what comes as text, until it ends with end ("" for the end of the connection).
 */
static char text[65536];

static void read_text(const char *end)
{
	uint64_t deadline = clock_read_us() + 30000000;
	size_t n = 0, k = strlen(end);
	ssize_t rv;

	do {
		ck_assert_int_eq(loop_turn(&loop, 5), 0);
		rv = recv(peer, text + n, sizeof(text) - 1 - n, 0);
		n += rv > 0 ? (size_t)rv : 0;
		text[n] = '\0';
		ck_assert_msg(clock_read_us() < deadline, "so far: %s", text);
	} while (rv != 0 && (k == 0 || n < k || strcmp(text + n - k, end) != 0));
	ck_assert(rv != 0 || k == 0);
}

static void send_text(const char *p)
{
	ck_assert_int_eq(send(peer, p, strlen(p), MSG_NOSIGNAL), (ssize_t)strlen(p));
}

/* Both ends of a connection over TCP, the server's with what a listener gives it. */
static void connect_tcp(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd, room = 256 << 10;
	struct transport *t;

	close(peer);
	while (all.nlive > 0)
		ck_assert_int_eq(loop_turn(&loop, 5), 0);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(listening, (struct sockaddr *)&addr, len), 0);
	ck_assert_int_eq(tcp_limit_unsent(listening, TCP_UNSENT_LEAST), 0);
	ck_assert_int_eq(listen(listening, 1), 0);
	ck_assert_int_eq(getsockname(listening, (struct sockaddr *)&addr, &len), 0);
	peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* Or the kernel would have room for all of a long response after a while. */
	setsockopt(peer, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	ck_assert_int_eq(connect(peer, (struct sockaddr *)&addr, len), 0);
	ck_assert_int_eq(fcntl(peer, F_SETFL, O_NONBLOCK), 0);
	fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	close(listening);
	t = tcp_open(fd);
	ck_assert_ptr_nonnull(t);
	ck_assert_int_eq(
		stream_conn_open(&env, t, &(struct http_conn){ .timeouts = timeouts }, false), 0);
}

static void still_lent(struct ref *ref)
{
}

static int unsent_max(void)
{
	socklen_t len = sizeof(int);
	int max = 0;

	getsockopt(only_conn()->transport->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &max, &len);
	return max;
}

/* The peer takes all that has come. */
static void drain_peer(void)
{
	while (recv(peer, text, sizeof(text), 0) > 0)
		;
}

/* The peer, which is found to have made room after so many milliseconds, and a turn's own. */
static void make_room(uint64_t after_ms)
{
	TURN_UNTIL(stream_is(only_conn(), STREAM_BLOCKED));
	only_conn()->blocked_ms = clock_ms() - after_ms;
	drain_peer();
	ck_assert_int_eq(loop_turn(&loop, 5), 0);
}

/* Of a long response over HTTP/1 more may wait in the kernel once the peer has made room at once;
 * not for one that takes its time, or begins to, nor over HTTP/2, where an urgent one may come. */
TEST_EACH(more_waits_for_a_fast_peer, 2)
{
	struct session_need need;

	ref_init(&lent_ref, still_lent);
	connect_tcp();
	hold_reading = true;
	if (_i == 0) {
		send_text("GET /lent HTTP/1.1\r\nHost: a\r\n\r\n");
	} else {
		ask_wide("/lent");
	}
	TURN_UNTIL(all.nlive > 0 && stream_is(only_conn(), STREAM_BLOCKED));
	make_room(1000);
	ck_assert_int_eq(unsent_max(), TCP_UNSENT_LEAST);
	/* A busy machine's turn may be too long, so it has some. */
	for (int i = 0; i < 5 && unsent_max() == TCP_UNSENT_LEAST; i++)
		make_room(0);
	ck_assert_int_eq(unsent_max(), _i == 0 ? TCP_UNSENT_WIDE : TCP_UNSENT_LEAST);
	if (_i != 0)
		return;
	/* What the kernel has not sent is not the peer's yet. */
	TURN_UNTIL(stream_is(only_conn(), STREAM_BLOCKED));
	need = only_conn()->session.ops->waits(&only_conn()->session);
	ck_assert_int_eq(need.wait, PROTO_SEND);
	ck_assert_uint_gt(tcp_unsent(only_conn()->transport->fd), TCP_UNSENT_LEAST);
	ck_assert_uint_lt(need.passed, only_conn()->taken);
	make_room(1000);
	ck_assert_int_eq(unsent_max(), TCP_UNSENT_LEAST);
}

TEST(speaks_http1)
{
	send_text("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	read_text("hello");
	ck_assert(strncmp(text, "HTTP/1.1 200 OK\r\n", 17) == 0);
	ck_assert_ptr_null(strstr(text, "\r\nconnection:"));
	/* Garbage too: it has an answer to that. */
	send_text("PUMPERNICKEL\r\n");
	read_text("");
	ck_assert(strncmp(text, "HTTP/1.1 400 ", 13) == 0);
	ck_assert_ptr_nonnull(strstr(text, "\r\nconnection: close\r\n"));
	ck_assert_uint_eq(strlen(strstr(text, "\r\n\r\n") + 4),
		strtoul(strstr(text, "content-length: ") + 16, NULL, 10));
}

/* A request that came behind the loop's last look, when the time for it is over: of a worker that
 * leaves, or of an idle connection of one that stays. */
TEST_EACH(hears_http1_before_it_ends, 2)
{
	static const char get[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

	send_text(get);
	read_text("hello");
	if (_i == 0)
		sessions_drain(&all);
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	send_text(get);
	session_drain(&only_conn()->session);
	read_text("hello");
	ck_assert_ptr_nonnull(strstr(text, "\r\nconnection: close\r\n"));
	read_text("");
	ck_assert_str_eq(text, "");
}

/* Nothing came: it ends. */
TEST(ends_http1_that_says_nothing)
{
	send_text("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	read_text("hello");
	session_drain(&only_conn()->session);
	read_text("");
	ck_assert_str_eq(text, "");
}

/* Pipelined requests wait in the connection while one is answered, and nothing is read meanwhile.
 */
TEST(holds_input)
{
	static const char ask_big[] = "GET /big HTTP/1.1\r\nHost: a\r\n\r\n";
	static const char ask_small[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
	size_t n = 0, hellos = 0;
	uint64_t deadline = clock_read_us() + 30000000;

	send_text(ask_big);
	for (int i = 0; i < 100; i++)
		send_text(ask_small);
	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(loop_turn(&loop, 1), 0);
	/* The peer reads nothing, so the big one is not through. */
	ck_assert_uint_gt(only_conn()->held.bytes.n, 0);
	while (hellos < 100) {
		const char *p = text;
		ssize_t rv = recv(peer, text + n, sizeof(text) - n, 0);

		ck_assert_msg(clock_read_us() < deadline, "%zu answers", hellos);
		ck_assert_int_eq(loop_turn(&loop, 1), 0);
		n += rv > 0 ? (size_t)rv : 0;
		for (; (p = memmem(p, (size_t)(text + n - p), "hello", 5)) != NULL; p++)
			hellos++;
		/* Half a word may be the end of this piece. */
		memmove(text, text + n - (n < 4 ? n : 4), n < 4 ? n : 4);
		n = n < 4 ? n : 4;
	}
	ck_assert_uint_eq(only_conn()->held.bytes.n, 0);
	ck_assert_ptr_null(only_conn()->held.memory);
}

TEST(drains_idle)
{
	ask("/");
	TURN_UNTIL(ended == 1);
	session_drain(&only_conn()->session);
	TURN_UNTIL(peer_eof);
	ck_assert_int_ge(goaways, 1); /* an idle nghttp2 client reads no further than the first */
}

/* More leave than are waited for: one with a request under way is not who ends. */
TEST(makes_room)
{
	enum { MORE = 80 };
	static const char get[] = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
	int first = peer, others[MORE];
	unsigned idle;

	ask("/");
	TURN_UNTIL(ended == 1);
	hold_reading = true;
	nghttp2_session_set_local_window_size(client, 0, 0, BIG + 1);
	ask("/big");
	client_send(SIZE_MAX / 2);
	sessions_evict(&all); /* what it asks for is on its way */
	for (idle = 0; idle < MORE; idle++) {
		connect_pair();
		others[idle] = peer;
		ck_assert_int_eq(send(peer, get, sizeof(get) - 1, 0), sizeof(get) - 1);
	}
	peer = first;
	TURN_UNTIL(list_len(&all.idle) == MORE);
	for (unsigned i = 0; i < MORE; i++)
		sessions_evict(&all);
	TURN_UNTIL(list_empty(&all.idle));
	hold_reading = false;
	TURN_UNTIL(ended == 2);
	ck_assert_uint_eq(body_bytes, 5 + BIG);
	while (idle > 0)
		close(others[--idle]);
}

TEST(drains_while_young)
{
	/* Accepted, nothing said yet: the first request is answered all the same. */
	sessions_drain(&all);
	ask("/");
	TURN_UNTIL(peer_eof);
	ck_assert_int_eq(ended, 1);
	ck_assert_int_eq(status, 200);
}

TEST_EACH(timeouts_of_needs, 4)
{
	int64_t before = counters->timeouts;

	switch (_i) {
	case 0: /* the preface never ends */
		only_conn()->session.http.timeouts.header = 50;
		ck_assert_int_eq(send(peer, "PRI * ", 6, 0), 6);
		break;
	case 1: /* a header section never ends */
		only_conn()->session.http.timeouts.header = 50;
		client_send(SIZE_MAX / 2);
		ck_assert_int_eq(send(peer, "\0\0\5\1\4\0\0\0\1\x82", 10, 0), 10);
		break;
	case 2: /* nothing is asked */
		only_conn()->session.http.timeouts.keepalive = 50;
		client_send(SIZE_MAX / 2);
		break;
	default: /* nothing is read */
		only_conn()->session.http.timeouts.send = 50;
		hold_reading = true;
		ask("/big");
		client_send(SIZE_MAX / 2);
	}
	for (uint64_t end = clock_read_us() + 30000000; all.nlive > 0;) {
		ck_assert_msg(clock_read_us() < end, "case %d", _i);
		sessions_tick(&all);
		if (_i == 2) {
			client_recv();
			client_send(SIZE_MAX / 2);
		}
		ck_assert_int_eq(loop_turn(&loop, 5), 0);
	}
	ck_assert_int_eq(counters->timeouts - before, _i == 2 ? 0 : 1);
	ck_assert_int_eq(goaways > 0, _i == 2);
}

static enum lender_answer needs(struct lender *l, struct ref *ref, const void *p, size_t n)
{
	if (ref != &lent_ref)
		return LENDER_OTHER;
	asked += n;
	return answer;
}

/* A response whose memory is wanted back: in the queue, or not made yet. */
TEST_EACH(lender_is_answered, 4)
{
	struct lender lender = { .needs = needs };

	ref_init(&lent_ref, still_lent);
	hold_reading = _i < 2;
	if (_i < 2)
		nghttp2_session_set_local_window_size(client, 0, 0, BIG);
	nghttp2_submit_settings(client, 0,
		&(nghttp2_settings_entry){ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, _i < 2 ? BIG : 1 },
		1);
	ask("/lent");
	client_send(SIZE_MAX / 2);
	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(loop_turn(&loop, 0), 0);
	if (!hold_reading)
		TURN_UNTIL(body_bytes == 1);
	ck_assert_uint_gt(lent_ref.count, _i < 2 ? 2 : 1);
	answer = LENDER_COPIES;
	sessions_ask(&all, &lender);
	ck_assert_uint_gt(asked, BIG / 2);
	ck_assert_uint_lt(asked, BIG);
	ck_assert_int_eq(all.nlive, 1);
	if (_i & 1) {
		answer = LENDER_REFUSES;
		closed_by = NGHTTP2_INTERNAL_ERROR;
		sessions_ask(&all, &lender);
	}
	hold_reading = false;
	nghttp2_submit_window_update(client, 0, 1, BIG - 1);
	if (_i == 1)
		/* What was made cannot be unmade. */
		TURN_UNTIL(all.nlive == 0);
	else
		TURN_UNTIL(ended == 1);
	ck_assert_uint_eq(lent_ref.count, 1);
	ck_assert((body_bytes == BIG) == !(_i & 1));
}
