/*
 * crash: the handler makes no call but raise(3), and the memory it reads may be corrupt: a second
 * signal ends the process at once, with the words written so far.
 */
#include "base/crash.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

enum { TARGET_SHOWN = 256 };

/* Signals that a thread causes itself; abort(3) of glibc 2.41 does not unblock its own. */
static const int faults[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS };

static char *out;
static size_t out_size;
static _Thread_local const struct crash_call *doing; /* the innermost call; NULL: none */

/* --- in the signal handler -------------------------------------------------------------------- */

/* Words being written; at stays below size, leaving room for the NUL. */
struct words {
	char *p;
	size_t at, size;
};

static void crash_put(struct words *w, struct slice s)
{
	for (size_t i = 0; i < s.n && w->at + 1 < w->size; i++)
		w->p[w->at++] = s.p[i];
	w->p[w->at] = '\0';
}

static void put_number(struct words *w, uint64_t n, unsigned base)
{
	char digits[24];
	size_t i = sizeof(digits);

	do {
		digits[--i] = "0123456789abcdef"[n % base];
		n /= base;
	} while (n > 0);
	crash_put(w, slice_of(digits + i, sizeof(digits) - i));
}

void crash_tell(char *words, size_t n, size_t size)
{
	struct words w = { words, n, size };

	if (doing == NULL)
		return;
	crash_put(&w, SLICE(", in handler "));
	crash_put(&w, slice_str(doing->handler));
	if (doing->method.n == 0)
		return;
	crash_put(&w, SLICE(", in the request "));
	crash_put(&w, doing->method);
	crash_put(&w, SLICE(" "));
	crash_put(&w, slice_of(doing->target.p,
			      doing->target.n < TARGET_SHOWN ? doing->target.n : TARGET_SHOWN));
}

static void write_words(const siginfo_t *info)
{
	struct words w = { out, 0, out_size };

	crash_put(&w, SLICE("signal "));
	put_number(&w, (uint64_t)info->si_signo, 10);
	if (info->si_code > 0) { /* sent by the kernel (a fault), not by kill(2) */
		crash_put(&w, SLICE(" at address 0x"));
		put_number(&w, (uintptr_t)info->si_addr, 16);
	}
	crash_tell(out, w.at, out_size);
}

static void on_crash(int signo, siginfo_t *info, void *context)
{
	(void)context;
	if (out[0] == '\0')
		write_words(info);
	/* The default action is restored. */
	raise(signo);
}

/* --- before ----------------------------------------------------------------------------------- */

/* AddressSanitizer reports more about faults, and has a stack for it in each thread. */
#ifdef __SANITIZE_ADDRESS__
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

void crash_stack(char stack[CRASH_STACK])
{
	const stack_t alt = { .ss_sp = stack, .ss_size = CRASH_STACK };

	if (!sanitized)
		sigaltstack(&alt, NULL);
}

int crash_thread(pthread_t *thread, size_t stack, void *(*run)(void *arg), void *arg)
{
	sigset_t blocked, before;
	pthread_attr_t attr;
	int rc = pthread_attr_init(&attr);

	if (rc != 0)
		return -rc;
	pthread_attr_setstacksize(&attr, stack);
	/* Frames can exceed a page. */
	pthread_attr_setguardsize(&attr, stack);
	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&blocked, faults[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	rc = pthread_create(thread, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -rc;
}

void crash_words_to(char *words, size_t size)
{
	static char stack[CRASH_STACK];
	struct sigaction sa = { .sa_sigaction = on_crash,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND };

	out = words;
	out_size = size;
	crash_stack(stack);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (!sanitized || faults[i] == SIGABRT)
			sigaction(faults[i], &sa, NULL);
}

void crash_begin(struct crash_call *call)
{
	call->outer = doing;
	doing = call;
}

void crash_end(void)
{
	doing = doing->outer;
}

const struct crash_call *crash_doing(void)
{
	return doing;
}
