/*
 * check_h2_window: a nghttp2 client uploads over a path that is made up: so long, so fast, its
 * clock counted by hand. What windows grow to, what a disk that takes nothing costs, whom a stream
 * that nobody takes keeps waiting.
 */
#include <nghttp2/nghttp2.h>

#include "base/clock.h"
#include "proto/h2.h"
#include "proto_unit.h"
#include "unit.h"

enum { MIB = 1 << 20, UPLOADS = 160, CROWD = 142, LIMIT = 16 * MIB };

/* --- handlers: what takes a body -------------------------------------------------------------- */

/* Bytes that each upload has received, and those it may take yet. */
static struct upload {
	struct h2d_req *req;
	size_t got, held, may_take;
	bool ended;
} uploads[UPLOADS];
static unsigned nuploads;

static void take(struct upload *u)
{
	size_t n = u->held < u->may_take ? u->held : u->may_take;

	u->held -= n;
	u->may_take -= n;
	if (n > 0)
		h2d_consume(u->req, n);
}

static void sink_start(struct h2d_req *req, void *state)
{
	*(unsigned *)state = nuploads;
	uploads[nuploads++].req = req;
}

static void sink_body(struct h2d_req *req, void *state, const char *data, size_t n)
{
	struct upload *u = &uploads[*(unsigned *)state];

	u->got += n;
	u->held += n;
	take(u);
}

static void sink_end(struct h2d_req *req, void *state)
{
	uploads[*(unsigned *)state].ended = true;
	h2d_reply_bytes(req, 201, NULL, "", 0);
}

static const struct h2d_handler sink = { .name = "upload",
	.state_size = sizeof(unsigned),
	.start = sink_start,
	.body = sink_body,
	.end = sink_end };
static const struct route_row rows[] = { { "rows", 1, "PUT", "/upload", "upload", "BODY_STREAM" } };

/* --- a path ----------------------------------------------------------------------------------- */

/* Bytes that are on their way, by the time at which they arrive. */
struct lump {
	struct lump *next;
	uint64_t at_us;
	size_t n, taken;
	uint8_t bytes[];
};

struct way {
	struct lump *first, **last;
};

/* A client and its connection. */
struct peer {
	struct proto_host host;
	struct proto *server;
	nghttp2_session *client;
	struct outq out;
	struct way up, down;
	uint64_t busy_us; /* the client's link is, until then */
	size_t left;      /* bytes of each body to come */
};

static uint64_t now_us;
static uint64_t way_us;       /* of each direction */
static uint64_t bytes_per_ms; /* of the client's link */

static void send_on(struct way *w, uint64_t at_us, const void *p, size_t n)
{
	struct lump *lump = malloc(sizeof(*lump) + n);

	lump->next = NULL;
	lump->at_us = at_us;
	lump->n = n;
	lump->taken = 0;
	memcpy(lump->bytes, p, n);
	*w->last = lump;
	w->last = &lump->next;
}

static struct lump *arrived(struct way *w)
{
	struct lump *lump = w->first;

	if (lump == NULL || lump->at_us > now_us)
		return NULL;
	w->first = lump->next;
	if (w->first == NULL)
		w->last = &w->first;
	return lump;
}

static ssize_t read_body(nghttp2_session *s, int32_t id, uint8_t *buf, size_t length,
	uint32_t *flags, nghttp2_data_source *source, void *user)
{
	size_t *left = source->ptr, n = length < *left ? length : *left;

	memset(buf, 'u', n);
	*left -= n;
	if (*left == 0)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

static void connect_to(struct peer *p)
{
	nghttp2_session_callbacks *cb;

	*p = (struct peer){ .host = host };
	p->up.last = &p->up.first;
	p->down.last = &p->down.first;
	outq_init(&p->out, &blocks);
	p->server = h2_open(&conf, &p->host);
	ck_assert_ptr_nonnull(p->server);
	nghttp2_session_callbacks_new(&cb);
	ck_assert_int_eq(nghttp2_session_client_new(&p->client, cb, NULL), 0);
	nghttp2_session_callbacks_del(cb);
	nghttp2_submit_settings(p->client, 0, NULL, 0);
}

static void drop(struct way *w)
{
	while (w->first != NULL) {
		struct lump *next = w->first->next;

		free(w->first);
		w->first = next;
	}
}

static void disconnect(struct peer *p)
{
	p->server->ops->close(&p->server);
	nghttp2_session_del(p->client);
	outq_clear(&p->out);
	drop(&p->up);
	drop(&p->down);
}

/* length: what is said of it; SIZE_MAX: nothing. The stream. */
static int32_t put_as(struct peer *p, size_t *left, size_t said)
{
	char length[24];
	const char *const head[][2] = { { ":method", "PUT" }, { ":scheme", "http" },
		{ ":path", "/upload" }, { ":authority", "localhost" },
		{ "content-length", length } };
	nghttp2_data_provider body = { .source.ptr = left, .read_callback = read_body };
	nghttp2_nv nv[5];
	size_t n = said == SIZE_MAX ? 4 : 5;
	int32_t id;

	snprintf(length, sizeof(length), "%zu", said);
	for (size_t i = 0; i < n; i++)
		nv[i] = (nghttp2_nv){ (uint8_t *)(uintptr_t)head[i][0],
			(uint8_t *)(uintptr_t)head[i][1], strlen(head[i][0]), strlen(head[i][1]),
			NGHTTP2_NV_FLAG_NONE };
	id = nghttp2_submit_request(p->client, NULL, nv, n, &body, NULL);
	ck_assert_int_gt(id, 0);
	return id;
}

/* Without an end it has no content-length. */
static void put(struct peer *p, size_t *left)
{
	put_as(p, left, *left);
}

/* What the client has to say leaves as its link is free. */
static void client_sends(struct peer *p)
{
	const uint8_t *data;
	ssize_t n;

	if (p->busy_us < now_us)
		p->busy_us = now_us;
	while (p->busy_us < now_us + 1000 && (n = nghttp2_session_mem_send(p->client, &data)) > 0) {
		p->busy_us += (uint64_t)n * 1000 / bytes_per_ms;
		send_on(&p->up, p->busy_us + way_us, data, (size_t)n);
	}
}

/* It may take less, and the rest later. */
static void server_reads(struct peer *p)
{
	struct lump *lump;

	while ((lump = arrived(&p->up)) != NULL) {
		size_t n = lump->n - lump->taken;

		ck_assert_ptr_null(p->server->ops->input(
			p->server, lump->bytes + lump->taken, &n, now_us / 1000));
		lump->taken += n;
		if (lump->taken < lump->n) {
			lump->next = p->up.first;
			p->up.first = lump;
			if (lump->next == NULL)
				p->up.last = &lump->next;
			return;
		}
		free(lump);
	}
}

static void leave(void *ctx, const void *data, size_t n)
{
	send_on(ctx, now_us + way_us, data, n);
}

static void server_sends(struct peer *p)
{
	proto_unit_pull(p->server, &p->out, SIZE_MAX, leave, &p->down);
}

static void client_reads(struct peer *p)
{
	struct lump *lump;

	while ((lump = arrived(&p->down)) != NULL) {
		ck_assert_int_ge(nghttp2_session_mem_recv(p->client, lump->bytes, lump->n), 0);
		free(lump);
	}
}

/* As much time goes by, in steps, for n of them. */
static void run_all(struct peer *p, unsigned n, uint64_t us, uint64_t step_us)
{
	for (uint64_t end = now_us + us; now_us < end; now_us += step_us) {
		clock_set(now_us, (struct timespec){ 0 });
		for (unsigned i = 0; i < n; i++) {
			client_sends(&p[i]);
			server_reads(&p[i]);
			server_sends(&p[i]);
			client_reads(&p[i]);
		}
	}
}

static void run(struct peer *p, uint64_t us, uint64_t step_us)
{
	run_all(p, 1, us, step_us);
}

static uint32_t window(const struct peer *p)
{
	return ((const struct h2 *)p->server)->window.size;
}

/* A path of its own: one way in µs, and what the client's link takes in a millisecond. */
static void connect_by(struct peer *p, uint64_t us, uint64_t per_ms)
{
	way_us = us;
	bytes_per_ms = per_ms;
	connect_to(p);
}

/* The first upload by such a path, taken as it comes. */
static void put_by(struct peer *p, uint64_t us, uint64_t per_ms, size_t *left)
{
	connect_by(p, us, per_ms);
	uploads[0].may_take = SIZE_MAX;
	put(p, left);
}

UNIT_SETUP(setup)
{
	static const struct h2d_handler *const handlers[] = { &sink };

	proto_unit_init(rows, 1, handlers, &sink);
	ahead_init(&ahead, LIMIT);
	conf.max_concurrent_streams = 100;
	conf.receive_window = LIMIT;
	memset(uploads, 0, sizeof(uploads));
	nuploads = 0;
	now_us = 1000000;
}

/* --- cases ------------------------------------------------------------------------------------ */

/* 100 ms and 1 Gbit/s: 12.5 MB are on the way. */
TEST(long_path)
{
	size_t left = SIZE_MAX, before;
	struct peer p;

	put_by(&p, 50000, 125000, &left);
	run(&p, 8 * 100000, 1000);
	ck_assert_uint_ge(window(&p), 12500000);
	ck_assert_uint_le(window(&p), LIMIT);
	/* And then the link is used. */
	run(&p, 2 * 100000, 1000);
	before = uploads[0].got;
	run(&p, 4 * 100000, 1000);
	ck_assert_uint_ge(uploads[0].got - before, 4 * 12500000 / 10 * 8);
	disconnect(&p);
}

/* 20 ms and 4 Gbit/s: a file takes two round trips, its time on the link, and little more. */
TEST(file_at_once)
{
	size_t left = 64 * MIB;
	struct peer p;

	put_by(&p, 10000, 500000, &left);
	run(&p, (uint64_t)(10 + 40 + 64 * MIB / 500000 + 10) * 1000, 250);
	ck_assert_uint_eq(uploads[0].got, 64 * MIB);
	ck_assert(uploads[0].ended);
	disconnect(&p);
}

/* The disk has a window's bytes when the last of them has come already: that is no reason to wait.
 */
TEST(file_behind_a_disk)
{
	size_t left = 64 * MIB;
	struct peer p;

	put_by(&p, 10000, 2000000, &left);
	uploads[0].may_take = 0;
	for (int ms = 0; ms < 10 + 20 + 5; ms++) {
		run(&p, 1000, 1000);
		uploads[0].may_take = SIZE_MAX;
		take(&uploads[0]);
		uploads[0].may_take = 0;
	}
	ck_assert_uint_ge(window(&p), 8 * MIB);
	disconnect(&p);
}

static uint32_t told(const struct peer *p)
{
	return (uint32_t)nghttp2_session_get_local_window_size(((struct h2 *)p->server)->session);
}

static uint64_t promised(void)
{
	return (uint64_t)counters_get(counters, COUNTER_receive_windows);
}

/* No window is wider than what is to come, and nothing is promised behind it. The next one has at
 * once what the path was seen to take. */
TEST(file_no_longer)
{
	size_t left = 3 * MIB;
	uint32_t most = 0;
	struct peer p;

	put_by(&p, 50000, 125000, &left);
	while (!uploads[0].ended) {
		run(&p, 250, 250);
		most = window(&p) > most ? window(&p) : most;
	}
	ck_assert_uint_ge(most, 2 * MIB);
	ck_assert_uint_le(most, 3 * MIB + AHEAD_FREE);
	ck_assert_uint_eq(promised(), 0);
	ck_assert_uint_le(told(&p), AHEAD_FREE);
	left = 3 * MIB;
	uploads[1].may_take = SIZE_MAX;
	put(&p, &left);
	run(&p, (50 + 50 + 3 * MIB / 125000 + 50 + 2) * 1000, 250);
	ck_assert(uploads[1].ended);
	disconnect(&p);
}

/* The path could do more, but not who takes it. */
TEST_EACH(slow_disk, 4)
{
	static const struct {
		size_t first, each_ms;
	} disks[] = { { 30000, 0 }, { 2000, 2000 }, { 100000, 0 }, { 100000, 2000 } };
	size_t left = SIZE_MAX;
	struct peer p;

	connect_by(&p, 50000, 125000);
	uploads[0].may_take = disks[_i].first;
	put(&p, &left);
	for (int i = 0; i < 2000; i++) {
		run(&p, 1000, 1000);
		if (uploads[0].got > 0)
			uploads[0].may_take = disks[_i].each_ms;
		take(&uploads[0]);
		ck_assert_uint_le(uploads[0].held, MIB);
	}
	ck_assert_uint_eq(window(&p), MIB);
	/* Without a byte that is taken, no credit. */
	if (disks[_i].each_ms == 0)
		ck_assert_uint_le(uploads[0].got, disks[_i].first + MIB);
	disconnect(&p);
}

/* Streams that nobody takes, as many of them as there is room for, hold the others up in nothing.
 */
TEST_EACH(others_go_on, 2)
{
	size_t endless[UPLOADS], left = 5 * MIB;
	struct peer p;
	unsigned n = _i == 0 ? 1 : 12;

	connect_by(&p, 5000, 125000);
	for (unsigned i = 0; i < n; i++) {
		endless[i] = SIZE_MAX;
		uploads[i].may_take = 100000;
		put(&p, &endless[i]);
	}
	run(&p, 500000, 1000);
	for (unsigned i = 0; i < n; i++)
		ck_assert_uint_ge(uploads[i].held, MIB / 2);
	uploads[n].may_take = SIZE_MAX;
	put(&p, &left);
	run(&p, 1000000, 1000);
	ck_assert(uploads[n].ended && uploads[n].got == 5 * MIB);
	/* They go on, too, and everything comes. */
	for (unsigned i = 0; i < n; i++) {
		uploads[i].may_take = SIZE_MAX;
		take(&uploads[i]);
		endless[i] = 100000;
	}
	run(&p, 1000000, 1000);
	for (unsigned i = 0; i < n; i++)
		ck_assert(uploads[i].ended);
	disconnect(&p);
}

/* One that had nearly all to itself stands still: others have a part all the same. */
TEST(others_beside_a_wide_one)
{
	size_t endless = SIZE_MAX, left[3] = { 5 * MIB, 5 * MIB, 5 * MIB };
	struct peer p;

	put_by(&p, 10000, 1000000, &endless);
	run(&p, 500000, 250);
	ck_assert_uint_eq(window(&p), LIMIT);
	ck_assert_int_ge(nghttp2_session_get_stream_effective_local_window_size(
				 ((struct h2 *)p.server)->session, 1),
		14 * MIB);
	uploads[0].may_take = 0;
	run(&p, 100000, 1000);
	ck_assert_uint_ge(uploads[0].held, 12 * MIB);
	for (unsigned i = 0; i < 3; i++) {
		uploads[1 + i].may_take = SIZE_MAX;
		put(&p, &left[i]);
	}
	run(&p, 2000000, 1000);
	for (unsigned i = 1; i <= 3; i++)
		ck_assert(uploads[i].ended && uploads[i].got == 5 * MIB);
	disconnect(&p);
}

/* A handler that goes without having taken what it got owes its connection nothing. */
TEST(gone_with_bytes)
{
	size_t left;
	struct peer p;

	connect_by(&p, 500, 125000);
	for (int i = 0; i < 30; i++) {
		left = 60000;
		put(&p, &left);
		run(&p, 20000, 500);
		ck_assert(uploads[i].ended);
	}
	disconnect(&p);
}

/* Short bodies beside a long one that nobody takes: the first window is enough. */
TEST(short_bodies)
{
	size_t endless = SIZE_MAX, left;
	struct peer p;

	connect_by(&p, 50000, 125000);
	put(&p, &endless);
	endless = 20000;
	run(&p, 300000, 1000);
	for (unsigned i = 1; i < 5; i++) {
		left = 20000;
		uploads[i].may_take = SIZE_MAX;
		put(&p, &left);
		run(&p, 150000, 1000);
		ck_assert(uploads[i].ended);
	}
	ck_assert_uint_eq(window(&p), NGHTTP2_INITIAL_WINDOW_SIZE);
	disconnect(&p);
}

/* What is promised to all connections together has a bound, and comes back. */
TEST(all_of_a_worker)
{
	enum { FIRST = 30, PEERS = 40 };
	static struct peer p[PEERS];
	static size_t left[PEERS];
	uint64_t sum = 0;

	for (unsigned i = 0; i < PEERS; i++) {
		connect_by(&p[i], 50000, 25000);
		left[i] = SIZE_MAX;
		uploads[i].may_take = SIZE_MAX;
		put(&p[i], &left[i]);
		if (i == FIRST - 1)
			run_all(p, FIRST, 700000, 1000);
	}
	ck_assert_uint_eq(promised(), 64 * MIB);
	run_all(p, PEERS, 150000, 1000);
	for (unsigned i = 0; i < PEERS; i++) {
		sum += window(&p[i]) - AHEAD_FREE;
		/* The last have their first share all the same. */
		ck_assert_uint_ge(window(&p[i]), MIB);
	}
	ck_assert_uint_eq(promised(), sum);
	ck_assert_uint_le(sum, 128 * MIB);
	for (unsigned i = 0; i < PEERS; i++)
		disconnect(&p[i]);
}

/* What clients of a crowd say of their bodies, and what they do behind 100 KB of them. */
static const struct past {
	size_t said, sent;
	bool resets;
} pasts[] = {
	{ 100000, 100000, false }, { SIZE_MAX, 100000, false }, { 100 * MIB, SIZE_MAX, true },
	{ 100 * MIB, SIZE_MAX, false }, /* and are silent in the middle of it */
};

static void upload_once(struct peer *p, const struct past *past)
{
	static size_t left;
	int32_t id;

	left = past->sent;
	uploads[nuploads].may_take = SIZE_MAX;
	connect_by(p, 500, 10000);
	id = put_as(p, &left, past->said);
	run(p, 15000, 1000);
	ck_assert_uint_ge(uploads[nuploads - 1].got, 100000);
	if (past->resets)
		nghttp2_submit_rst_stream(p->client, 0, id, NGHTTP2_CANCEL);
	run(p, 5000, 1000);
}

/* Clients that have uploaded something and stay keep nobody's windows narrow. */
TEST_EACH(beside_a_crowd, 4)
{
	static struct peer crowd[CROWD];
	size_t left = SIZE_MAX;
	struct peer p;

	for (unsigned i = 0; i < CROWD; i++)
		upload_once(&crowd[i], &pasts[_i]);
	uploads[nuploads].may_take = SIZE_MAX;
	connect_by(&p, 50000, 125000);
	put(&p, &left);
	run(&p, 8 * 100000, 1000);
	ck_assert_uint_ge(window(&p), 12500000);
	disconnect(&p);
	for (unsigned i = 0; i < CROWD; i++)
		disconnect(&crowd[i]);
}

static void give_all(struct ahead_part *part)
{
	ahead_give(&ahead, part, part->turn.held);
}

/* Whose window was withdrawn may go on as it was told; nothing more is read than there is room for,
 * until there is. */
TEST(withdrawn)
{
	size_t left = SIZE_MAX;
	struct ahead_part other;
	struct peer p;

	ahead_part_init(&other, NULL, give_all);
	put_by(&p, 500, 20000, &left);
	run(&p, 20000, 1000);
	ck_assert_uint_eq(window(&p), MIB);
	now_us += 2000000;
	clock_set(now_us, (struct timespec){ 0 });
	ck_assert_uint_gt(
		ahead_take(&ahead, &other, ahead.line.budget.max, ahead.line.budget.max, false), 0);
	ck_assert_uint_eq(promised(), ahead.line.budget.max);
	uploads[0].may_take = 0;
	run(&p, 100000, 1000);
	ck_assert_uint_ge(uploads[0].held, AHEAD_FREE);
	ck_assert_uint_le(uploads[0].held, AHEAD_FREE + 16384);
	ck_assert_ptr_nonnull(p.up.first);
	/* Nothing of that is the client's fault. */
	for (unsigned s = 0; s < 100; s++)
		ck_assert_ptr_null(p.server->ops->look(p.server, now_us / 1000 + 1000 * s, NULL));
	ck_assert(!uploads[0].ended);
	/* What somebody takes lets the next come, by what everybody has. */
	for (unsigned i = 0; i < 20; i++) {
		ahead_came(&ahead, &other, ahead.line.budget.max);
		uploads[0].may_take = 60000;
		take(&uploads[0]);
		run(&p, 5000, 1000);
		ck_assert_uint_le(uploads[0].held, AHEAD_FREE + 16384);
	}
	ck_assert_uint_le(told(&p), AHEAD_FREE);
	/* And where there is room, its window is wide again. */
	give_all(&other);
	uploads[0].may_take = SIZE_MAX;
	take(&uploads[0]);
	run(&p, 20000, 1000);
	ck_assert_uint_eq(window(&p), MIB);
	ck_assert_uint_eq(promised(), MIB - AHEAD_FREE);
	left = 1000;
	run(&p, 100000, 1000);
	ck_assert(uploads[0].ended);
	disconnect(&p);
}

UNIT_FIXTURE(NULL, proto_unit_fini)
