/*
 * check_reuseport: which socket of a group a connection is queued on under each program, and that
 * what is queued on a socket that is closed goes on to another. Without the right to load eBPF the
 * refusal is checked instead.
 */
#include "net/reuseport.h"

#include <sched.h>

#include "net/listener.h"
#include "unit.h"

enum { SLOTS = 4, QUEUED = 200 };

static struct listener l;

UNIT_SETUP(setup)
{
	struct addr addr;
	char err[256];

	ck_assert_ptr_null(addr_parse("127.0.0.1:0", &addr));
	ck_assert_msg(listener_open(&l, &addr, SLOTS, 0, err, sizeof(err)) == 0, "%s", err);
	ck_assert_msg(listener_listen(&l, err, sizeof(err)) == 0, "%s", err);
}

UNIT_TEARDOWN(teardown)
{
	listener_close(&l);
}

static int dial(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(connect(fd, &l.addr.sa, l.addr.len), 0);
	return fd;
}

/* Accepts all that is queued; what came is closed. */
static unsigned empty(unsigned slot)
{
	unsigned n = 0;
	int fd;

	for (; (fd = accept(l.fds[slot], NULL, NULL)) >= 0; n++)
		close(fd);
	ck_assert_int_eq(errno, EAGAIN);
	return n;
}

/* n connections; how many each slot had. */
static void spread(unsigned n, unsigned got[SLOTS])
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		close(dial());
	for (unsigned slot = 0; slot < SLOTS; slot++)
		sum += got[slot] = empty(slot);
	ck_assert_uint_eq(sum, n);
}

/* The CPUs this test may run on. */
static unsigned allowed(uint16_t cpus[REUSEPORT_CPUS])
{
	unsigned n = 0;
	cpu_set_t set;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE && n < REUSEPORT_CPUS; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[n++] = (uint16_t)cpu;
	return n;
}

static void run_on(unsigned cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
}

/* Of the CPU that sent, as the loopback device takes a packet in where it was sent. */
TEST(the_cpu_chooses)
{
	uint16_t cpus[REUSEPORT_CPUS];
	unsigned n = allowed(cpus), got[SLOTS];

	ck_assert_int_eq(reuseport_cpu(l.fds[1], cpus, n, SLOTS), 0);
	for (unsigned i = 0; i < n; i++) {
		run_on(cpus[i]);
		spread(100, got);
		for (unsigned slot = 0; slot < SLOTS; slot++)
			ck_assert_msg((got[slot] > 0) == (slot % n == i % SLOTS),
				"CPU %u: slot %u has %u", cpus[i], slot, got[slot]);
	}
}

/* Three tables on whatever machine: of one CPU, of another's, and a long one. */
TEST(tables_of_all_sizes)
{
	uint16_t own[REUSEPORT_CPUS], cpus[REUSEPORT_CPUS];
	unsigned got[SLOTS];

	allowed(own);
	run_on(own[0]);
	ck_assert_int_eq(reuseport_cpu(l.fds[0], own, 1, 3), 0);
	spread(200, got);
	ck_assert(got[0] > 0 && got[1] > 0 && got[2] > 0 && got[3] == 0);

	cpus[0] = (uint16_t)(own[0] + 1);
	cpus[1] = own[0];
	ck_assert_int_eq(reuseport_cpu(l.fds[0], cpus, 2, 3), 0);
	spread(50, got);
	ck_assert_uint_eq(got[1], 50);

	for (unsigned i = 0; i < REUSEPORT_CPUS; i++)
		cpus[i] = (uint16_t)(own[0] + REUSEPORT_CPUS - 1 - i);
	ck_assert_int_eq(reuseport_cpu(l.fds[0], cpus, REUSEPORT_CPUS, 3), 0);
	spread(50, got);
	ck_assert_uint_eq(got[(REUSEPORT_CPUS - 1) % 3], 50);

	/* A CPU that is not among them. */
	cpus[0] = (uint16_t)(own[0] + 1);
	ck_assert_int_eq(reuseport_cpu(l.fds[0], cpus, 1, 2), 0);
	spread(100, got);
	ck_assert(got[0] > 0 && got[1] > 0 && got[2] + got[3] == 0);
}

TEST(the_first_alone)
{
	unsigned got[SLOTS];

	ck_assert_int_eq(reuseport_first(l.fds[3], 2), 0);
	spread(100, got);
	ck_assert(got[0] > 0 && got[1] > 0 && got[2] + got[3] == 0);
	ck_assert_int_eq(reuseport_hash(l.fds[3]), 0);
	spread(200, got);
	ck_assert(got[0] > 0 && got[1] > 0 && got[2] > 0 && got[3] > 0);
	ck_assert_int_eq(reuseport_hash(l.fds[0]), 0);
}

/* What waits on the last two slots when they are closed is answered by the others. */
static void queue_and_close(int clients[QUEUED])
{
	char err[256];

	for (int i = 0; i < QUEUED; i++)
		clients[i] = dial();
	ck_assert_int_eq(listener_resize(&l, 2, err, sizeof(err)), 0);
}

static unsigned count_resets(const int clients[QUEUED])
{
	unsigned n = 0;

	for (int i = 0; i < QUEUED; i++) {
		struct pollfd p = { .fd = clients[i] };

		ck_assert_int_ge(poll(&p, 1, 0), 0);
		n += (p.revents & (POLLHUP | POLLERR)) != 0;
	}
	return n;
}

TEST(what_is_queued_migrates)
{
	int rc = reuseport_migrate(l.fds[0]);
	int clients[QUEUED];

	if (rc < 0) {
		printf("no right to load eBPF (%s): only its refusal is checked\n", strerror(-rc));
		ck_assert_int_eq(rc, -EPERM);
		return;
	}
	queue_and_close(clients);
	ck_assert_uint_eq(count_resets(clients), 0);
	ck_assert_uint_eq(empty(0) + empty(1), QUEUED);
}

/* The reason for all this; where the kernel migrates by itself it is none. */
TEST(without_a_program_it_is_reset)
{
	int clients[QUEUED], fd = open("/proc/sys/net/ipv4/tcp_migrate_req", O_RDONLY);
	char on = '0';

	if (fd >= 0)
		ck_assert_int_eq(read(fd, &on, 1), 1);
	queue_and_close(clients);
	ck_assert((count_resets(clients) > 0) == (on == '0'));
}

TEST(not_a_group)
{
	uint16_t cpu = 0;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	ck_assert_int_lt(reuseport_cpu(fd, &cpu, 1, 1), 0);
	ck_assert_int_lt(reuseport_hash(-1), 0);
}
