/*
 * check_disk_range: pieces of files that go out from the file itself, on a file system of this test
 * alone: it says what is in memory as the test wants it.
 */
#include <sys/uio.h>

#include "files_unit.h"
#include "unit.h"

enum { LARGE = 3000001, PIECE = 1 << 20, STEP = 64 << 10, STEPS = PIECE / STEP };

static int error;          /* of all reads that must not wait; 0: none */
static off_t cold, warm;   /* from the one to the other nothing is in memory, for them */
static off_t looked[1000]; /* where they were for one byte */
static size_t looks;

ssize_t __wrap_preadv2(int fd, const struct iovec *iov, int n, off_t at, int flags);

ssize_t __wrap_preadv2(int fd, const struct iovec *iov, int n, off_t at, int flags)
{
	off_t end = at + (off_t)iov->iov_len;

	if (iov->iov_len == 1)
		looked[looks++ % 1000] = at;
	errno = error != 0 ? error : EAGAIN;
	if (error != 0 || (at < warm && end > cold))
		return -1;
	return pread(fd, iov->iov_base, iov->iov_len, at);
}

UNIT_SETUP(start)
{
	unit_sendfile();
	unit_files->disk->trees[0].root->kind = BENEATH_LOCAL;
	error = 0;
	cold = warm = 0;
	looks = 0;
}

static struct h2d_req *get(const char *path)
{
	return unit_ask(H2D_GET, H2D_DOCUMENT_ROOT, path, NULL, NULL);
}

/* What the socket leaves comes back, as if it had never been asked for; its end is read. */
TEST(ranges)
{
	char *data = tree_bytes(LARGE, 7), *got = malloc(LARGE);
	struct h2d_req *req;
	struct body *b;
	size_t at = 0, ranged = 0;

	tree_write("f", data, LARGE);
	req = get("/f");
	unit_wait(req);
	b = &req->reply.body;
	req->record.bytes_out = LARGE; /* as the protocol counts */
	while (b->left > 0) {
		ssize_t n = b->ops->ready(b, 300000);
		struct outq q;

		ck_assert_int_gt(n, 0);
		outq_init(&q, &unit_blocks);
		ck_assert_int_eq(b->ops->emit(b, (size_t)n, &q), 0);
		if (outq_has_range(&q)) {
			ck_assert_uint_gt(b->left, 0);
			ck_assert(outq_range_is_next(&q));
			ck_assert_uint_eq(unit_take_range(&q, got + at), (size_t)n);
			outq_clear(&q);
			/* And once more, of which a third goes. */
			at += (size_t)n;
			ranged += (size_t)n;
			n = b->ops->ready(b, 300000);
			if (b->ops->emit(b, (size_t)n, &q) == 0 && outq_has_range(&q)) {
				uint64_t left = b->left;
				off_t from;
				int fd;

				outq_consume(&q, 100000 < n ? 100000 : (size_t)n);
				n -= 100000 < n ? 100000 : n;
				ck_assert_uint_eq(
					outq_file(&q, SIZE_MAX, 0, &fd, &from), (size_t)n);
				ck_assert(!outq_return_range(&q));
				ck_assert_uint_eq(outq_len(&q), 0);
				ck_assert_uint_eq(b->left, left + (size_t)n);
				memcpy(got + at, data + at, LARGE - b->left - at);
				at = LARGE - b->left;
				outq_clear(&q);
				continue;
			}
		}
		while (outq_len(&q) > 0) {
			struct iovec iov;

			outq_iov(&q, &iov, 1, SIZE_MAX);
			memcpy(got + at, iov.iov_base, iov.iov_len);
			at += iov.iov_len;
			outq_consume(&q, iov.iov_len);
		}
		outq_clear(&q);
	}
	ck_assert_uint_eq(at, LARGE);
	ck_assert_mem_eq(got, data, LARGE);
	ck_assert_uint_gt(ranged, LARGE / 4);
	ck_assert_uint_gt(counters->sendfile_pieces, 1);
	unit_end(req);
	free(data);
	free(got);
}

/* A file that does not give its bytes to the socket is read, which tells why. */
TEST_EACH(refused_range, 2)
{
	char *data = tree_bytes(LARGE, 7), *got = malloc(LARGE);
	struct h2d_req *req;
	struct body *b;
	struct outq q;

	tree_write("f", data, LARGE);
	req = get("/f");
	unit_wait(req);
	b = &req->reply.body;
	req->record.bytes_out = LARGE;
	outq_init(&q, &unit_blocks);
	ck_assert_int_eq(b->ops->ready(b, 100000), 100000);
	ck_assert_int_eq(b->ops->emit(b, 100000, &q), 0);
	ck_assert(outq_has_range(&q));
	outq_refuse_range(&q);
	ck_assert(outq_return_range(&q));
	ck_assert_uint_eq(req->record.bytes_out, LARGE - 100000);
	if (_i == 1)
		ck_assert_int_eq(truncate(tree_path("f"), 1000), 0);
	for (size_t at = 0; at < LARGE && _i == 0;) {
		ssize_t n = b->ops->ready(b, 100000);

		ck_assert_int_gt(n, 0);
		ck_assert_int_eq(b->ops->emit(b, (size_t)n, &q), 0);
		ck_assert(!outq_has_range(&q));
		outq_clear(&q);
		at += (size_t)n;
	}
	if (_i == 1)
		ck_assert_int_eq(unit_read(req, got, LARGE), UNIT_FAILED);
	outq_clear(&q);
	unit_end(req);
	free(data);
	free(got);
}

/* Connections that take none, requests for parts, and places that do not want it. */
TEST_EACH(no_ranges, 3)
{
	char *data = tree_bytes(LARGE, 7);
	struct http_conn conn = { 0 };
	struct h2d_req *req;

	tree_write("f", data, LARGE);
	unit_site.all.sendfile = _i != 0;
	if (_i == 1)
		unit_conn = &conn;
	if (_i == 2)
		req = unit_answer(H2D_GET, "/f", "range: bytes=0-999999,1500000-2999999\n");
	else
		req = unit_answer(H2D_GET, "/f", NULL);
	while (req->reply.body.left > 0) {
		struct body *b = &req->reply.body;
		ssize_t n = b->ops->ready(b, 100000);
		struct outq q;

		ck_assert_int_gt(n, 0);
		outq_init(&q, &unit_blocks);
		ck_assert_int_eq(b->ops->emit(b, (size_t)n, &q), 0);
		ck_assert(!outq_has_range(&q));
		outq_clear(&q);
	}
	ck_assert_uint_eq(counters->sendfile_pieces, 0);
	unit_end(req);
	free(data);
}

/* All looks since the last call: one in each step of a piece that begins at from. */
static void expect_looks(size_t from)
{
	ck_assert_uint_eq(looks, STEPS);
	for (size_t i = 0; i < STEPS; i++) {
		ck_assert_int_ge(looked[i], (off_t)(from + i * STEP));
		ck_assert_int_lt(looked[i], (off_t)(from + (i + 1) * STEP));
	}
	looks = 0;
}

/* One byte of 64 KiB, another one each time, and none while the answer holds. */
TEST(looked_at)
{
	char *data = tree_bytes(LARGE, 7);
	off_t before[STEPS];
	struct h2d_req *req;
	struct body *b;
	unsigned same = 0;

	tree_write("f", data, LARGE);
	req = get("/f");
	unit_wait(req);
	b = &req->reply.body;
	ck_assert_int_eq(b->ops->ready(b, PIECE), PIECE);
	expect_looks(0);
	memcpy(before, looked, sizeof(before));
	ck_assert_int_eq(b->ops->ready(b, PIECE), PIECE);
	ck_assert_uint_eq(looks, 0);
	/* Behind that time. */
	free(unit_files->disk->warm);
	unit_files->disk->warm = NULL;
	ck_assert_int_eq(b->ops->ready(b, PIECE), PIECE);
	expect_looks(0);
	for (size_t i = 0; i < STEPS; i++)
		same += before[i] / 4096 == looked[i] / 4096;
	ck_assert_uint_le(same, STEPS / 4);
	unit_end(req);
	free(data);
}

/* A piece of which a step is not in memory: the rest of it is read, and a thread reads that step.
 */
TEST_EACH(not_in_memory, 2)
{
	char *data = tree_bytes(LARGE, 7), *got = malloc(LARGE);
	struct h2d_req *req;
	struct body *b;
	size_t at = 0, read = 0;
	bool later = false;

	cold = PIECE + STEP * (_i * 3);
	warm = cold + STEP;
	tree_write("f", data, LARGE);
	req = get("/f");
	unit_wait(req);
	b = &req->reply.body;
	req->record.bytes_out = LARGE;
	while (b->left > 0) {
		size_t pieces = counters->sendfile_pieces;
		ssize_t n;

		later |= b->ops->ready(b, PIECE) == BODY_LATER;
		n = unit_read(req, got + at, PIECE);
		ck_assert_int_gt(n, 0);
		if (at >= PIECE && at < 2 * PIECE) {
			ck_assert_uint_eq(counters->sendfile_pieces, pieces);
			read += (size_t)n;
		}
		at += (size_t)n;
	}
	ck_assert_uint_eq(at, LARGE);
	ck_assert_mem_eq(got, data, LARGE);
	ck_assert(later);
	ck_assert_uint_ge(read, PIECE);
	ck_assert_uint_ge(counters->sendfile_pieces, 2);
	ck_assert(!unit_files->disk->range_told);
	unit_end(req);
	free(data);
	free(got);
}

/* A file system that does not say it, as overlayfs or one of a network; and a disk with a fault. */
TEST_EACH(no_answer, 3)
{
	char *data = tree_bytes(LARGE, 7), *got = malloc(LARGE);
	struct h2d_req *req;
	size_t at = 0;

	if (_i == 2)
		unit_be_slow();
	tree_write("f", data, LARGE);
	req = get("/f");
	unit_wait(req);
	error = _i == 0 ? EOPNOTSUPP : EIO;
	while (_i != 1 && at < LARGE)
		at += (size_t)unit_read(req, got + at, PIECE);
	if (_i == 1)
		ck_assert_int_eq(unit_read(req, got, PIECE), UNIT_FAILED);
	else
		ck_assert_mem_eq(got, data, LARGE);
	ck_assert(unit_files->disk->range_told == (_i != 1));
	ck_assert_uint_eq(counters->sendfile_pieces, 0);
	unit_end(req);
	free(data);
	free(got);
}
