/*
 * check_handshakes: which of a worker's handshakes are closed, with connections that are no more
 * than a socket, an account, and a time.
 */

#include "base/clock.h"
#include "base/log.h"
#include "conn/stream_conn.h"
#include "unit.h"

enum { CONNS = 200, PLACES = 40 };

static struct loop loop;
static struct sessions all = { .loop = &loop };
static struct stream_env env;
static struct accounts *accounts;
static struct account *clients[2];
static struct transport silent, talks;
static struct stream_conn conns[CONNS];
static uint64_t now;

static void kill_conn(struct session *s)
{
	handshakes_end(LIST_ENTRY(s, struct stream_conn, session));
}
static const struct session_ops ops = { .kill = kill_conn };

UNIT_SETUP(setup)
{
	int pair[2];

	log_max = LEVEL_ERROR;
	handshakes_init(&env.handshakes, PLACES);
	accounts = accounts_new(10, &(struct account_keys){ 0 }, 64, NULL);
	for (int i = 0; i < 2; i++) {
		struct addr addr;

		ck_assert_ptr_null(addr_parse(i == 0 ? "192.0.2.1:1" : "192.0.2.2:1", &addr));
		clients[i] = account_open(accounts, &addr);
	}
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	silent.fd = pair[0];
	talks.fd = pair[1];
	ck_assert_int_eq(write(silent.fd, "x", 1), 1);
	now = 1000;
	clock_set(now * 1000, (struct timespec){ 0 });
}

static void wait_ms(uint64_t ms)
{
	now += ms;
	clock_set(now * 1000, (struct timespec){ 0 });
}

static struct stream_conn *begin(int i, int client)
{
	struct stream_conn *c = &conns[i];

	c->env = &env;
	c->transport = &silent;
	c->session = (struct session){ .ops = &ops,
		.all = &all,
		.state = SESSION_HANDSHAKE,
		.opened_ms = now,
		.http = { .tls = HTTP_TLS_OURS, .account = clients[client] } };
	timer_init(&c->session.timer, NULL);
	list_init(&c->session.idle);
	list_init(&c->shaking);
	handshakes_go(c);
	return c;
}

/* How many of the first n were not closed. */
static int living(int n)
{
	int living = 0;

	for (int i = 0; i < n; i++)
		living += conns[i].session.state != SESSION_DEAD;
	return living;
}

/* However many they are, of one address. */
TEST(a_burst)
{
	for (int i = 0; i < CONNS - 1; i++)
		begin(i, 0);
	wait_ms(999);
	begin(CONNS - 1, 0);
	ck_assert_int_eq(living(CONNS), CONNS);
	ck_assert_uint_eq(env.handshakes.budget.held, 0);
}

TEST(half_of_what_is_left)
{
	for (int i = 0; i < 30; i++)
		begin(i, 0);
	wait_ms(1000);
	begin(30, 1);
	ck_assert_int_eq(living(30), PLACES / 2);
	ck_assert_int_eq(conns[0].session.state, SESSION_HANDSHAKE);
	ck_assert_int_eq(conns[29].session.state, SESSION_DEAD);
	ck_assert_int_ne(conns[30].session.state, SESSION_DEAD);
	/* The places of those that are over are free, and may be taken. */
	for (int i = 0; i < 20; i++)
		handshakes_end(&conns[i]);
	ck_assert_uint_eq(env.handshakes.budget.held, 0);
}

/* Where all places are taken the oldest is closed, for a client that has fewer. */
TEST(the_oldest)
{
	env.handshakes.budget.max = 16;
	for (int i = 0; i < 16; i++)
		begin(i, 0);
	begin(16, 1);
	wait_ms(1000);
	begin(17, 1);
	ck_assert_int_eq(conns[0].session.state, SESSION_DEAD);
	ck_assert_int_eq(living(17), 16);
	ck_assert_uint_eq(env.handshakes.budget.held, 16);
}

/* What has bytes in its socket waits for h2d, and so do those behind it. */
TEST(h2d_is_late)
{
	env.handshakes.budget.max = 16;
	for (int i = 0; i < 40; i++)
		begin(i, 0)->transport = &talks;
	wait_ms(5000);
	begin(40, 0);
	ck_assert_int_eq(living(41), 41);
	ck_assert_uint_eq(env.handshakes.budget.held, 0);
}

TEST(no_handshakes)
{
	struct stream_conn *c;

	for (int i = 0; i < 40; i++) {
		c = begin(i, 0);
		handshakes_end(c);
		handshakes_end(c);
		c->session.http.admin = true;
		handshakes_go(c);
		ck_assert(!list_linked(&c->shaking));
	}
	wait_ms(2000);
	begin(40, 0);
	ck_assert_int_eq(living(41), 41);
}
