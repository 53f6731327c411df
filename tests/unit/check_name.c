/*
 * check_name: look-ups of the names of peers: in threads, one at a time, again after a while; what
 * stays if one fails. getaddrinfo(3) is this program's own.
 */
#include "upstream/name.h"

#include <netdb.h>
#include <semaphore.h>

#include "base/clock.h"
#include "base/log.h"
#include "loop_unit.h"

enum { FOUND = NAME_ADDRS + 2, WEEK_S = 7 * 86400 };

static const struct site_peer app = { .name = SLICE_LIT("app.internal:8080") };
static struct offload *offload;
static struct name name;
static sem_t entered, leave; /* of a look-up */
static int error;            /* its result */
static unsigned asked, changes, warnings;

int getaddrinfo(
	const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **all)
{
	static struct sockaddr_in to[FOUND];
	static struct addrinfo found[FOUND];

	ck_assert_str_eq(host, "app.internal");
	ck_assert_str_eq(port, "8080");
	ck_assert_int_eq(hints->ai_socktype, SOCK_STREAM);
	__atomic_add_fetch(&asked, 1, __ATOMIC_SEQ_CST);
	sem_post(&entered);
	sem_wait(&leave);
	for (unsigned i = 0; i < FOUND; i++) {
		to[i] = (struct sockaddr_in){ .sin_family = AF_INET,
			.sin_port = htons((uint16_t)(8080 + i)) };
		found[i] = (struct addrinfo){ .ai_addr = (struct sockaddr *)&to[i],
			.ai_addrlen = sizeof(to[i]),
			.ai_next = i + 1 < FOUND ? &found[i + 1] : NULL };
	}
	*all = found;
	return error;
}

void freeaddrinfo(struct addrinfo *all)
{
	ck_assert_ptr_nonnull(all);
}

static void on_change(struct name *n)
{
	ck_assert_ptr_eq(n, &name);
	changes++;
}

static void on_line(enum log_level level, const char *message)
{
	ck_assert_int_eq(level, LEVEL_WARN);
	ck_assert_ptr_nonnull(strstr(message, "upstream app.internal:8080: "));
	warnings++;
}

UNIT_SETUP(setup)
{
	offload = offload_new(&loop, 2);
	ck_assert_ptr_nonnull(offload);
	sem_init(&entered, 0, 0);
	sem_init(&leave, 0, 0);
	log_tell(on_line);
	name_init(&name, offload, &app, on_change);
}

UNIT_TEARDOWN(teardown)
{
	offload_free(&offload);
	log_tell(NULL);
}

static void finish(void)
{
	sem_post(&leave);
	while (offload_pending(offload) > 0)
		ck_assert_int_eq(loop_turn(&loop, -1), 0);
}

/* A look-up, that ends with rc. */
static void look_up(int rc)
{
	unsigned before = asked;

	error = rc;
	name_want(&name);
	finish();
	ck_assert_uint_eq(asked, before + 1);
}

/* Of all waits: a turn of the loop reads the clock. */
static void wait_s(uint64_t s)
{
	static uint64_t waited_s;

	waited_s += s;
	clock_update();
	clock_set(clock_us() + waited_s * 1000 * 1000, clock_wall());
}

TEST(found)
{
	look_up(0);
	ck_assert_uint_eq(changes, 1);
	ck_assert_uint_eq(name.n, NAME_ADDRS);
	for (unsigned i = 0; i < name.n; i++) {
		ck_assert_uint_eq(addr_port(&name.addrs[i]), 8080 + i);
		ck_assert_uint_eq(name.addrs[i].len, sizeof(struct sockaddr_in));
	}
	ck_assert_uint_eq(warnings, 0);
}

TEST(one_at_a_time)
{
	name_want(&name);
	sem_wait(&entered);
	wait_s(WEEK_S);
	name_want(&name);
	finish();
	ck_assert_uint_eq(asked, 1);
}

TEST(again_after_a_while)
{
	look_up(0);
	wait_s(29);
	name_want(&name);
	ck_assert_uint_eq(offload_pending(offload), 0);
	wait_s(2);
	look_up(0);
	ck_assert_uint_eq(changes, 2);
}

/* The last addresses stay, and each change of state is one line. */
TEST(failed)
{
	look_up(0);
	for (unsigned i = 0; i < 2; i++) {
		wait_s(31);
		look_up(EAI_AGAIN);
	}
	ck_assert_uint_eq(changes, 3);
	ck_assert_uint_eq(name.n, NAME_ADDRS);
	ck_assert_uint_eq(warnings, 1);
	wait_s(31);
	look_up(0);
	wait_s(31);
	look_up(EAI_NONAME);
	ck_assert_uint_eq(warnings, 2);
}

/* Without any address, requests fail: it is looked up again soon. */
TEST(never_found)
{
	look_up(EAI_AGAIN);
	ck_assert_uint_eq(name.n, 0);
	name_want(&name);
	ck_assert_uint_eq(offload_pending(offload), 0);
	wait_s(2);
	look_up(0);
	ck_assert_uint_eq(name.n, NAME_ADDRS);
}

/* An address is its own, and never looked up. */
TEST(address)
{
	struct site_peer numeric = { .name = SLICE_LIT("127.0.0.1:80") };
	struct name one;

	ck_assert_ptr_null(addr_parse("127.0.0.1:80", &numeric.addr));
	name_init(&one, offload, &numeric, on_change);
	wait_s(WEEK_S);
	name_want(&one);
	ck_assert_uint_eq(offload_pending(offload), 0);
	ck_assert_uint_eq(one.n, 1);
	ck_assert_uint_eq(addr_port(&one.addrs[0]), 80);
}
