/*
 * check_tls: the transport against an OpenSSL client in the same process. The client lives in
 * memory BIOs, so that a test decides how many bytes of ciphertext reach the socket at a time.
 * send() and recv() are wrapped by the linker, to count them.
 */
#include "tls/tls_ctx.h"

#include <openssl/err.h>

#include "base/clock.h"
#include "base/counters.h"
#include "unit.h"
#include "unit_cert.h"

enum { BODY = 1 << 20, REQUEST = 64 * 1024 };

ssize_t __real_send(int fd, const void *p, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *p, size_t n, int flags);
ssize_t __real_recv(int fd, void *p, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *p, size_t n, int flags);

static int sends, recvs;

ssize_t __wrap_send(int fd, const void *p, size_t n, int flags)
{
	sends++;
	return __real_send(fd, p, n, flags);
}

ssize_t __wrap_recv(int fd, void *p, size_t n, int flags)
{
	recvs++;
	return __real_recv(fd, p, n, flags);
}

/* One connection: both of its ends and what each has received. */
struct link {
	struct transport *server;
	struct outq q;
	SSL *client;
	BIO *in, *out;
	int fd;      /* the client's */
	size_t step; /* ciphertext bytes per write(2) and read(2) of the client */
	bool connected, accepted;
	uint8_t *sgot, *cgot;
	size_t slen, clen;
	size_t raw; /* ciphertext bytes the client has received */
	bool seof, ceof;
	int serror;
};

static uint8_t body[BODY];
static struct ref body_ref;
static struct pool blocks;
static struct tls_ctx *ctx;
static SSL_CTX *client_ctx;
static int tickets;

static void on_release(struct ref *ref)
{
	ck_abort_msg("a reference too many was put");
}

static int on_ticket(SSL *ssl, SSL_SESSION *session)
{
	tickets++;
	return 0;
}

static void new_ctx(bool tls12, bool tls13)
{
	struct tls_fault fault;

	tls_ctx_free(&ctx);
	ctx = tls_ctx_new(tls12, tls13);
	ck_assert_ptr_nonnull(ctx);
	ck_assert_msg(unit_cert_add(ctx, "ec.crt", "ec.key", &fault) != NULL, "%s", fault.text);
}

UNIT_SETUP(setup)
{
	for (size_t i = 0; i < BODY; i++)
		body[i] = (uint8_t)(i * 31 + i / 509);
	ref_init(&body_ref, on_release);
	pool_init(&blocks, OUTQ_BLOCK, 4);
	new_ctx(true, true);
	client_ctx = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
	SSL_CTX_sess_set_new_cb(client_ctx, on_ticket);
}

UNIT_TEARDOWN(teardown)
{
	SSL_CTX_free(client_ctx);
	tls_ctx_free(&ctx);
	ck_assert_uint_eq(body_ref.count, 1);
	pool_fini(&blocks);
}

static void tcp_pair(int *a, int *b)
{
	struct sockaddr_in in = { AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *sa = (struct sockaddr *)&in;
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, sa, len), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	ck_assert_int_eq(getsockname(fd, sa, &len), 0);
	*b = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(*b, sa, len), 0);
	*a = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	ck_assert_int_ge(*a, 0);
	ck_assert_int_eq(fcntl(*b, F_SETFL, O_NONBLOCK), 0);
	close(fd);
}

/* version 0 leaves it to both; alpn is in wire form, NULL for none. */
static void link_open(struct link *l, int version, const char *alpn, size_t step)
{
	int fd;

	memset(l, 0, sizeof(*l));
	tcp_pair(&fd, &l->fd);
	l->step = step;
	l->server = tls_open(ctx, fd);
	ck_assert_ptr_nonnull(l->server);
	outq_init(&l->q, &blocks);
	l->sgot = malloc(BODY);
	l->cgot = malloc(BODY + 1);
	l->client = SSL_new(client_ctx);
	SSL_set_min_proto_version(l->client, version);
	SSL_set_max_proto_version(l->client, version);
	SSL_set_tlsext_host_name(l->client, (char[]){ "localhost" });
	if (alpn != NULL)
		SSL_set_alpn_protos(l->client, (const unsigned char *)alpn, (unsigned)strlen(alpn));
	l->in = BIO_new(BIO_s_mem());
	l->out = BIO_new(BIO_s_mem());
	BIO_set_mem_eof_return(l->in, -1);
	SSL_set_bio(l->client, l->in, l->out);
	SSL_set_connect_state(l->client);
}

static void link_close(struct link *l)
{
	int fd = l->server->fd;

	l->server->ops->close(&l->server);
	ck_assert_ptr_null(l->server);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	if (l->fd >= 0)
		close(l->fd);
	SSL_free(l->client);
	outq_clear(&l->q);
	free(l->sgot);
	free(l->cgot);
	ERR_clear_error();
}

/* The client's ciphertext to the socket, step bytes; true if any went. */
static bool client_out(struct link *l)
{
	char *p;
	char trash[65536];
	long have = BIO_get_mem_data(l->out, &p);
	size_t n = (size_t)have < l->step ? (size_t)have : l->step;
	ssize_t r;

	n = n < sizeof(trash) ? n : sizeof(trash);
	if (n == 0)
		return false;
	r = __real_send(l->fd, p, n, MSG_NOSIGNAL);
	return r > 0 && BIO_read(l->out, trash, (int)r) == (int)r;
}

static void client_flush(struct link *l)
{
	while (client_out(l))
		;
}

/* And from the socket, into SSL and out of it as plain bytes. */
static bool client_in(struct link *l)
{
	char buf[65536];
	size_t n, cap = l->step < sizeof(buf) ? l->step : sizeof(buf);
	ssize_t r = read(l->fd, buf, cap);

	if (r == 0)
		l->ceof = true;
	if (r > 0) {
		ck_assert_int_eq(BIO_write(l->in, buf, (int)r), (int)r);
		l->raw += (size_t)r;
	}
	if (!l->connected) {
		ERR_clear_error();
		l->connected = SSL_do_handshake(l->client) == 1;
	}
	/* One byte more than ever comes, so that the end behind the bytes is seen too. */
	while (l->connected &&
		SSL_read_ex(l->client, l->cgot + l->clen, BODY + 1 - l->clen, &n) == 1)
		l->clen += n;
	return r > 0;
}

/* What conn does with an event, reading at most cap at a time. */
static bool server_step(struct link *l, size_t cap)
{
	const struct transport_ops *ops = l->server->ops;
	size_t before = l->slen, queued = outq_len(&l->q);
	bool was = l->accepted;
	ssize_t r;

	if (l->serror != 0)
		return false;
	if (!l->accepted) {
		r = ops->handshake(l->server);
		l->accepted = r == 0;
		if (r < 0 && r != -EAGAIN)
			l->serror = (int)r;
	}
	while (l->accepted && !l->seof) {
		size_t room = BODY - l->slen < cap ? BODY - l->slen : cap;

		if (room == 0)
			break;
		r = ops->recv(l->server, l->sgot + l->slen, room);
		if (r > 0)
			l->slen += (size_t)r;
		if (r == 0)
			l->seof = true;
		else if (r < 0 && r != -EAGAIN && r != -EINTR)
			l->serror = (int)r;
		if (r <= 0 && r != -EINTR)
			break;
	}
	if (l->serror == 0 && l->accepted && (queued > 0 || ops->pending(l->server))) {
		r = ops->send(l->server, &l->q, 100000);
		if (r < 0 && r != -EAGAIN)
			l->serror = (int)r;
	}
	return was != l->accepted || l->slen > before || outq_len(&l->q) < queued;
}

/* Moves bytes both ways until done(l). */
static void pump(struct link *l, size_t cap, bool (*done)(const struct link *l))
{
	while (!done(l)) {
		bool moved = client_in(l);

		moved = client_out(l) || moved;
		moved = server_step(l, cap) || moved;
		if (!moved && !done(l)) {
			struct pollfd p[] = { { .fd = l->fd, .events = POLLIN },
				{ .fd = l->server->fd, .events = POLLIN } };

			if (outq_len(&l->q) > 0 || l->server->ops->pending(l->server))
				p[1].events |= POLLOUT;
			ck_assert_msg(poll(p, 2, 30000) > 0, "stuck: s %zu c %zu error %d", l->slen,
				l->clen, l->serror);
		}
	}
}

static bool is_up(const struct link *l)
{
	return (l->connected && l->accepted) || l->serror != 0;
}

static void link_up(struct link *l, int version, size_t step)
{
	link_open(l, version, "\x02h2", step);
	pump(l, REQUEST, is_up);
	ck_assert_int_eq(l->serror, 0);
	ck_assert_ptr_eq(l->server->certificate, ctx->first);
	ck_assert_str_eq(l->server->tls_version, SSL_get_version(l->client));
	ck_assert_str_eq(l->server->tls_cipher, SSL_get_cipher_name(l->client));
	ck_assert_ptr_null(l->server->client_ca);
	ck_assert_ptr_null(l->server->client_subject);
}

static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

TEST_EACH(handshake, 6)
{
	static const size_t steps[] = { 65536, 7, 1 };
	struct link l;

	link_up(&l, versions[_i % 2], steps[_i / 2]);
	ck_assert_int_eq(SSL_version(l.client), versions[_i % 2]);
	ck_assert(slice_eq(l.server->alpn, SLICE("h2")));
	ck_assert(!l.server->ops->pending(l.server));
	ck_assert_int_eq(l.server->ops->handshake(l.server), 0);
	link_close(&l);
}

TEST_EACH(alpn, 10)
{
	static const struct {
		const char *offer;
		const char *chosen; /* NULL: refused */
	} cases[] = { { NULL, "" }, { "\x08http/1.1\x02h2", "h2" },
		{ "\x02h3\x08http/1.1", "http/1.1" }, { "\x08http/1.0", "http/1.0" },
		{ "\x02h3\x08http/0.9", NULL } };
	struct link l;

	link_open(&l, versions[_i % 2], cases[_i / 2].offer, 65536);
	pump(&l, REQUEST, is_up);
	if (cases[_i / 2].chosen != NULL) {
		ck_assert_int_eq(l.serror, 0);
		ck_assert(slice_eq(l.server->alpn, slice_str(cases[_i / 2].chosen)));
	} else {
		ck_assert_int_eq(l.serror, -EPROTO);
		ck_assert_ptr_nonnull(l.server->reason);
		client_in(&l);
		ck_assert_int_eq(ERR_GET_REASON(ERR_peek_error()),
			SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL);
	}
	link_close(&l);
}

static bool got_all(const struct link *l)
{
	return l->slen == BODY && l->clen == BODY;
}

/*
 * 1 MiB each way, in segments of many sizes, through small and large windows, pieces and buffers.
 */
TEST_EACH(transfer, 10)
{
	static const struct {
		size_t step, cap;
		int buf;
	} cases[] = { { 65536, REQUEST, 0 }, { 65536, REQUEST, 4096 }, { 1000, 100, 4096 },
		{ 65536, 1000, 0 }, { 333, REQUEST, 0 } };
	static const size_t segs[] = { 9, 16384, 9, 300, 40000, 9, 16383, 65536, 2049 };
	size_t at = 0, n;
	struct link l;

	link_up(&l, versions[_i % 2], cases[_i / 2].step);
	n = sizeof(cases[0].buf);
	if (cases[_i / 2].buf > 0)
		setsockopt(l.server->fd, SOL_SOCKET, SO_SNDBUF, &cases[_i / 2].buf, (socklen_t)n);
	for (size_t i = 0; at < BODY; i++, at += n) {
		n = segs[i % (sizeof(segs) / sizeof(segs[0]))];
		n = n < BODY - at ? n : BODY - at;
		ck_assert_int_eq(outq_borrow(&l.q, body + at, n, &body_ref), 0);
	}
	ck_assert_int_eq(SSL_write(l.client, body, BODY), BODY);
	pump(&l, cases[_i / 2].cap, got_all);
	ck_assert_mem_eq(l.sgot, body, BODY);
	ck_assert_mem_eq(l.cgot, body, BODY);
	ck_assert(!l.server->ops->pending(l.server));
	link_close(&l);
}

/* What one call left over is older than what came meanwhile: it says nothing about the socket. */
TEST_EACH(left_over_is_not_all, 2)
{
	char got[200];
	struct link l;

	link_up(&l, versions[_i], 65536);
	ck_assert_int_eq(SSL_write(l.client, body, 100), 100);
	client_flush(&l);
	ck_assert_int_eq(l.server->ops->recv(l.server, got, 40), 40);
	ck_assert(!l.server->drained);
	ck_assert_int_eq(SSL_write(l.client, body, 50), 50);
	client_flush(&l);
	ck_assert_int_eq(poll(&(struct pollfd){ l.server->fd, POLLIN, 0 }, 1, 10000), 1);
	ck_assert_int_eq(l.server->ops->recv(l.server, got, sizeof(got)), 110);
	ck_assert(l.server->drained);
	link_close(&l);
}

static bool server_has(const struct link *l)
{
	return l->slen > 0 || l->serror != 0;
}

/* The request comes in the same segment as the client's last handshake message. */
TEST_EACH(data_behind_the_handshake, 6)
{
	struct link l;
	bool ready = false;

	link_open(&l, versions[_i % 2], "\x02h2", 65536);
	while (!ready) {
		/* TLS 1.2 lets the client write only after the server's Finished. */
		client_in(&l);
		if (l.connected)
			ready = true;
		else
			client_out(&l);
		if (!ready)
			server_step(&l, REQUEST);
	}
	ck_assert_int_eq(SSL_write(l.client, body, 5000), 5000);
	if (_i / 2 == 1)
		SSL_shutdown(l.client);
	client_out(&l);
	if (_i / 2 >= 1)
		shutdown(l.fd, SHUT_WR);
	while (!server_has(&l))
		server_step(&l, 700);
	ck_assert_int_eq(l.serror, 0);
	ck_assert_uint_eq(l.slen, 5000);
	ck_assert_mem_eq(l.sgot, body, 5000);
	if (_i / 2 >= 1) {
		/* An early half-close: the end is seen, and the response arrives nevertheless. */
		while (!l.seof)
			server_step(&l, REQUEST);
		ck_assert_int_eq(l.server->ops->recv(l.server, l.sgot, 100), 0);
		ck_assert_int_eq(outq_borrow(&l.q, body, 70000, &body_ref), 0);
		while (l.clen < 70000) {
			server_step(&l, REQUEST);
			client_in(&l);
		}
		ck_assert_mem_eq(l.cgot, body, 70000);
	}
	link_close(&l);
}

static bool client_ended(const struct link *l)
{
	return l->ceof;
}

/*
 * close_notify and the half-close come behind everything, even if the socket was full at the time.
 */
TEST_EACH(shutdown_behind_pending, 4)
{
	struct link l;
	int small = 4096;
	size_t sent;

	link_up(&l, versions[_i % 2], 65536);
	if (_i / 2 == 1)
		setsockopt(l.server->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	ck_assert_int_eq(outq_borrow(&l.q, body, BODY, &body_ref), 0);
	ck_assert_int_gt(l.server->ops->send(l.server, &l.q, BODY), 0);
	sent = BODY - outq_len(&l.q);
	if (_i / 2 == 1) {
		ck_assert(l.server->ops->pending(l.server));
		ck_assert_int_eq(l.server->ops->send(l.server, &l.q, BODY), -EAGAIN);
	}
	outq_clear(&l.q);
	l.server->ops->shutdown(l.server);
	pump(&l, REQUEST, client_ended);
	ck_assert_uint_eq(l.clen, sent);
	ck_assert_mem_eq(l.cgot, body, sent);
	ck_assert_int_ne(SSL_get_shutdown(l.client) & SSL_RECEIVED_SHUTDOWN, 0);
	ck_assert(!l.server->ops->pending(l.server));
	link_close(&l);
}

/* One record of many small segments, one send(2) for 200 KiB, one recv(2) for what has come. */
TEST(gathers)
{
	struct link l;
	int on = 1;
	char buf[REQUEST];

	link_up(&l, TLS1_3_VERSION, 65536);
	setsockopt(l.server->fd, SOL_SOCKET, SO_SNDBUFFORCE, &(int){ 4 << 20 }, sizeof(int));
	ck_assert_int_eq(setsockopt(l.server->fd, IPPROTO_TCP, 1, &on, sizeof(on)), 0);
	pump(&l, REQUEST, is_up);
	client_in(&l);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(outq_copy(&l.q, body, 100), 0);
	sends = 0;
	ck_assert_int_eq(l.server->ops->send(l.server, &l.q, SIZE_MAX), 10000);
	ck_assert_int_eq(sends, 1);
	l.raw = 0;
	while (l.clen < 10000)
		client_in(&l);
	ck_assert_uint_eq(l.raw, 10000 + 22);

	/* Heads and payload in turn fill the records: 13 for 200 000 bytes. */
	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(outq_copy(&l.q, body, 9), 0);
		ck_assert_int_eq(outq_borrow(&l.q, body, 19991, &body_ref), 0);
	}
	sends = 0;
	ck_assert_int_eq(l.server->ops->send(l.server, &l.q, SIZE_MAX), 200000);
	ck_assert_int_eq(sends, 1);
	l.raw = 0;
	while (l.clen < 210000)
		client_in(&l);
	ck_assert_uint_eq(l.raw, 200000 + 13 * 22);

	ck_assert_int_eq(SSL_write(l.client, body, 30000), 30000);
	client_flush(&l);
	recvs = 0;
	ck_assert_int_eq(l.server->ops->recv(l.server, buf, sizeof(buf)), 30000);
	ck_assert_int_eq(recvs, 1);
	ck_assert(l.server->drained);
	ck_assert_mem_eq(buf, body, 30000);
	ck_assert_int_eq(l.server->ops->recv(l.server, buf, sizeof(buf)), -EAGAIN);
	ck_assert(l.server->drained);
	link_close(&l);
}

/*
 * Two connections read in turn, a little at a time: what one leaves behind never shows in the
 * other.
 */
TEST_EACH(two_connections, 2)
{
	struct link l[2];

	for (int i = 0; i < 2; i++) {
		link_up(&l[i], versions[_i], 65536);
		ck_assert_int_eq(SSL_write(l[i].client, body + i * 1000, 100000), 100000);
		client_flush(&l[i]);
	}
	while (l[0].slen < 100000 || l[1].slen < 100000) {
		for (int i = 0; i < 2; i++) {
			ssize_t n = l[i].server->ops->recv(l[i].server, l[i].sgot + l[i].slen, 777);

			ck_assert(n > 0 || n == -EAGAIN || n == -EINTR);
			l[i].slen += n > 0 ? (size_t)n : 0;
			ck_assert_uint_le(l[i].slen, 100000);
		}
	}
	for (int i = 0; i < 2; i++) {
		ck_assert_mem_eq(l[i].sgot, body + i * 1000, 100000);
		link_close(&l[i]);
	}
}

static bool server_ended(const struct link *l)
{
	return l->seof || l->serror != 0;
}

TEST_EACH(ends, 6)
{
	static const struct {
		bool notify, reset;
		int error;
	} cases[] = { { true, false, 0 }, { false, false, 0 }, { false, true, -ECONNRESET } };
	const struct linger hard = { .l_onoff = 1 };
	struct link l;

	link_up(&l, versions[_i % 2], 65536);
	if (cases[_i / 2].notify)
		SSL_shutdown(l.client);
	client_flush(&l);
	if (cases[_i / 2].reset) {
		/* Nothing may lie unread on our side, or the reset would come by itself. */
		setsockopt(l.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		close(l.fd);
		l.fd = -1;
	} else {
		shutdown(l.fd, SHUT_WR);
	}
	while (!server_ended(&l))
		server_step(&l, REQUEST);
	ck_assert_int_eq(l.serror, cases[_i / 2].error);
	ck_assert_int_eq(l.server->ops->recv(l.server, l.sgot, 10), cases[_i / 2].error);
	if (cases[_i / 2].reset) {
		ck_assert_int_eq(outq_copy(&l.q, "x", 1), 0);
		ck_assert_int_eq(l.server->ops->send(l.server, &l.q, 1), -ECONNRESET);
	}
	ck_assert_ptr_null(l.server->reason);
	link_close(&l);
}

TEST_EACH(no_tls, 4)
{
	static const struct {
		const char *bytes, *says;
		int error;
	} cases[] = { { "GET / HTTP/1.1\r\n\r\n", "http request", -EPROTO },
		{ "\x16\x03\x01\xff\xff\x01\x02\x03\x04", "", -EPROTO }, { "", NULL, -ECONNRESET },
		{ "\x16\x03", NULL, -ECONNRESET } };
	const char *p = cases[_i].bytes;
	struct link l;

	link_open(&l, 0, NULL, 65536);
	ck_assert_int_eq(l.server->ops->handshake(l.server), -EAGAIN);
	ck_assert_int_eq(__real_send(l.fd, p, strlen(p), 0), (int)strlen(p));
	shutdown(l.fd, SHUT_WR);
	while (!is_up(&l))
		server_step(&l, REQUEST);
	ck_assert_int_eq(l.serror, cases[_i].error);
	ck_assert_int_eq(l.server->ops->handshake(l.server), cases[_i].error);
	ck_assert_int_eq(l.server->reason != NULL, cases[_i].says != NULL);
	ck_assert(cases[_i].says == NULL || strstr(l.server->reason, cases[_i].says) != NULL);
	link_close(&l);
}

/*
 * A flipped bit: plain bytes before it are delivered, then the error, again and again; an alert
 * leaves.
 */
TEST_EACH(corrupt_record, 2)
{
	struct link l;
	char *p;
	long n;

	link_up(&l, versions[_i], 65536);
	ck_assert_int_eq(SSL_write(l.client, body, 100), 100);
	n = BIO_get_mem_data(l.out, &p);
	ck_assert_int_eq(SSL_write(l.client, body, 100), 100);
	BIO_get_mem_data(l.out, &p);
	p[n + 30] ^= 1;
	client_out(&l);
	pump(&l, REQUEST, server_ended);
	ck_assert_uint_eq(l.slen, 100);
	ck_assert_int_eq(l.serror, -EPROTO);
	ck_assert_int_eq(l.server->ops->recv(l.server, l.sgot, 10), -EPROTO);
	ck_assert_ptr_nonnull(l.server->reason);
	ERR_clear_error();
	client_in(&l);
	ck_assert_int_eq(ERR_GET_REASON(ERR_peek_error()), SSL_R_SSLV3_ALERT_BAD_RECORD_MAC);
	link_close(&l);
}

TEST_EACH(versions_offered, 4)
{
	struct link l;

	new_ctx(_i % 2 == 0, _i % 2 == 1);
	link_open(&l, versions[_i / 2], NULL, 65536);
	pump(&l, REQUEST, is_up);
	ck_assert_int_eq(l.serror, _i % 2 == _i / 2 ? 0 : -EPROTO);
	link_close(&l);
}

static bool client_has_ticket(const struct link *l)
{
	return tickets > 0;
}

TEST_EACH(resumption, 2)
{
	SSL_SESSION *session;
	struct link l;

	tickets = 0;
	link_up(&l, versions[_i], 65536);
	pump(&l, REQUEST, client_has_ticket);
	client_in(&l);
	ck_assert_int_eq(tickets, 1);
	ck_assert(!SSL_session_reused(l.client));
	session = SSL_get1_session(l.client);
	/* Without it OpenSSL takes the connection for broken, and its session with it. */
	SSL_shutdown(l.client);
	link_close(&l);

	link_open(&l, versions[_i], "\x02h2", 65536);
	SSL_set_session(l.client, session);
	SSL_SESSION_free(session);
	pump(&l, REQUEST, is_up);
	ck_assert(SSL_session_reused(l.client));
	link_close(&l);
}

TEST(key_update)
{
	struct link l;

	link_up(&l, TLS1_3_VERSION, 65536);
	ck_assert_int_eq(SSL_key_update(l.client, SSL_KEY_UPDATE_REQUESTED), 1);
	ck_assert_int_eq(SSL_write(l.client, body, 1000), 1000);
	pump(&l, REQUEST, server_has);
	ck_assert_uint_eq(l.slen, 1000);
	ck_assert_int_eq(outq_borrow(&l.q, body, 50000, &body_ref), 0);
	while (l.clen < 50000) {
		server_step(&l, REQUEST);
		client_in(&l);
	}
	ck_assert_mem_eq(l.cgot, body, 50000);
	link_close(&l);
}

/* Who asks for answers and never reads them must not make us hold them without bound. */
TEST(key_update_flood)
{
	struct link l;
	int small = 4096;

	link_up(&l, TLS1_3_VERSION, 65536);
	setsockopt(l.server->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	ck_assert_int_eq(outq_borrow(&l.q, body, BODY, &body_ref), 0);
	while (l.server->ops->send(l.server, &l.q, BODY) > 0)
		;
	for (int i = 0; i < 200000 && l.serror == 0; i++) {
		ck_assert_int_eq(SSL_key_update(l.client, SSL_KEY_UPDATE_REQUESTED), 1);
		ck_assert_int_eq(SSL_do_handshake(l.client), 1);
		if (i % 500 == 0) {
			while (client_out(&l) && l.serror == 0)
				server_step(&l, REQUEST);
		}
	}
	ck_assert_msg(l.serror == -ENOBUFS || l.serror == -EPROTO, "%d", l.serror);
	link_close(&l);
}

/* A KeyUpdate and a byte of content; how it ends. */
static int change_keys(struct link *l)
{
	size_t had = l->slen;

	ck_assert_int_eq(SSL_key_update(l->client, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
	ck_assert_int_eq(SSL_write(l->client, body, 1), 1);
	client_flush(l);
	while (l->serror == 0 && l->slen == had)
		server_step(l, REQUEST);
	/* Behind the byte the error is found by the next call. */
	server_step(l, REQUEST);
	return l->serror;
}

TEST(key_updates_a_second)
{
	int64_t limit = counters->limit_key_updates;
	struct link l;

	clock_set(5000000, (struct timespec){ 0 });
	link_up(&l, TLS1_3_VERSION, 65536);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(change_keys(&l), 0);
	clock_set(6000000, (struct timespec){ 0 });
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(change_keys(&l), 0);
	clock_set(6999000, (struct timespec){ 0 });
	ck_assert_int_eq(counters->limit_key_updates, limit);
	ck_assert_int_eq(change_keys(&l), -EPROTO);
	ck_assert_str_eq(l.server->reason, "too many key updates");
	ck_assert_int_eq(counters->limit_key_updates, limit + 1);
	link_close(&l);
}

static bool client_is_told(const struct link *l)
{
	return l->ceof || ERR_GET_REASON(ERR_peek_error()) == SSL_R_NO_RENEGOTIATION;
}

TEST(renegotiation)
{
	struct link l;

	link_up(&l, TLS1_2_VERSION, 65536);
	ck_assert_int_eq(SSL_renegotiate(l.client), 1);
	SSL_do_handshake(l.client);
	ERR_clear_error();
	client_flush(&l);
	while (l.serror == 0)
		server_step(&l, REQUEST);
	ck_assert_int_eq(l.serror, -EPROTO);
	ck_assert_str_eq(l.server->reason, "renegotiation refused");
	pump(&l, REQUEST, client_is_told);
	ck_assert(!l.ceof);
	link_close(&l);
}
