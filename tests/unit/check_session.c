/*
 * check_session: sessions of a kind that has no socket and no protocol: their states, timeouts, who
 * leaves when there is no room, and what is told of them. The clock stands still but for after().
 */
#include "base/clock.h"
#include "base/counters.h"
#include "loop_unit.h"
#include "session/sessions.h"
#include "share/account.h"
#include "states_unit.h"

enum { MANY = 80 };

/* What the test has the kind say, and what the kind was told. */
struct fake {
	struct session session; /* the first member */
	struct session_need need;
	size_t unread;
	bool killed, heard, answers;
	bool refuses;           /* the lender, for what is made */
	const struct err *held; /* for tick() */
	unsigned drained, patient, asked;
};

static struct sessions all;
static struct http_timeouts timeouts;
static struct fake fakes[MANY];
static unsigned nfreed, nroom;
static uint64_t now_ms;

static struct fake *fake_of(struct session *s)
{
	return (struct fake *)s;
}

static void fake_kill(struct session *s)
{
	ck_assert(!fake_of(s)->killed);
	fake_of(s)->killed = true;
}

static void fake_drain(struct session *s, bool patient)
{
	fake_of(s)->drained++;
	fake_of(s)->patient += patient;
}

static bool fake_ask(struct session *s, struct lender *lender)
{
	fake_of(s)->asked++;
	return !fake_of(s)->refuses;
}

static struct session_need fake_waits(const struct session *s)
{
	return ((const struct fake *)s)->need;
}

static bool fake_timed_out(struct session *s)
{
	return fake_of(s)->answers;
}

static const struct err *fake_tick(struct session *s, uint64_t now)
{
	ck_assert_uint_eq(now, now_ms);
	return fake_of(s)->held;
}

static void fake_look(const struct session *s, struct session_look *look)
{
	const struct fake *f = (const struct fake *)s;

	look->transport = "none";
	look->unread = f->unread;
	look->heard = f->heard;
}

static const struct session_ops fake_ops = {
	.kill = fake_kill,
	.drain = fake_drain,
	.ask = fake_ask,
	.waits = fake_waits,
	.timed_out = fake_timed_out,
	.tick = fake_tick,
	.look = fake_look,
};

/* The end of an event batch. */
static void reap(void)
{
	for (unsigned i = 0; i < MANY; i++) {
		if (!fakes[i].killed)
			continue;
		session_fini(&fakes[i].session);
		fakes[i].killed = false;
		nfreed++;
	}
}

static void after(uint64_t ms)
{
	now_ms += ms;
	clock_set(now_ms * 1000, (struct timespec){ .tv_sec = 1000 });
	wheel_advance(&loop.wheel, now_ms);
	reap();
}

static struct fake *make(unsigned i, bool admin)
{
	struct fake *f = &fakes[i];

	*f = (struct fake){ .session.ops = &fake_ops, .need.wait = PROTO_HEADER };
	session_init(
		&f->session, &all, &(struct http_conn){ .admin = admin, .timeouts = timeouts });
	session_timer_init(&f->session);
	return f;
}

/* One that speaks, and waits for that. */
static struct fake *speaks(unsigned i, enum proto_wait wait)
{
	struct fake *f = make(i, false);

	session_open(&f->session);
	f->session.protocol = "fake";
	f->session.drain_ms = 70;
	f->need = (struct session_need){ .wait = wait, .requests = 1 };
	session_timer_update(&f->session);
	return f;
}

static void room(struct sessions *of)
{
	ck_assert_ptr_eq(of, &all);
	nroom++;
}

UNIT_SETUP(setup)
{
	nfreed = nroom = 0;
	now_ms = 5000;
	clock_set(now_ms * 1000, (struct timespec){ .tv_sec = 1000 });
	wheel_init(&loop.wheel, now_ms);
	sessions_init(&all, &loop);
	all.accounts = accounts_new(64, &(struct account_keys){ 0 }, 64, NULL);
	timeouts = (struct http_timeouts){
		.handshake = 10, .header = 20, .body = 30, .send = 40, .keepalive = 50
	};
	all.gone = room;
}

UNIT_TEARDOWN(teardown)
{
	sessions_cut(&all);
	reap();
	sessions_fini(&all);
	accounts_free(&all.accounts);
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (counter_info[i].kind == COUNTER_GAUGE)
			ck_assert_msg(counters_get(counters, i) == 0, "%s", counter_info[i].name);
}

/* --- cases ------------------------------------------------------------------------------------ */

static unsigned go(unsigned from, unsigned to)
{
	struct session s = { .state = from };

	list_init(&s.idle);
	session_go(&s, to);
	return s.state;
}

TEST(steps)
{
	states_unit_walk(&session_states,
		"HANDSHAKE>OPEN HANDSHAKE>DEAD OPEN>DRAIN OPEN>LINGER OPEN>DEAD DRAIN>LINGER "
		"DRAIN>DEAD LINGER>DEAD",
		go);
}

/* The time that each need has, and the error that its end is. */
TEST_EACH(timeouts_of_needs, 3)
{
	static const struct {
		enum proto_wait wait;
		uint64_t ms;
	} t[] = { { PROTO_HEADER, 20 }, { PROTO_BODY, 30 }, { PROTO_SEND, 40 } };
	int64_t before = counters->timeouts;
	struct fake *f = speaks(0, t[_i].wait);

	after(t[_i].ms - 1);
	ck_assert_uint_eq(nfreed, 0);
	after(1);
	ck_assert_uint_eq(nfreed, 1);
	ck_assert_int_eq(counters->timeouts, before + 1);
	ck_assert_ptr_nonnull(f->session.http.error);
}

TEST(handshake_times_out)
{
	int64_t before = counters->handshake_failures;

	make(0, false);
	after(10);
	ck_assert_uint_eq(nfreed, 1);
	ck_assert_int_eq(counters->handshake_failures, before + 1);
}

TEST(an_answer_ends_it_later)
{
	speaks(0, PROTO_BODY)->answers = true;
	after(30);
	ck_assert_uint_eq(nfreed, 0);
}

/* Bytes at the least rate begin the time anew, slower ones do not, nor does a new request. */
TEST(progress_counts)
{
	struct fake *f;

	timeouts.send = 1000;
	f = speaks(0, PROTO_SEND);
	for (int i = 0; i < 5; i++) {
		after(900);
		f->need.passed += PROTO_LEAST_RATE;
		session_timer_update(&f->session);
	}
	f->need.passed += PROTO_LEAST_RATE - 1;
	f->need.requests++;
	after(900);
	session_timer_update(&f->session);
	ck_assert_uint_eq(nfreed, 0);
	after(100);
	ck_assert_uint_eq(nfreed, 1);
}

/* What the kernel has sent meanwhile counts when the time is over, though no event has told of it.
 */
TEST(progress_without_events)
{
	struct fake *f;

	timeouts.send = 1000;
	f = speaks(0, PROTO_SEND);
	for (int i = 0; i < 5; i++) {
		f->need.passed += PROTO_LEAST_RATE;
		after(1000);
		ck_assert_uint_eq(nfreed, 0);
	}
	f->need.passed += PROTO_LEAST_RATE - 1;
	after(1000);
	ck_assert_uint_eq(nfreed, 1);
}

TEST(busy_has_no_timeout)
{
	struct session_look look;
	struct fake *f = speaks(0, PROTO_BUSY);

	session_look(&f->session, &look);
	ck_assert_uint_eq(look.left_ms, UINT64_MAX);
	after(1000000);
	ck_assert_uint_eq(nfreed, 0);
}

/* The peer is told, and waited for as long as its protocol says; then it is told once more. */
TEST(idle_drains)
{
	struct fake *f = speaks(0, PROTO_IDLE);

	after(50);
	ck_assert_uint_eq(f->drained, 1);
	ck_assert_uint_eq(f->patient, 0);
	ck_assert_int_eq(f->session.state, SESSION_DRAIN);
	session_timer_update(&f->session);
	after(69);
	ck_assert_uint_eq(f->drained, 1);
	after(1);
	ck_assert_uint_eq(f->drained, 2);
}

/* A worker that leaves is patient with who speaks, and waits for handshakes. */
TEST(all_drain)
{
	struct fake *young = make(0, false), *old = speaks(1, PROTO_BUSY);

	sessions_drain(&all);
	ck_assert_uint_eq(young->drained, 0);
	ck_assert_uint_eq(old->drained, 1);
	ck_assert_uint_eq(old->patient, 1);
	session_open(&young->session);
	ck_assert_int_eq(young->session.state, SESSION_DRAIN);
	ck_assert_uint_eq(young->patient, 1);
}

TEST(all_are_counted)
{
	int64_t drained = counters->connections_drained, cut = counters->connections_cut;
	struct fake *f = speaks(0, PROTO_BUSY);

	speaks(1, PROTO_BUSY);
	make(2, true);
	ck_assert_uint_eq(all.nlive, 3);
	ck_assert_uint_eq(all.nadmin, 1);
	sessions_drain(&all);
	session_kill(&f->session);
	session_kill(&f->session);
	reap();
	ck_assert_uint_eq(nfreed, 1);
	sessions_cut(&all);
	reap();
	ck_assert_uint_eq(nfreed, 3);
	ck_assert_uint_eq(nroom, 3);
	ck_assert_int_eq(counters->connections_drained, drained + 1);
	ck_assert_int_eq(counters->connections_cut, cut + 1);
}

TEST(who_is_refused_ends)
{
	struct lender lender = { 0 };

	speaks(0, PROTO_SEND);
	speaks(1, PROTO_SEND)->refuses = true;
	sessions_ask(&all, &lender);
	reap();
	ck_assert_uint_eq(nfreed, 1);
	ck_assert_uint_eq(fakes[0].asked, 1);
	ck_assert_uint_eq(fakes[1].asked, 1);
}

TEST(ticks)
{
	struct fake *held = speaks(0, PROTO_BUSY), *young = make(1, false);

	speaks(2, PROTO_BUSY);
	held->held = young->held = ERR_TIMEOUT_SEND;
	sessions_tick(&all);
	reap();
	ck_assert_uint_eq(nfreed, 1);
	ck_assert_ptr_eq(held->session.http.error, ERR_TIMEOUT_SEND);
}

/* Who is silent for a second leaves first, unless what it said was not read; no admin ever. */
TEST(silent_leave_first)
{
	timeouts.handshake = 60000;
	timeouts.keepalive = 60000;
	make(0, true);
	make(1, false)->unread = 1;
	make(2, false);
	speaks(3, PROTO_IDLE);
	sessions_evict(&all);
	ck_assert_uint_eq(fakes[3].drained, 1);
	ck_assert(!sessions_may_evict(&all));
	after(1000);
	ck_assert(sessions_may_evict(&all));
	sessions_evict(&all);
	reap();
	ck_assert_uint_eq(nfreed, 1);
	ck_assert_int_eq(fakes[2].session.state, SESSION_DEAD);
	ck_assert(!sessions_may_evict(&all));
}

/* Of those that were told to leave 64 are waited for, longer only those that are busy. */
TEST(leaving_are_few)
{
	for (unsigned i = 0; i < MANY; i++)
		speaks(i, PROTO_IDLE);
	for (unsigned i = 0; i < 64; i++)
		sessions_evict(&all);
	ck_assert_uint_eq(all.nleaving, 64);
	for (unsigned i = 1; i < 64; i++)
		fakes[i].need.wait = PROTO_BUSY;
	sessions_evict(&all);
	reap();
	ck_assert_int_eq(fakes[0].session.state, SESSION_DEAD);
	ck_assert_int_eq(fakes[64].session.state, SESSION_DRAIN);
	fakes[64].need.wait = PROTO_BUSY;
	ck_assert(!sessions_may_evict(&all));
}

TEST(idle_makes_room)
{
	struct fake *f = speaks(0, PROTO_BUSY);

	all.full = true;
	f->need.wait = PROTO_IDLE;
	session_timer_update(&f->session);
	ck_assert_uint_eq(nroom, 1);
	f->need.wait = PROTO_BUSY;
	session_timer_update(&f->session);
	ck_assert(!sessions_may_evict(&all));
}

TEST(looks)
{
	struct session_look look;
	struct fake *f = make(0, true);

	after(3);
	session_look(&f->session, &look);
	ck_assert_str_eq(look.state, "HANDSHAKE");
	ck_assert_str_eq(look.waits_for, "the handshake");
	ck_assert_str_eq(look.transport, "none");
	ck_assert_ptr_null(look.protocol);
	ck_assert_uint_eq(look.age_ms, 3);
	ck_assert_uint_eq(look.left_ms, 7);
	ck_assert(look.admin && !look.leaving);
	f = speaks(1, PROTO_BODY);
	session_look(&f->session, &look);
	ck_assert_str_eq(look.state, "OPEN");
	ck_assert_str_eq(look.waits_for, "the request body");
	ck_assert_str_eq(look.protocol, "fake");
	ck_assert_uint_eq(look.requests, 1);
	ck_assert_uint_eq(look.left_ms, 30);
}
