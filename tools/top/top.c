/*
 * top: the program h2d-top, which `h2d top` starts: the status of running servers in a terminal. It
 * reads them over an admin listener like any client, once a second, and draws the result, until q
 * or a signal ends it. Without a first answer it fails; a server that is away later, say for a
 * restart, is asked again.
 */

#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/options.h"
#include "tools/top/top_machine.h"
#include "tools/top/top_screen.h"
#include "tools/top/top_table.h"
#include "tools/top/top_view.h"

enum { EVERY_MS = 1000 };

struct top {
	struct top_machine *machines;
	unsigned n;
	struct pollfd *polled; /* the signals, the keys, then each machine */
	int signals;
	bool over;
};

enum { POLL_SIGNALS, POLL_KEYS, POLL_MACHINES };

/* --- looking ---------------------------------------------------------------------------------- */

static void top_look(struct top *t)
{
	for (unsigned i = 0; i < t->n; i++)
		top_machine_look(&t->machines[i]);
}

/* Waits for an event, or until then, by clock_now_ms(); reports timeouts. */
static void wait_until(struct top *t, uint64_t until)
{
	uint64_t now = clock_now_ms();

	for (unsigned i = 0; i < t->n; i++) {
		struct top_machine *m = &t->machines[i];

		t->polled[POLL_MACHINES + i] = top_ask_poll(&m->ask);
		if (top_machine_is_looking(m) && m->ask.until_ms < until)
			until = m->ask.until_ms;
	}
	poll(t->polled, POLL_MACHINES + t->n, until > now ? (int)(until - now) : 0);
}

/* True: a look has ended. */
static bool top_go(struct top *t)
{
	bool ended = false;

	for (unsigned i = 0; i < t->n; i++)
		ended |= top_machine_go(&t->machines[i]);
	return ended;
}

static unsigned count_heard(const struct top *t)
{
	unsigned heard = 0;

	for (unsigned i = 0; i < t->n; i++)
		heard += t->machines[i].status != NULL && t->machines[i].error[0] == '\0';
	return heard;
}

static bool is_looking(const struct top *t)
{
	for (unsigned i = 0; i < t->n; i++)
		if (top_machine_is_looking(&t->machines[i]))
			return true;
	return false;
}

/* The first look: at all, or until one answers. False: none does. */
static bool look_first(struct top *t, bool all)
{
	top_look(t);
	while (is_looking(t) && (all || count_heard(t) == 0)) {
		wait_until(t, UINT64_MAX);
		top_go(t);
	}
	return count_heard(t) > 0;
}

static bool has_colours(void)
{
	const char *no = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && (no == NULL || *no == '\0');
}

static bool is_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static void view(struct top_page *p, const struct top *t)
{
	if (t->n == 1)
		top_view(p, t->machines[0].status);
	else
		top_table(p, t->machines, t->n);
}

static bool print_once(const struct top *t)
{
	struct top_page p = { .colours = has_colours(), .utf8 = is_utf8() };
	bool done;

	view(&p, t);
	done = !p.text.failed && top_screen_write(p.text.p, p.text.n);
	strbuf_fini(&p.text);
	return done;
}

static void draw(struct top *t)
{
	struct top_page p = { .screen = true, .colours = has_colours(), .utf8 = is_utf8() };

	top_screen_size(&p.columns, &p.rows);
	strbuf_add(&p.text, SLICE("\x1b[H"));
	if (t->n == 1 && t->machines[0].error[0] != '\0') {
		top_page_printf(&p, TOP_BAD, "%s; trying again", t->machines[0].error);
		top_page_end(&p);
	}
	view(&p, t);
	if (p.row < p.rows)
		strbuf_add(&p.text, SLICE("\x1b[J"));
	if (p.text.failed || !top_screen_write(p.text.p, p.text.n))
		t->over = true;
	strbuf_fini(&p.text);
}

/* --- signals and keys ------------------------------------------------------------------------- */

static int take_signals(void)
{
	static const int wanted[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		sigaddset(&set, wanted[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* Ctrl-Z: restores the shell's terminal. */
static void top_stop(struct top *t)
{
	top_screen_close();
	raise(SIGSTOP);
	if (top_screen_open() < 0)
		t->over = true;
}

static void on_signal(struct top *t)
{
	struct signalfd_siginfo info;

	if (read(t->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGTSTP)
		top_stop(t);
	else if (info.ssi_signo != SIGWINCH)
		t->over = true;
}

static void on_keys(struct top *t)
{
	char keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

	if (n <= 0 || memchr(keys, 'q', (size_t)n) != NULL || memchr(keys, 'Q', (size_t)n) != NULL)
		t->over = true;
}

/* Waits until the next look is due, or there is a reason to draw now. */
static void rest(struct top *t, uint64_t until)
{
	do {
		wait_until(t, until);
		if (t->polled[POLL_SIGNALS].revents != 0)
			break;
		if (t->polled[POLL_KEYS].revents != 0)
			break;
	} while (!top_go(t) && clock_now_ms() < until);
	if (t->polled[POLL_SIGNALS].revents != 0)
		on_signal(t);
	if (t->polled[POLL_KEYS].revents != 0)
		on_keys(t);
}

static int watch(struct top *t)
{
	uint64_t next = clock_now_ms() + EVERY_MS;

	t->signals = take_signals();
	if (t->signals < 0 || top_screen_open() < 0) {
		perror("h2d: top: the terminal");
		return EXIT_FAILURE;
	}
	t->polled[POLL_SIGNALS] = (struct pollfd){ .fd = t->signals, .events = POLLIN };
	t->polled[POLL_KEYS] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	while (!t->over) {
		draw(t);
		rest(t, next);
		if (t->over || clock_now_ms() < next)
			continue;
		top_look(t);
		next = clock_now_ms() + EVERY_MS;
	}
	top_screen_close();
	close(t->signals);
	return EXIT_SUCCESS;
}

/* --- addresses -------------------------------------------------------------------------------- */

/* 0, or -1: error has the reason. */
static int top_find(struct top *t, char *const *where, const char *file, char *error)
{
	if (where[0] == NULL)
		return top_source_find(&t->machines[0].source, file, error);
	for (unsigned i = 0; i < t->n; i++)
		if (top_source_parse(&t->machines[i].source, where[i], error) < 0)
			return -1;
	return 0;
}

static int top_make(struct top *t, char *const *where, const char *file, char *error)
{
	while (where[t->n] != NULL)
		t->n++;
	t->n += t->n == 0;
	t->machines = calloc(t->n, sizeof(*t->machines));
	t->polled = calloc(POLL_MACHINES + t->n, sizeof(*t->polled));
	if (t->machines == NULL || t->polled == NULL) {
		snprintf(error, TOP_ERROR, "%s", strerror(ENOMEM));
		return -1;
	}
	t->polled[POLL_SIGNALS].fd = t->polled[POLL_KEYS].fd = -1;
	for (unsigned i = 0; i < t->n; i++)
		top_machine_init(&t->machines[i]);
	return top_find(t, where, file, error);
}

static void destroy(struct top *t)
{
	for (unsigned i = 0; t->machines != NULL && i < t->n; i++)
		top_machine_fini(&t->machines[i]);
	free(t->machines);
	free(t->polled);
}

static void print_errors(const struct top *t)
{
	for (unsigned i = 0; i < t->n; i++)
		fprintf(stderr, "h2d: top: %s\n", t->machines[i].error);
}

static int top_show(struct top *t, bool once)
{
	if (!look_first(t, once)) {
		print_errors(t);
		return EXIT_FAILURE;
	}
	if (!once)
		return watch(t);
	return print_once(t) && count_heard(t) == t->n ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* where: http://HOST[:PORT] or unix:PATH of each server, NULL after the last; none: the first
 * usable admin listener of the file. once: prints one look, like without a terminal; a failure if
 * any server does not answer. */
static int top_run(char *const *where, bool once, const char *file)
{
	char error[TOP_ERROR] = "";
	struct top t = { 0 };
	int rc = EXIT_FAILURE;

	if (top_make(&t, where, file, error) < 0)
		fprintf(stderr, "h2d: top: %s\n", error);
	else
		rc = top_show(&t, once || !top_screen_can());
	destroy(&t);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = { { "once", no_argument, NULL, 'o' },
		{ "config", required_argument, NULL, 'f' }, { "help", no_argument, NULL, 'h' },
		{ 0 } };
	static const char usage[] =
		"usage: h2d-top [-f FILE] [--once] [URL | unix:PATH]...\n"
		"Shows the status of running servers in a terminal. Type q to quit.\n"
		"  -f, --config FILE  without URL: ask the admin listener of this configuration\n"
		"      --once         print the status once and exit\n"
		"  -h, --help         print this text\n"
		"URL is an admin listener, as http://localhost:9180. See h2d(8).\n";
	const char *file = OPTIONS_FILE;
	bool once = false;
	int code;

	setlocale(LC_CTYPE, "");
	while ((code = getopt_long(argc, argv, "f:h", longs, NULL)) != -1)
		if (code == 'o') {
			once = true;
		} else if (code == 'f') {
			file = optarg;
		} else {
			fputs(usage, code == 'h' ? stdout : stderr);
			return code == 'h' ? EXIT_SUCCESS : 2;
		}
	return top_run(argv + optind, once, file);
}
