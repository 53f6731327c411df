/*
 * files_unit: a worker's files over a temporary tree, and requests to them without a protocol: the
 * stream seam is this file. Used by the tests of reply_file.c and disk.c.
 */
#pragma once

#include "base/clock.h"
#include "base/counters.h"
#include "files/files.h"
#include "image_build_unit.h"
#include "request/req_field.h"

enum { UNIT_FAILED = -1000 };

static struct loop unit_loop;
static struct offload *unit_offload;
static struct files *unit_files;
static struct pool unit_blocks;
static struct http_env unit_env;
static struct unit_build unit_keeper;
static struct built_image unit_image;
static const struct slice unit_index[] = { SLICE_LIT("index.html"), SLICE_LIT("index.htm") };
static const struct slice unit_uploads = SLICE_LIT("/files");
static const struct site_upload unit_upload = {
	.url = SLICE_LIT("/files"),
	.form = SLICE_LIT("/files"),
	.dir = SLICE_LIT("/files"),
};
static struct site unit_site;
static struct sites unit_sites;
static struct doc_root unit_root;
static struct doc_roots unit_conf;
static unsigned unit_resumed;
static struct http_conn *unit_conn; /* of requests from now on; NULL: none */
static struct http_conn unit_takes = { .takes_ranges = true };
static bool unit_slow; /* files are as on FUSE: opened, read and closed by threads */

static inline void unit_reply(struct h2d_req *req)
{
}

static inline void unit_resume(struct h2d_req *req)
{
	unit_resumed++;
}

static inline void unit_consume(struct h2d_req *req, size_t n)
{
}

static const struct stream_ops unit_stream = {
	.reply = unit_reply,
	.resume = unit_resume,
	.consume = unit_consume,
};

UNIT_SETUP(unit_start)
{
	tree_dir("files");
	unit_root = (struct doc_root){
		.root = tree,
		.charset = "utf-8",
		.uploads = &unit_uploads,
		.nuploads = 1,
		.precompressed = true,
	};
	unit_site = (struct site){
		.name = SLICE("_"),
		.is_default = true,
		.all = {
			.prefix = SLICE("/"),
			.charset = SLICE("utf-8"),
			.index = unit_index,
			.nindex = 2,
			.precompressed = true,
			.upload = &unit_upload,
		},
		.uploads = &unit_upload,
		.nuploads = 1,
	};
	unit_sites = (struct sites){ .v = &unit_site, .n = 1 };
	unit_conf = (struct doc_roots){
		.roots = &unit_root,
		.nroots = 1,
		.max_size = 1 << 24,
		.max_file_size = 1 << 20,
	};
	ck_assert_int_eq(loop_init(&unit_loop), 0);
	unit_offload = offload_new(&unit_loop, 2);
	ck_assert_ptr_nonnull(unit_offload);
	unit_files = files_new(&unit_loop, unit_offload, &unit_conf);
	ck_assert_ptr_nonnull(unit_files);
	pool_init(&unit_blocks, OUTQ_BLOCK, 4);
	unit_env = (struct http_env){
		.sites = &unit_sites,
		.date = SLICE("Sun, 06 Nov 1994 08:49:37 GMT"),
		.date_s = clock_wall().tv_sec,
		.conf.server = SLICE("h2d"),
		.conf.header_fields = 128,
		.conf.header_size = 32768,
		.files = unit_files,
	};
}

/* Turns until nothing is in a thread's hands. */
static inline void unit_settle(void)
{
	while (offload_pending(unit_offload) > 0)
		ck_assert_int_eq(loop_turn(&unit_loop, 1000), 0);
}

static inline void unit_unpublish(void)
{
	if (unit_image.catalog == NULL)
		return;
	built_image_close(&unit_image);
	unit_build_stop(&unit_keeper);
}

UNIT_TEARDOWN(unit_stop)
{
	files_free(&unit_files);
	offload_free(&unit_offload);
	loop_fini(&unit_loop);
	pool_fini(&unit_blocks);
	unit_unpublish();
	ck_assert_int_eq(counters->files_open, 0);
	ck_assert_int_eq(counters->images, 0);
	ck_assert_int_eq(counters->requests_live, 0);
	ck_assert_int_eq(counters->offload_jobs, 0);
}

/* The keeper's part: an image of the tree as it is now, in use when this returns. */
static inline void unit_publish(uint64_t number)
{
	int fds[IMAGE_FDS + IMAGE_SEGMENTS];

	unit_unpublish();
	unit_build_start(&unit_keeper, &unit_conf);
	unit_build_work(&unit_keeper);
	ck_assert_int_eq(image_build(&unit_keeper.catalog, 0, number, &unit_image), 0);
	for (int i = 0; i < unit_image.nfds; i++)
		fds[i] = dup(unit_image.fds[i]);
	files_take_image(unit_files, number, fds, unit_image.nfds);
	while (files_image_number(unit_files) != number)
		ck_assert_int_eq(loop_turn(&unit_loop, 1000), 0);
	/* No keeper goes on ticking, and a busy machine may take longer than one tick is good for.
	 */
	image_build_tick(&unit_image, clock_read_us() / 1000 + 60000);
}

static inline void unit_be_slow(void)
{
	unit_slow = true;
	unit_files->disk->trees[0].root->kind = BENEATH_REMOTE;
}

/* Requests from now on come by a connection that takes ranges of files, where they are wanted. */
static inline void unit_sendfile(void)
{
	unit_site.all.sendfile = true;
	unit_conn = &unit_takes;
}

/* A request that waits for its reply; fields: "name: value" lines, NULL for none. */
static inline struct h2d_req *unit_new(enum h2d_method method, const char *fields)
{
	struct h2d_req *req = malloc(sizeof(*req));

	req_init(req, &unit_env, unit_conn, &unit_stream);
	req->site = &unit_site;
	req->location = &unit_site.all;
	req->method = method;
	while (fields != NULL && *fields != '\0') {
		const char *colon = strchr(fields, ':'), *end = strchr(fields, '\n');

		ck_assert_int_eq(
			req_field_add(req,
				arena_dup(&req->arena, slice_of(fields, (size_t)(colon - fields))),
				arena_dup(&req->arena,
					slice_of(colon + 2, (size_t)(end - colon - 2)))),
			0);
		fields = end + 1;
	}
	req_go(req, REQ_WAIT);
	req->owes = true;
	return req;
}

/* A request for path, as if its handler were called now; the reply may be there already. */
static inline struct h2d_req *unit_ask(enum h2d_method method, enum h2d_tree from, const char *path,
	const char *name, const char *value)
{
	struct h2d_req *req = unit_new(method, NULL);

	if (name != NULL)
		ck_assert_int_eq(req_field_add(req, slice_str(name), slice_str(value)), 0);
	req->path = slice_str(path);
	h2d_reply_file(req, from, path, strlen(path));
	return req;
}

static inline void unit_wait(struct h2d_req *req)
{
	while (!req->reply.ready)
		ck_assert_int_eq(loop_turn(&unit_loop, 1000), 0);
}

/* The same with any fields, as unit_new() has them, from the document root; answered. */
static inline struct h2d_req *unit_answer(
	enum h2d_method method, const char *path, const char *fields)
{
	struct h2d_req *req = unit_new(method, fields);

	req->path = slice_str(path);
	h2d_reply_file(req, H2D_DOCUMENT_ROOT, path, strlen(path));
	unit_wait(req);
	return req;
}

static inline void unit_end(struct h2d_req *req)
{
	req_fini(req);
	free(req);
}

/* A range that q holds, as a socket takes it. */
static inline size_t unit_take_range(struct outq *q, char *to)
{
	off_t at;
	int fd;
	size_t n = outq_file(q, SIZE_MAX, 0, &fd, &at);

	ck_assert_int_eq(pread(fd, to, n, at), (ssize_t)n);
	outq_consume(q, n);
	return n;
}

/* The next bytes of the body, at most want, to to: how many, or UNIT_FAILED. */
static inline ssize_t unit_read(struct h2d_req *req, char *to, size_t want)
{
	struct body *b = &req->reply.body;
	struct outq q;
	struct iovec iov[8];
	size_t got = 0;
	ssize_t n;
	int count;

	if (unit_slow && strcmp(b->ops->name, "file") == 0)
		((struct disk_file *)b->src)->kind = BENEATH_REMOTE;
	while ((n = b->ops->ready(b, want)) == BODY_LATER) {
		unsigned before = unit_resumed;

		while (unit_resumed == before)
			ck_assert_int_eq(loop_turn(&unit_loop, 1000), 0);
	}
	if (n == BODY_FAILED)
		return UNIT_FAILED;
	ck_assert_int_gt(n, 0);
	outq_init(&q, &unit_blocks);
	ck_assert_int_eq(b->ops->emit(b, (size_t)n, &q), 0);
	if (outq_has_range(&q))
		got = unit_take_range(&q, to);
	count = outq_iov(&q, iov, 8, SIZE_MAX);
	for (int i = 0; i < count; i++) {
		memcpy(to + got, iov[i].iov_base, iov[i].iov_len);
		got += iov[i].iov_len;
	}
	ck_assert_uint_eq(got, (size_t)n);
	outq_clear(&q);
	return n;
}

/* The whole body has these bytes. */
static inline void unit_expect_body(struct h2d_req *req, const char *data, size_t n)
{
	char *got = malloc(n + 1);
	size_t at = 0;

	ck_assert_uint_eq(req->reply.body.left, n);
	while (req->reply.body.left > 0) {
		ssize_t r = unit_read(req, got + at, n - at < 50000 ? n - at : 50000);

		ck_assert_int_gt(r, 0);
		at += (size_t)r;
	}
	ck_assert_uint_eq(at, n);
	ck_assert_mem_eq(got, data, n);
	free(got);
}

/* The value of a response field, "" if it has none. */
static inline const char *unit_field(const struct h2d_req *req, const char *name)
{
	const struct field *f = field_find(req->reply.fields, req->reply.nfields, slice_str(name));
	static char values[4][256];
	static unsigned next;
	char *value = values[next++ % 4];

	snprintf(value, sizeof(values[0]), "%.*s", f != NULL ? (int)f->value.n : 0,
		f != NULL ? f->value.p : "");
	return value;
}

/* The status of a GET of path. */
static inline int unit_status(enum h2d_tree from, const char *path)
{
	struct h2d_req *req = unit_ask(H2D_GET, from, path, NULL, NULL);
	int status;

	unit_wait(req);
	status = req->reply.status;
	unit_end(req);
	return status;
}
