/*
 * check_tcp: bytes of the queue reach the socket in order, whatever it takes at a time; ends and
 * errors.
 */
#include "net/tcp.h"

#include "unit.h"

enum { BODY = 1 << 20, CHUNK = 4096 };

static uint8_t body[BODY], got[BODY];
static struct pool blocks;
static struct ref body_ref;
static struct outq q;
static struct transport *t;
static int peer;

static void on_release(struct ref *ref)
{
	ck_abort_msg("a reference too many was put");
}

UNIT_SETUP(setup)
{
	int fds[2];

	for (size_t i = 0; i < BODY; i++)
		body[i] = (uint8_t)(i * 31 + i / 509);
	ref_init(&body_ref, on_release);
	pool_init(&blocks, OUTQ_BLOCK, 2);
	outq_init(&q, &blocks);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	t = tcp_open(fds[0]);
	ck_assert_ptr_nonnull(t);
	peer = fds[1];
}

UNIT_TEARDOWN(teardown)
{
	int fd = t->fd;

	t->ops->close(&t);
	ck_assert_ptr_null(t);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	if (peer >= 0)
		close(peer);
	outq_clear(&q);
	ck_assert_uint_eq(body_ref.count, 1);
	pool_fini(&blocks);
}

/* body as segments of n bytes. */
static void fill(size_t n)
{
	for (size_t i = 0; i < BODY; i += n) {
		n = n < BODY - i ? n : BODY - i;
		ck_assert_int_eq(outq_borrow(&q, body + i, n, &body_ref), 0);
	}
}

static size_t read_peer(size_t at, size_t max)
{
	size_t n = 0;

	while (n < max) {
		ssize_t r = read(peer, got + at + n, max - n);

		if (r <= 0)
			break;
		n += (size_t)r;
	}
	return n;
}

TEST_EACH(transfer, 5)
{
	static const size_t segs[] = { BODY, 65536, CHUNK, 2500, 100 };
	size_t at = 0;

	fill(segs[_i]);
	while (outq_len(&q) > 0) {
		size_t before = outq_len(&q);
		ssize_t n = t->ops->send(t, &q, SIZE_MAX);

		ck_assert_int_gt(n, 0);
		ck_assert_uint_eq(before - (size_t)n, outq_len(&q));
		/* Less than everything only because the socket is full. */
		if (outq_len(&q) > 0)
			ck_assert_int_eq(t->ops->send(t, &q, SIZE_MAX), -EAGAIN);
		at += read_peer(at, BODY - at);
	}
	ck_assert_uint_eq(at + read_peer(at, BODY - at), BODY);
	ck_assert_mem_eq(got, body, BODY);
	ck_assert(!t->ops->pending(t));
	ck_assert_int_eq(t->ops->send(t, &q, SIZE_MAX), 0);
}

TEST(limit)
{
	fill(2500);
	ck_assert_int_eq(t->ops->send(t, &q, 0), 0);
	ck_assert_int_eq(t->ops->send(t, &q, 1), 1);
	ck_assert_int_eq(t->ops->send(t, &q, 5000), 5000);
	ck_assert_uint_eq(outq_len(&q), BODY - 5001);
	ck_assert_uint_eq(read_peer(0, BODY), 5001);
	ck_assert_mem_eq(got, body, 5001);
}

TEST(more_segments_than_one_call_takes)
{
	const size_t n = OUTQ_COPY_MAX + 100;

	for (size_t i = 0; i < 200; i++)
		ck_assert_int_eq(outq_borrow(&q, body + i * n, n, &body_ref), 0);
	ck_assert_uint_gt(q.count, 64);
	for (size_t at = 0; at < 200 * n;) {
		ssize_t r = t->ops->send(t, &q, SIZE_MAX);

		ck_assert_int_gt(r, 0);
		ck_assert_uint_eq(read_peer(at, BODY), (size_t)r);
		at += (size_t)r;
	}
	ck_assert_uint_eq(outq_len(&q), 0);
	ck_assert_mem_eq(got, body, 200 * n);
}

/* Memory of a file is the file's, if it is long enough: here both differ, so that it can be told
 * which the socket was given. */
TEST_EACH(files, 4)
{
	static const size_t sizes[] = { BODY / 2, 100000, 40000, 5000 };
	struct ref_file file = { .bytes = body };
	size_t at = 0, n = sizes[_i];
	static uint8_t other[BODY];

	for (size_t i = 0; i < BODY; i++)
		other[i] = (uint8_t)~body[i];
	file.fd = memfd_create("other", MFD_CLOEXEC);
	ck_assert_int_eq(write(file.fd, other, BODY), BODY);
	ref_init(&file.ref, on_release);
	file.ref.in_file = true;
	ck_assert_int_eq(outq_copy(&q, "head", 4), 0);
	ck_assert_int_eq(outq_borrow(&q, body + 1000, n, &file.ref), 0);
	ck_assert_int_eq(outq_copy(&q, "tail", 4), 0);
	while (at < n + 8) {
		ssize_t r = t->ops->send(t, &q, SIZE_MAX);

		ck_assert(r > 0 || r == -EAGAIN);
		/* Without the descriptor it goes on from memory, at the same byte. */
		if (_i == 0 && at > BODY / 4 && file.fd >= 0) {
			close(file.fd);
			file.fd = -1;
		}
		at += read_peer(at, n + 8 - at);
	}
	ck_assert_uint_eq(outq_len(&q), 0);
	ck_assert_mem_eq(got, "head", 4);
	ck_assert_mem_eq(got + 4, (_i == 0 ? other : body) + 1000, n < BODY / 4 ? n : BODY / 4);
	if (_i == 0)
		ck_assert_mem_eq(got + 4 + n - 1000, body + n, 1000);
	ck_assert_mem_eq(got + 4 + n, "tail", 4);
	if (file.fd >= 0)
		close(file.fd);
	ck_assert_uint_eq(file.ref.count, 1);
}

/* What is left of a file, with nothing in front of it, is sent from it even where it is short. */
TEST(rest_of_a_file)
{
	struct ref_file file = { .bytes = body };

	file.fd = memfd_create("zeros", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(file.fd, BODY), 0);
	ref_init(&file.ref, on_release);
	file.ref.in_file = true;
	ck_assert_int_eq(outq_borrow(&q, body + 5, 40000, &file.ref), 0);
	ck_assert_int_eq(t->ops->send(t, &q, 30000), 30000);
	/* Less than it pays for. */
	ck_assert_int_eq(t->ops->send(t, &q, SIZE_MAX), 10000);
	ck_assert_uint_eq(read_peer(0, BODY), 40000);
	ck_assert_uint_eq(got[0] | got[29999], 0);
	ck_assert_mem_eq(got + 30000, body + 30005, 10000);
	close(file.fd);
}

/* --- ranges of files -------------------------------------------------------------------------- */

static struct ref_file ranged;
static size_t came_back;

static void on_back(struct ref_file *file, size_t n)
{
	ck_assert_ptr_eq(file, &ranged);
	came_back += n;
}

static void begin_range(void)
{
	ranged = (struct ref_file){ .fd = memfd_create("range", MFD_CLOEXEC), .back = on_back };
	ck_assert_int_eq(write(ranged.fd, body, BODY), BODY);
	ref_init(&ranged.ref, on_release);
	ranged.ref.in_file = true;
	came_back = 0;
}

static void end_range(void)
{
	ck_assert_uint_eq(ranged.ref.count, 1);
	close(ranged.fd);
}

/* However little the peer takes at a time, and however short the range is. */
TEST_EACH(ranges, 3)
{
	static const size_t sizes[] = { BODY - 1000, 100000, 1 };
	size_t at = 0, n = sizes[_i];

	begin_range();
	ck_assert_int_eq(outq_copy(&q, "head", 4), 0);
	ck_assert_int_eq(outq_range(&q, &ranged, 1000, n), 0);
	ck_assert(outq_has_range(&q) && !outq_range_is_next(&q));
	while (at < n + 4) {
		ssize_t r = t->ops->send(t, &q, SIZE_MAX);

		ck_assert(r > 0 || r == -EAGAIN);
		at += read_peer(at, n + 4 - at);
	}
	ck_assert(!outq_has_range(&q) && !outq_return_range(&q));
	ck_assert_mem_eq(got, "head", 4);
	ck_assert_mem_eq(got + 4, body + 1000, n);
	end_range();
}

/* 0: behind its first half the file ends; 1: all of it is gone; 2: it cannot be read. Each time the
 * rest comes back at once, and nobody waits for a socket that has room. */
TEST_EACH(refused_ranges, 3)
{
	ssize_t sent;

	begin_range();
	if (_i < 2)
		ck_assert_int_eq(ftruncate(ranged.fd, _i == 0 ? 20000 : 0), 0);
	ck_assert_int_eq(outq_range(&q, &ranged, 10000, 40000), 0);
	if (_i == 2) {
		int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

		ck_assert_int_eq(dup3(fd, ranged.fd, O_CLOEXEC), ranged.fd);
		close(fd);
	}
	sent = t->ops->send(t, &q, SIZE_MAX);
	ck_assert_int_eq(sent, _i == 0 ? 10000 : -EAGAIN);
	ck_assert(outq_return_range(&q));
	ck_assert_uint_eq(came_back, _i == 0 ? 30000 : 40000);
	ck_assert_uint_eq(outq_len(&q), 0);
	/* The next one is asked for anew. */
	if (_i == 0) {
		ck_assert_int_eq(outq_range(&q, &ranged, 0, 20000), 0);
		ck_assert_int_eq(t->ops->send(t, &q, SIZE_MAX), 20000);
		ck_assert(!outq_return_range(&q));
	}
	end_range();
}

/* A full socket does not refuse one. */
TEST(range_that_waits)
{
	ssize_t sent;

	begin_range();
	ck_assert_int_eq(outq_range(&q, &ranged, 0, BODY), 0);
	sent = t->ops->send(t, &q, SIZE_MAX);
	ck_assert(sent > 0 && sent < BODY);
	ck_assert_int_eq(t->ops->send(t, &q, SIZE_MAX), -EAGAIN);
	ck_assert(!outq_return_range(&q));
	ck_assert_uint_eq(came_back, BODY - (size_t)sent);
	end_range();
}

TEST(receive)
{
	char buf[10];

	ck_assert_int_eq(t->ops->handshake(t), 0);
	ck_assert_uint_eq(t->alpn.n, 0);
	ck_assert_ptr_null(t->certificate);
	ck_assert_ptr_null(t->tls_version);
	ck_assert_ptr_null(t->tls_cipher);
	ck_assert_int_eq(t->ops->recv(t, buf, sizeof(buf)), -EAGAIN);
	ck_assert(t->drained);
	ck_assert_int_eq(write(peer, "0123456789abcde", 15), 15);
	ck_assert_int_eq(t->ops->recv(t, buf, sizeof(buf)), 10);
	ck_assert(!t->drained);
	ck_assert_mem_eq(buf, "0123456789", 10);
	ck_assert_int_eq(t->ops->recv(t, buf, sizeof(buf)), 5);
	ck_assert(t->drained);
	ck_assert_mem_eq(buf, "abcde", 5);
	shutdown(peer, SHUT_WR);
	ck_assert_int_eq(t->ops->recv(t, buf, sizeof(buf)), 0);
	ck_assert(!t->drained);
}

TEST(half_closes)
{
	char c;

	/* The peer's half is closed: ours still delivers. */
	shutdown(peer, SHUT_WR);
	ck_assert_int_eq(t->ops->recv(t, &c, 1), 0);
	ck_assert_int_eq(outq_copy(&q, "response", 8), 0);
	ck_assert_int_eq(t->ops->send(t, &q, SIZE_MAX), 8);
	t->ops->shutdown(t);
	ck_assert_uint_eq(read_peer(0, 100), 8);
	ck_assert_int_eq(read(peer, &c, 1), 0);
}

TEST(peer_gone)
{
	close(peer);
	peer = -1;
	ck_assert_int_eq(outq_copy(&q, "response", 8), 0);
	ck_assert_int_eq(t->ops->send(t, &q, SIZE_MAX), -EPIPE);
}
