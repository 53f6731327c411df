/* check_lone: a process without a master ends when its loop stands still, and not while it turns.
 */
#include "ipc/lone.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "unit.h"

enum { LIMIT = 4 }; /* the alarm may make a look of its own on a slow machine */

TEST(who_turns_lives)
{
	ck_assert_int_eq(lone_watch(LIMIT), 0);
	for (int i = 0; i < 50; i++) {
		lone_turns();
		raise(SIGALRM);
		raise(SIGALRM);
	}
	alarm(0);
}

TEST_SIGNAL(who_stands_still_ends, 1, SIGABRT)
{
	ck_assert_int_eq(lone_watch(LIMIT), 0);
	lone_turns();
	for (int i = 0; i <= LIMIT; i++)
		raise(SIGALRM);
}

TEST(the_kernel_tells)
{
	int signo = 0;

	ck_assert_int_eq(lone_watch(LIMIT), 0);
	ck_assert_int_eq(prctl(PR_GET_PDEATHSIG, &signo, 0, 0, 0), 0);
	ck_assert_int_eq(signo, SIGALRM);
}

TEST(zero_is_for_ever)
{
	int signo = 0;

	ck_assert_int_eq(lone_watch(0), 0);
	ck_assert_int_eq(prctl(PR_GET_PDEATHSIG, &signo, 0, 0, 0), 0);
	ck_assert_int_eq(signo, 0);
}

UNIT_MAIN("lone")
