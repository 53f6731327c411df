/*
 * crash: catches the signals of bugs, and the one by which the master ends a process that stands
 * still. The handler makes no call but raise(3), and what it reads may be broken: a second signal
 * ends the process at once, with the words that are written by then.
 */
#include "base/crash.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>

enum { TARGET_SHOWN = 256, ALT_STACK = 64 << 10 };

static char *out;
static size_t out_size;
static struct slice doing[2]; /* method, target */

/* --- in the signal handler -------------------------------------------------------------------- */

static size_t put(size_t at, const char *text, size_t n)
{
	for (size_t i = 0; i < n && at + 1 < out_size; i++)
		out[at++] = text[i];
	return at;
}

static size_t put_text(size_t at, const char *text)
{
	return put(at, text, strlen(text));
}

static size_t put_number(size_t at, uint64_t n, unsigned base)
{
	char digits[24];
	size_t i = sizeof(digits);

	do {
		digits[--i] = "0123456789abcdef"[n % base];
		n /= base;
	} while (n > 0);
	return put(at, digits + i, sizeof(digits) - i);
}

static void write_words(const siginfo_t *info)
{
	size_t at = put_text(0, "signal ");

	at = put_number(at, (uint64_t)info->si_signo, 10);
	if (info->si_code > 0) { /* the kernel's own: a fault, and no kill(2) */
		at = put_text(at, " at address 0x");
		at = put_number(at, (uintptr_t)info->si_addr, 16);
	}
	out[at] = '\0';
	if (doing[0].n == 0)
		return;
	at = put_text(at, ", in the request ");
	at = put(at, doing[0].p, doing[0].n);
	at = put_text(at, " ");
	at = put(at, doing[1].p, doing[1].n < TARGET_SHOWN ? doing[1].n : TARGET_SHOWN);
	out[at] = '\0';
}

static void on_crash(int signo, siginfo_t *info, void *context)
{
	(void)context;
	if (out[0] == '\0')
		write_words(info);
	/* The default action is back in place. */
	raise(signo);
}

/* --- before ----------------------------------------------------------------------------------- */

void crash_words_to(char *words, size_t size)
{
	static char stack[ALT_STACK];
	static const int signals[] = {
		SIGABRT,
#ifndef __SANITIZE_ADDRESS__ /* which says more about these */
		SIGBUS,
		SIGFPE,
		SIGILL,
		SIGSEGV,
		SIGSYS,
#endif
	};
	const stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction sa = { .sa_sigaction = on_crash,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND };

	out = words;
	out_size = size;
#ifndef __SANITIZE_ADDRESS__
	sigaltstack(&alt, NULL);
#else
	(void)alt;
#endif
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &sa, NULL);
}

void crash_doing(struct slice method, struct slice target)
{
	doing[0] = method;
	doing[1] = target;
}

void crash_done(void)
{
	doing[0] = doing[1] = (struct slice){ 0 };
}
