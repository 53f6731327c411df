/*
 * openat2: a preload for valgrind, which knows no openat2(2), without which h2d does not start. An
 * openat(2) does what counting takes; it confines nothing. Loaded by scripts/check-cost.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ARGS = 6 };

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long a[ARGS];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < ARGS; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_openat2) {
		const struct open_how *how = (const struct open_how *)a[2];

		return openat((int)a[0], (const char *)a[1], (int)how->flags, (mode_t)how->mode);
	}
	if (real == NULL)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
