/*
 * check_seccomp: the filter of system calls where memory is out: the one that there always is, or
 * none. malloc(3) fails here for libraries, too, as the program's own comes first.
 */
#include "sandbox/seccomp.h"

#include <sys/prctl.h>

#include "unit.h"

enum {
	CALLS = SECCOMP_EVERY | SECCOMP_FILES | SECCOMP_WORKER | SECCOMP_SERVE,
	PLACES = 24,
};

static unsigned long made, bad; /* calls of malloc(3), and which fails, from 1; 0: none */

#ifndef __SANITIZE_ADDRESS__
#define SEEN __attribute__((visibility("default"))) /* by libraries */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static bool fails(void)
{
	if (++made != bad)
		return false;
	errno = ENOMEM;
	return true;
}

SEEN void *malloc(size_t n)
{
	return fails() ? NULL : __libc_malloc(n);
}

SEEN void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

SEEN void *realloc(void *p, size_t n)
{
	return fails() ? NULL : __libc_realloc(p, n);
}
#endif

static const struct seccomp filter = { .calls = CALLS };

enum outcome { SAME, REFUSED, OTHER, DIED, OUTCOMES };

/* The filter has the number of the process in it, so both are made in one. */
static int make(unsigned long fail_at)
{
	struct seccomp_program whole, p;

	if (seccomp_make(&filter, &whole) < 0)
		return OTHER;
	made = 0;
	bad = fail_at;
	if (seccomp_make(&filter, &p) < 0)
		return REFUSED;
	return p.size == whole.size && memcmp(p.insns, whole.insns, p.size) == 0 ? SAME : OTHER;
}

/* In a process of its own: without memory libseccomp 2.5 may crash, or be ended because it turns.
 */
static enum outcome make_apart(unsigned long fail_at)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		signal(SIGABRT, SIG_DFL);
		close(STDERR_FILENO);
		_exit(make(fail_at));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? (enum outcome)WEXITSTATUS(status) : DIED;
}

/* At places all over the making: no other filter comes of it. */
TEST_EACH(memory_is_out, seccomp_built() && seccomp_there())
{
	struct seccomp_program whole;
	unsigned n[OUTCOMES] = { 0 };
	unsigned long all;

	made = 0;
	ck_assert_int_eq(seccomp_make(&filter, &whole), 0);
	all = made;
	for (unsigned long i = 0; i < PLACES && all > 0; i++)
		n[make_apart(1 + (all - 1) * i / PLACES)]++;
	ck_assert_uint_eq(n[OTHER], 0);
	ck_assert_msg(all == 0 || n[REFUSED] >= PLACES / 3, "%u refused, %u the same, %u died",
		n[REFUSED], n[SAME], n[DIED]);
}

/* It holds from then on. */
TEST_EACH(entered, seccomp_built() && seccomp_there())
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || seccomp_enter(&filter) < 0)
			_exit(1);
		/* Of those that sanitizers do not need either. */
		if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM)
			_exit(2);
		_exit(chdir("/") == 0 || errno != ENOSYS ? 3 : 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
