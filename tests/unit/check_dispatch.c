/* check_dispatch: what is queued without an event that tells of it, a shortage, and connections of
 * an inbox. */
#include "server/dispatch.h"

#include <netinet/in.h>
#include <sys/resource.h>

#include "ipc/ctl.h"
#include "ipc/fdpass.h"
#include "loop_unit.h"
#include "server/worker.h"

static struct conf_listen conf;
static struct worker_listener listeners[2];
static struct dispatch_host host;
static unsigned taken;

static void take(struct dispatch_host *h, int fd, const struct addr *peer,
	const struct worker_listener *from)
{
	ck_assert(from == &listeners[0] || from == &listeners[1]);
	close(fd);
	taken++;
}

static int new_client(const struct worker_listener *listener)
{
	struct sockaddr_in at;
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(getsockname(listener->fd, (struct sockaddr *)&at, &n), 0);
	ck_assert_int_eq(connect(fd, (const struct sockaddr *)&at, n), 0);
	return fd;
}

UNIT_SETUP(setup)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	taken = 0;
	for (uint32_t i = 0; i < 2; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

		listeners[i] = (struct worker_listener){ .conf = &conf, .id = i + 1, .fd = fd };
		ck_assert_int_eq(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
		ck_assert_int_eq(listen(fd, 8), 0);
	}
	host = (struct dispatch_host){ .loop = &loop,
		.first = &conf,
		.listeners = listeners,
		.nlisteners = 2,
		.inbox = -1,
		.take = take };
}

/* Some kernels tell nobody of a connection that was queued on another socket, which was closed. */
TEST(test_look_finds_what_no_event_told_of)
{
	struct dispatch *d = dispatch_start(&host);
	struct epoll_event event;
	int client = new_client(&listeners[0]);

	ck_assert_int_eq(epoll_wait(loop.epfd, &event, 1, -1), 1);
	loop_turn(&loop, 0);
	ck_assert_uint_eq(taken, 0);
	dispatch_look(d);
	loop_turn(&loop, 0);
	ck_assert_uint_eq(taken, 1);
	close(client);
	dispatch_stop(&d);
}

/* The kernel may wake another process for the other shared sockets, too. */
TEST(test_shortage_leaves_shared_sockets_to_others)
{
	struct rlimit limit, none;
	struct dispatch *d;
	struct epoll_event event;
	int clients[2];

	listeners[0].shared = listeners[1].shared = true;
	d = dispatch_start(&host);
	clients[0] = new_client(&listeners[0]);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ 0, limit.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	loop_turn(&loop, -1);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	clients[1] = new_client(&listeners[1]);
	ck_assert_int_eq(epoll_wait(loop.epfd, &event, 1, 0), 0);
	while (taken < 2)
		loop_turn(&loop, -1);
	close(clients[0]);
	close(clients[1]);
	dispatch_stop(&d);
}

/* --- an inbox --------------------------------------------------------------------------------- */

static unsigned ends;

static unsigned room(struct dispatch_host *h)
{
	return 2;
}

static void drained(struct dispatch_host *h)
{
	ends++;
}

static void expect(int inbox, unsigned more, unsigned all)
{
	struct fdpass conns[FDPASS_MAX];

	for (unsigned i = 0; i < more; i++)
		conns[i] = (struct fdpass){ .fd = inbox, .listener = 1, .peer = { .len = 2 } };
	if (more > 0)
		ck_assert_int_eq(fdpass_send(inbox, conns, more), more);
	loop_turn(&loop, 0);
	loop_turn(&loop, 0);
	ck_assert_uint_eq(taken, all);
	ck_assert_uint_eq(host.taken, all);
}

/* A full worker leaves connections there; all of them come before the end of its senders is heard.
 * A patient host has its pause while it drains, too. */
TEST_EACH(an_inbox, 2)
{
	struct dispatch *d;
	int pair[2];

	ck_assert_int_eq(scm_pair(pair), 0);
	host.inbox = pair[0];
	host.patient = _i == 1;
	host.room = room;
	host.drained = drained;
	d = dispatch_start(&host);
	expect(pair[1], 5, 5);
	dispatch_pause(d, true);
	expect(pair[1], 3, 5);
	dispatch_pause(d, false);
	expect(pair[1], 0, 8);
	dispatch_pause(d, true);
	expect(pair[1], 3, 8);
	dispatch_drain(d, 0);
	expect(pair[1], 0, _i == 0 ? 11 : 8);
	dispatch_pause(d, false);
	expect(pair[1], 0, 11);
	ck_assert(dispatch_busy(d));
	ck_assert_uint_eq(ends, 0);
	close(pair[1]);
	loop_turn(&loop, 0);
	ck_assert_uint_eq(ends, 1);
	ck_assert(!dispatch_busy(d));
	dispatch_stop(&d);
}
