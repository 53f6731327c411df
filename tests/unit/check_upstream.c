/*
 * check_upstream: requests that come before the first look-up of a name has ended. getaddrinfo(3)
 * is this program's own.
 */
#include "upstream/upstream.h"

#include <netdb.h>
#include <semaphore.h>
#include <sys/epoll.h>

#include "loop_unit.h"

static struct site_peer peers[] = { { .name = SLICE_LIT("app.internal:80"), .connections = 2 } };
static const unsigned numbers[] = { 0 };
static const struct site_proxy proxy = { .peers = numbers, .npeers = 1, .queue = 1 };
static const struct sites sites = { .peers = peers, .npeers = 1 };

static struct http_env env = { .loop = &loop, .sites = &sites };
static struct offload *offload;
static struct upstreams *all;
static struct link_turn turn;
static struct sockaddr_in app, deaf;
static struct addrinfo found[2];
static bool two;    /* addresses: the first is deaf */
static sem_t leave; /* of the look-up */
static int error;   /* its result */
static unsigned linked;
static int deaf_fd;

int getaddrinfo(
	const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **list)
{
	(void)host, (void)port, (void)hints;
	sem_wait(&leave);
	for (unsigned i = 0; i < 2; i++)
		found[i] = (struct addrinfo){ .ai_addr = (struct sockaddr *)(i == 0 ? &deaf : &app),
			.ai_addrlen = sizeof(app),
			.ai_next = i == 0 ? &found[1] : NULL };
	*list = &found[two ? 0 : 1];
	return error;
}

void freeaddrinfo(struct addrinfo *list)
{
	(void)list;
}

static void on_link(struct link_turn *t)
{
	ck_assert_ptr_eq(t, &turn);
	linked++;
}

static void on_other(struct link_turn *t)
{
	(void)t;
}

static void on_event(struct link_turn *t, uint32_t events)
{
	(void)t, (void)events;
}

static void on_count(struct http_env *e, unsigned peer, const struct err *err)
{
	ck_assert_ptr_eq(e, &env);
	(void)peer, (void)err;
}

static int bound(struct sockaddr_in *at)
{
	socklen_t n = sizeof(*at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	ck_assert_int_eq(bind(fd, (struct sockaddr *)at, n), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)at, &n), 0);
	return fd;
}

UNIT_SETUP(setup)
{
	ck_assert_int_eq(listen(bound(&app), 8), 0);
	deaf_fd = bound(&deaf);
	env.peer_counts = on_count;
	sem_init(&leave, 0, 0);
	offload = offload_new(&loop, 2);
	ck_assert_ptr_nonnull(offload);
	all = upstreams_new(&env, offload);
	ck_assert_ptr_nonnull(all);
	turn = (struct link_turn){
		.all = all, .proxy = &proxy, .linked = on_link, .event = on_event
	};
	list_init(&turn.node);
}

UNIT_TEARDOWN(teardown)
{
	link_leave(&turn, false);
	ck_assert_int_eq(loop_turn(&loop, 0), 0); /* frees the link */
	offload_free(&offload);
	upstreams_free(&all);
}

static void ask_early(int rc)
{
	error = rc;
	ck_assert(link_ask(&turn));
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_uint_eq(linked, 0);
	sem_post(&leave);
	while (linked == 0)
		ck_assert_int_eq(loop_turn(&loop, -1), 0);
	ck_assert_uint_eq(linked, 1);
}

/* It waits for the name, and gets a link. */
TEST(found_in_time)
{
	ask_early(0);
	ck_assert_ptr_nonnull(turn.link);
}

/* Nor does it wait longer than the look-up. */
TEST(not_found)
{
	ask_early(EAI_NONAME);
	ck_assert_ptr_null(turn.link);
}

static in_port_t port_of(const struct link_turn *t)
{
	struct sockaddr_in to;
	socklen_t n = sizeof(to);

	ck_assert_int_eq(getpeername(t->link->watch.fd, (struct sockaddr *)&to, &n), 0);
	return to.sin_port;
}

static void both_ask(struct link_turn *other)
{
	ck_assert(link_ask(&turn) && link_ask(other));
	while (turn.link == NULL || other->link == NULL)
		ck_assert_int_eq(loop_turn(&loop, -1), 0);
	ck_assert_int_eq(port_of(&turn), port_of(other));
}

/* Two requests fail at the same address, later than both were sent there: both ask the next one. */
TEST(second_address_for_two)
{
	struct link_turn other = turn;
	in_port_t first;

	two = true;
	ck_assert_int_eq(listen(deaf_fd, 8), 0); /* the failure comes later */
	turn.linked = other.linked = on_other;
	list_init(&other.node);
	sem_post(&leave);
	both_ask(&other);
	first = port_of(&turn);
	link_counts(&turn, ERR_UPSTREAM_CONNECT, true);
	link_leave(&turn, false);
	link_counts(&other, ERR_UPSTREAM_CONNECT, true);
	link_leave(&other, false);
	both_ask(&other);
	ck_assert_int_ne(port_of(&turn), first);
	link_leave(&other, false);
}

static int link_error(const struct link *l)
{
	int rc = 0;
	socklen_t n = sizeof(rc);

	ck_assert_int_eq(getsockopt(l->watch.fd, SOL_SOCKET, SO_ERROR, &rc, &n), 0);
	return rc;
}

/* "localhost" has one of IPv6 first, where many applications do not listen. */
TEST(second_address)
{
	two = true;
	ask_early(0);
	if (turn.link == NULL || link_error(turn.link) != 0) {
		ck_assert(link_may_ask(&turn));
		link_counts(&turn, ERR_UPSTREAM_CONNECT, true);
		link_leave(&turn, false);
		ck_assert(link_ask(&turn));
		ck_assert_int_eq(loop_turn(&loop, 0), 0);
	}
	ck_assert_uint_eq(linked, 2);
	ck_assert_ptr_nonnull(turn.link);
	ck_assert_int_eq(link_error(turn.link), 0);
	ck_assert(!link_may_ask(&turn));
}
