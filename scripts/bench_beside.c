/*
 * bench_beside: how long a small answer takes beside bulk downloads. 64 connections ask for the
 * small file again and again, one request at a time, while eight downloads of the large one go
 * on, two of them on connections of these clients and six on connections of their own. The first
 * half second is not counted. Built and run by scripts/bench --beside; nothing else of h2d knows
 * of it.
 *
 * Usage: bench_beside h2c|tls PORT SMALL LARGE SECONDS
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS     64
#define DOWNLOADS   8
#define SHARED      2
#define CONNECTIONS (CLIENTS + DOWNLOADS - SHARED)
#define WINDOW      ((1 << 30) - 1) /* h2load's */

struct conn {
	int fd;
	bool asks, downloads, wants_out;
	SSL *ssl; /* NULL: cleartext */
	nghttp2_session *session;
	int32_t small, large; /* streams, 0: none */
	double asked;         /* when small was, in seconds */
};

struct times {
	unsigned *us;
	size_t n, room;
};

static struct conn conns[CONNECTIONS];
static struct times all, shared;
static const char *small_path, *large_path, *scheme;
static double counted_from;
static unsigned long long bulk_bytes;
static unsigned failed;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	fprintf(stderr, "bench_beside: %s: %s\n", what, errno ? strerror(errno) : "failed");
	exit(1);
}

static void note(struct times *times, double seconds)
{
	if (times->n == times->room) {
		times->room = times->room ? 2 * times->room : 4096;
		times->us = realloc(times->us, times->room * sizeof(*times->us));
		if (times->us == NULL)
			die("memory");
	}
	times->us[times->n++] = (unsigned)(seconds * 1e6);
}

static int by_size(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

static unsigned percentile(struct times *times, unsigned percent)
{
	if (times->n == 0)
		return 0;
	qsort(times->us, times->n, sizeof(*times->us), by_size);
	return times->us[(times->n - 1) * percent / 100];
}

/* --- requests --------------------------------------------------------------------------------- */

static nghttp2_nv field(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), 0 };
}

static int32_t get(struct conn *c, const char *path)
{
	nghttp2_nv fields[] = { field(":method", "GET"), field(":scheme", scheme),
		field(":authority", "localhost"), field(":path", path) };
	int32_t id = nghttp2_submit_request(c->session, NULL, fields, 4, NULL, NULL);

	if (id < 0)
		die("nghttp2_submit_request");
	return id;
}

static void ask(struct conn *c)
{
	c->small = get(c, small_path);
	c->asked = now();
}

static int on_header(nghttp2_session *s, const nghttp2_frame *frame, const uint8_t *name,
	size_t namelen, const uint8_t *value, size_t valuelen, uint8_t flags, void *arg)
{
	(void)s, (void)frame, (void)flags, (void)arg;
	if (namelen == 7 && memcmp(name, ":status", 7) == 0 &&
		(valuelen != 3 || memcmp(value, "200", 3) != 0))
		failed++;
	return 0;
}

static int on_data(
	nghttp2_session *s, uint8_t flags, int32_t id, const uint8_t *data, size_t n, void *arg)
{
	struct conn *c = arg;

	(void)s, (void)flags, (void)data;
	if (id == c->large && now() >= counted_from)
		bulk_bytes += n;
	return 0;
}

static int on_close(nghttp2_session *s, int32_t id, uint32_t code, void *arg)
{
	struct conn *c = arg;
	double t = now();

	(void)s;
	if (code != NGHTTP2_NO_ERROR)
		failed++;
	if (id == c->large) {
		c->large = get(c, large_path);
		return 0;
	}
	if (c->asked >= counted_from) {
		note(&all, t - c->asked);
		if (c->downloads)
			note(&shared, t - c->asked);
	}
	ask(c);
	return 0;
}

/* --- connections ------------------------------------------------------------------------------ */

static ssize_t on_send(nghttp2_session *s, const uint8_t *data, size_t n, int flags, void *arg)
{
	struct conn *c = arg;
	ssize_t sent =
		c->ssl ? SSL_write(c->ssl, data, (int)n) : send(c->fd, data, n, MSG_NOSIGNAL);

	(void)s, (void)flags;
	if (sent > 0)
		return sent;
	if (c->ssl ? SSL_get_error(c->ssl, (int)sent) == SSL_ERROR_WANT_WRITE : errno == EAGAIN)
		return NGHTTP2_ERR_WOULDBLOCK;
	return NGHTTP2_ERR_CALLBACK_FAILURE;
}

static void open_tls(struct conn *c, SSL_CTX *ctx)
{
	c->ssl = SSL_new(ctx);
	if (c->ssl == NULL || SSL_set_fd(c->ssl, c->fd) != 1 || SSL_connect(c->ssl) != 1) {
		ERR_print_errors_fp(stderr);
		die("TLS");
	}
}

static void open_session(struct conn *c, const nghttp2_session_callbacks *callbacks)
{
	nghttp2_settings_entry settings[] = { { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW } };

	if (nghttp2_session_client_new(&c->session, callbacks, c) != 0 ||
		nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, 1) != 0 ||
		nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0, WINDOW) !=
			0)
		die("nghttp2");
	if (c->downloads)
		c->large = get(c, large_path);
	if (c->asks)
		ask(c);
}

static void open_conn(
	struct conn *c, int port, SSL_CTX *ctx, const nghttp2_session_callbacks *callbacks)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int on = 1;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		die("connect");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (ctx != NULL)
		open_tls(c, ctx);
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	open_session(c, callbacks);
}

static void flush(int epoll, struct conn *c)
{
	struct epoll_event event = { .data.ptr = c };
	bool wants_out;

	if (nghttp2_session_send(c->session) != 0)
		die("send");
	wants_out = nghttp2_session_want_write(c->session) != 0;
	if (wants_out == c->wants_out)
		return;
	c->wants_out = wants_out;
	event.events = EPOLLIN | (wants_out ? EPOLLOUT : 0);
	epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &event);
}

/* One read per event, so that no download holds up the others; of TLS what has been decrypted, too.
 */
static void work(int epoll, struct conn *c)
{
	static uint8_t buf[1 << 16];
	ssize_t n;

	do {
		n = c->ssl ? SSL_read(c->ssl, buf, sizeof(buf)) : recv(c->fd, buf, sizeof(buf), 0);
		if (n <= 0 && (c->ssl ? SSL_get_error(c->ssl, (int)n) == SSL_ERROR_WANT_READ
				      : n < 0 && errno == EAGAIN))
			break;
		if (n <= 0 || nghttp2_session_mem_recv(c->session, buf, (size_t)n) != n)
			die("receive");
	} while (c->ssl && SSL_pending(c->ssl) > 0);
	flush(epoll, c);
}

static SSL_CTX *tls_context(void)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	if (ctx == NULL || SSL_CTX_set_alpn_protos(ctx, (const uint8_t *)"\2h2", 3) != 0)
		die("TLS");
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	return ctx;
}

static nghttp2_session_callbacks *make_callbacks(void)
{
	nghttp2_session_callbacks *callbacks;

	if (nghttp2_session_callbacks_new(&callbacks) != 0)
		die("memory");
	nghttp2_session_callbacks_set_send_callback(callbacks, on_send);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	return callbacks;
}

static void say(double seconds)
{
	printf("%zu answers, p50 %u us, p99 %u us; shared: p99 %u us; bulk %.0f MiB/s; %u failed\n",
		all.n, percentile(&all, 50), percentile(&all, 99), percentile(&shared, 99),
		(double)bulk_bytes / seconds / (1 << 20), failed);
}

int main(int argc, char **argv)
{
	nghttp2_session_callbacks *callbacks = make_callbacks();
	int i, n, epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event events[CONNECTIONS];
	SSL_CTX *ctx = NULL;
	double seconds, end;

	if (argc != 6)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	if (strcmp(argv[1], "tls") == 0)
		ctx = tls_context();
	scheme = ctx ? "https" : "http";
	small_path = argv[3];
	large_path = argv[4];
	seconds = strtod(argv[5], NULL);
	counted_from = now() + 3600;
	for (i = 0; i < CONNECTIONS; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = &conns[i] };

		conns[i].asks = i < CLIENTS;
		conns[i].downloads = i >= CLIENTS - SHARED;
		open_conn(&conns[i], atoi(argv[2]), ctx, callbacks);
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, conns[i].fd, &event) < 0)
			die("epoll");
		flush(epoll, &conns[i]);
	}
	counted_from = now() + 0.5;
	end = counted_from + seconds;
	while (now() < end) {
		n = epoll_wait(epoll, events, CONNECTIONS, 100);
		for (i = 0; i < n; i++)
			work(epoll, events[i].data.ptr);
	}
	say(seconds);
	return 0;
}
