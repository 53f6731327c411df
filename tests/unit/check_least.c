/*
 * check_least: the kernel takes the program, for the most slots too; which slot it chooses among
 * loads that are set here; that it counts what it sends, exactly when many CPUs do at once; and who
 * may write to what. Without the right to load eBPF only the refusal is checked.
 */
#include "net/least.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "listener_unit.h"
#include "net/reuseport.h"

static struct load load;
static int sockets, refused;

static void setup(void)
{
	listener_up();
	refused = load_open(&load);
	sockets = refused == 0 ? least_sockets_new() : -1;
	if (refused < 0)
		return;
	ck_assert_int_eq(least_attach(&load, sockets, l.fds, SLOTS), 0);
}

static void teardown(void)
{
	listener_close(&l);
	load_close(&load);
	if (sockets >= 0)
		close(sockets);
}

/* Without the right. */
static bool cannot(void)
{
	if (refused == 0)
		return false;
	printf("no right to load eBPF (%s): only its refusal is checked\n", strerror(-refused));
	ck_assert_int_eq(refused, -EPERM);
	ck_assert_int_eq(least_try(1), -EPERM);
	ck_assert_ptr_null(load.slots);
	return true;
}

static void set(unsigned slot, uint32_t assigned, uint32_t settled)
{
	load.slots[slot].assigned = assigned;
	load.slots[slot].settled = settled;
}

static uint32_t get(unsigned slot)
{
	return load.slots[slot].assigned - load.slots[slot].settled;
}

START_TEST(the_kernel_takes_it)
{
	if (!cannot())
		for (unsigned n = 1; n <= LOAD_SLOTS; n *= 2)
			ck_assert_int_eq(least_try(n), 0);
	ck_assert_int_eq(least_try(LOAD_SLOTS + 1), -E2BIG);
}
END_TEST

/* As a service manager leaves them: without CAP_PERFMON the kernel takes less. */
START_TEST(two_rights_are_enough)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (cannot())
		return;
	caps[CAP_TO_INDEX(CAP_BPF)].permitted |= CAP_TO_MASK(CAP_BPF);
	caps[CAP_TO_INDEX(CAP_NET_ADMIN)].permitted |= CAP_TO_MASK(CAP_NET_ADMIN);
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		caps[i].effective = caps[i].permitted;
	ck_assert_int_eq(syscall(SYS_capset, &head, caps), 0);
	for (unsigned n = 1; n <= LOAD_SLOTS; n *= 2)
		ck_assert_int_eq(least_try(n), 0);
}
END_TEST

START_TEST(the_lowest_load)
{
	if (cannot())
		return;
	set(0, 7, 2);
	set(1, 100, 96);
	set(2, 3, 0);
	set(3, 1, UINT32_MAX - 5); /* wraps: 7 */
	for (unsigned i = 0; i < 50; i++)
		close(dial());
	/* 5, 4, 3, 7, and 50 more: 69 on four. */
	ck_assert_uint_eq(get(0) + get(1) + get(2) + get(3), 69);
	for (unsigned i = 0; i < SLOTS; i++) {
		ck_assert_uint_ge(get(i), 17);
		ck_assert_uint_le(get(i), 18);
	}
	ck_assert_uint_eq(empty(0) + 5, get(0));
	ck_assert_uint_eq(empty(1) + 4, get(1));
	ck_assert_uint_eq(empty(2) + 3, get(2));
	ck_assert_uint_eq(empty(3) + 7, get(3));
}
END_TEST

/* Below zero: a worker had more than it was sent. */
START_TEST(less_than_none)
{
	if (cannot())
		return;
	set(2, 0, 3);
	for (unsigned i = 0; i < 3; i++)
		close(dial());
	ck_assert_uint_eq(empty(2), 3);
}
END_TEST

START_TEST(of_equals_any)
{
	unsigned got[SLOTS] = { 0 };

	if (cannot())
		return;
	for (unsigned i = 0; i < 200; i++) {
		close(dial());
		for (unsigned slot = 0; slot < SLOTS; slot++) {
			unsigned n = empty(slot);

			got[slot] += n;
			load.slots[slot].settled += n;
		}
	}
	for (unsigned slot = 0; slot < SLOTS; slot++)
		ck_assert_uint_gt(got[slot], 10);
}
END_TEST

START_TEST(what_is_shut)
{
	if (cannot())
		return;
	load.slots[0].shut = load.slots[3].shut = 1;
	for (unsigned i = 0; i < 40; i++)
		close(dial());
	ck_assert_uint_eq(empty(0) + empty(3), 0);
	ck_assert_uint_eq(empty(1), 20);
	ck_assert_uint_eq(empty(2), 20);

	/* None is: the kernel chooses, and nothing is counted. */
	load.slots[1].shut = load.slots[2].shut = 1;
	for (unsigned i = 0; i < 100; i++)
		close(dial());
	for (unsigned slot = 0; slot < SLOTS; slot++)
		ck_assert_uint_gt(empty(slot), 0);
	ck_assert_uint_eq(get(0) + get(1) + get(2) + get(3), 40);
}
END_TEST

static void *dial_many(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 250; i++)
		close(dial());
	return NULL;
}

/* Not one too many on any slot, however many CPUs there are. */
START_TEST(many_at_once)
{
	pthread_t threads[8];

	if (cannot())
		return;
	for (unsigned i = 0; i < 8; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, dial_many, NULL), 0);
	for (unsigned i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		ck_assert_uint_eq(get(slot), 500);
		ck_assert_uint_eq(empty(slot), 500);
	}
}
END_TEST

/* What a worker finds at a look, and what the load is then. */
static void look(struct load_slot *s, struct load_seen *v, uint32_t live, uint32_t came,
	uint32_t queued, uint32_t wanted)
{
	load_set(s, v, load_look(s, v, live, came, queued));
	ck_assert_uint_eq(s->assigned - s->settled, wanted);
}

START_TEST(reckoning)
{
	struct load_slot s = { .assigned = 1000 }; /* of others, before its time */
	struct load_seen v = { 0 };

	look(&s, &v, 0, 0, 0, 0);
	s.assigned += 5; /* three are accepted, one is queued, one is half open */
	look(&s, &v, 3, 3, 1, 5);
	look(&s, &v, 4, 4, 0, 5);
	look(&s, &v, 5, 5, 0, 5); /* it has come */
	s.assigned += 2;
	look(&s, &v, 5, 5, 0, 7);
	s.assigned += 1;
	look(&s, &v, 7, 7, 0, 8);  /* the two of before came, and a new one is half open */
	look(&s, &v, 1, 8, 0, 1);  /* it came as well, and seven are closed */
	look(&s, &v, 3, 10, 0, 3); /* two from a socket that the program does not know */
	look(&s, &v, 3, 10, 0, 3);
	load_gone(&s, 2);
	ck_assert_uint_eq(load_of(&s), 1);
	load_clear(&s);
	ck_assert_uint_eq(load_of(&s), 0);
}
END_TEST

/* What never comes counts for a second, and then no more. */
START_TEST(a_flood_is_forgotten)
{
	struct load_slot s = { .assigned = UINT32_MAX - 300, .settled = UINT32_MAX - 300 };
	struct load_seen v = { 0 };

	look(&s, &v, 2, 2, 1, 3);
	for (uint32_t i = 1; i <= 2 * LOAD_LOOKS; i++) {
		s.assigned += 100; /* wraps */
		look(&s, &v, 2, 2, 1, 3 + 100 * (i < LOAD_LOOKS ? i : LOAD_LOOKS));
	}
	for (uint32_t i = 1; i <= LOAD_LOOKS; i++)
		look(&s, &v, 2, 2, 1, 3 + 100 * (LOAD_LOOKS - i));
}
END_TEST

/* As a generation with more, and one with fewer workers does it. */
START_TEST(slots_come_and_go)
{
	char err[256];
	int clients[100];

	if (cannot())
		return;
	ck_assert_int_eq(listener_resize(&l, 6, err, sizeof(err)), 0);
	ck_assert_int_eq(listener_listen(&l, err, sizeof(err)), 0);
	ck_assert_int_eq(least_attach(&load, sockets, l.fds, 6), 0);
	for (unsigned i = 0; i < 60; i++)
		clients[i] = dial();
	for (unsigned slot = 0; slot < 6; slot++)
		ck_assert_uint_eq(get(slot), 10);

	/* What waits there goes on to those that stay. */
	ck_assert_int_eq(least_attach(&load, sockets, l.fds, 2), 0);
	ck_assert_int_eq(listener_resize(&l, 2, err, sizeof(err)), 0);
	ck_assert_uint_eq(get(0), 30);
	ck_assert_uint_eq(get(1), 30);
	ck_assert_uint_eq(empty(0), 30);
	ck_assert_uint_eq(empty(1), 30);
	for (unsigned i = 0; i < 60; i++)
		close(clients[i]);

	ck_assert_int_eq(listener_resize(&l, 3, err, sizeof(err)), 0);
	ck_assert_int_eq(listener_listen(&l, err, sizeof(err)), 0);
	set(2, 0, 0);
	ck_assert_int_eq(least_attach(&load, sockets, l.fds, 3), 0);
	for (unsigned i = 0; i < 30; i++)
		close(dial());
	ck_assert_uint_eq(empty(2), 30);

	ck_assert_int_eq(reuseport_hash(l.fds[0]), 0);
	close(dial());
	ck_assert_uint_eq(get(0) + get(1) + get(2), 90);
}
END_TEST

/* Those of a predecessor that still runs: nothing would be found in an empty map. */
START_TEST(sockets_of_another_map)
{
	int others;

	if (cannot())
		return;
	others = least_sockets_new();
	ck_assert_int_eq(least_attach(&load, others, l.fds, SLOTS), -EBUSY);
	ck_assert_int_eq(least_attach(&load, sockets, l.fds, SLOTS), 0);
	close(others);
}
END_TEST

/* A child has its own page, and no other. */
START_TEST(a_page_of_its_own)
{
	pid_t pid;
	int status;

	if (cannot())
		return;
	for (int other = 0; other < 2; other++) {
		pid = fork();
		if (pid == 0) {
			struct load_slot *all = load.slots, *own = load_keep(&load, 2);

			signal(SIGSEGV, SIG_DFL);
			own->settled = 77;
			if (other)
				all[1].settled = 1;
			_exit(0);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(other ? WIFSIGNALED(status) || WEXITSTATUS(status) != 0
				: WIFEXITED(status) && WEXITSTATUS(status) == 0);
		ck_assert_uint_eq(load.slots[2].settled, 77);
		ck_assert_uint_eq(load.slots[1].settled, 0);
	}
}
END_TEST

static TCase *tests(void)
{
	TCase *tc = tcase_create("least");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_kernel_takes_it);
	tcase_add_test(tc, two_rights_are_enough);
	tcase_add_test(tc, the_lowest_load);
	tcase_add_test(tc, less_than_none);
	tcase_add_test(tc, of_equals_any);
	tcase_add_test(tc, what_is_shut);
	tcase_add_test(tc, many_at_once);
	tcase_add_test(tc, reckoning);
	tcase_add_test(tc, a_flood_is_forgotten);
	tcase_add_test(tc, slots_come_and_go);
	tcase_add_test(tc, sockets_of_another_map);
	tcase_add_test(tc, a_page_of_its_own);
	return tc;
}

UNIT_MAIN("least")
