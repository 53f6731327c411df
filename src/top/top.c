/*
 * top: asks once a second and draws what it heard, until q or a signal ends it. A server that does
 * not answer at first is an error; one that is away later, for a restart say, is asked again.
 */
#include "top/top.h"

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
#include "top/top_ask.h"
#include "top/top_screen.h"
#include "top/top_view.h"

enum { EVERY_MS = 1000 };

struct top {
	struct top_source source;
	struct top_status *status; /* the status that was heard last */
	char error[TOP_ERROR];     /* "": it was heard just now */
	int signals;
	bool over;
};

/* --- looking ---------------------------------------------------------------------------------- */

/* Keeps the status before when there is no new one. */
static void look(struct top *t)
{
	struct strbuf body = { 0 };
	struct top_status *now = NULL;
	char why[128];

	if (top_ask(&t->source, &body, t->error) == 0) {
		now = top_status_read(body.p, body.n, why, sizeof(why));
		if (now == NULL)
			snprintf(t->error, sizeof(t->error), "%s: not the status of h2d: %s",
				t->source.text, why);
	}
	strbuf_fini(&body);
	if (now == NULL)
		return;
	t->error[0] = '\0';
	top_status_free(&t->status);
	t->status = now;
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

static bool print_once(struct top *t)
{
	struct top_page p = { .colours = has_colours(), .utf8 = is_utf8() };
	bool done;

	top_view(&p, t->status);
	done = !p.text.failed && top_screen_write(p.text.p, p.text.n);
	strbuf_fini(&p.text);
	return done;
}

static void draw(struct top *t)
{
	struct top_page p = { .screen = true, .colours = has_colours(), .utf8 = is_utf8() };

	top_screen_size(&p.columns, &p.rows);
	strbuf_add(&p.text, SLICE("\x1b[H"));
	if (t->error[0] != '\0') {
		top_page_printf(&p, TOP_BAD, "%s; trying again", t->error);
		top_page_end(&p);
	}
	top_view(&p, t->status);
	if (p.row < p.rows)
		strbuf_add(&p.text, SLICE("\x1b[J"));
	if (p.text.failed || !top_screen_write(p.text.p, p.text.n))
		t->over = true;
	strbuf_fini(&p.text);
}

/* --- what happens meanwhile ------------------------------------------------------------------- */

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

/* Ctrl-Z: the shell gets its terminal as it was. */
static void stop(struct top *t)
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
		stop(t);
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

/* Until the next look is due, or there is a reason to draw now. */
static void rest(struct top *t, uint64_t until)
{
	struct pollfd on[] = { { .fd = t->signals, .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = POLLIN } };
	uint64_t now = clock_now_ms();

	if (poll(on, 2, until > now ? (int)(until - now) : 0) <= 0)
		return;
	if (on[0].revents != 0)
		on_signal(t);
	if (on[1].revents != 0)
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
	while (!t->over) {
		uint64_t now;

		draw(t);
		rest(t, next);
		now = clock_now_ms();
		if (t->over || now < next)
			continue;
		look(t);
		next = now + EVERY_MS;
	}
	top_screen_close();
	close(t->signals);
	return EXIT_SUCCESS;
}

bool top_built(void)
{
	return true;
}

int top_run(const char *where, bool once, const struct conf_override *ov)
{
	struct top t = { 0 };
	int rc = EXIT_FAILURE;

	setlocale(LC_CTYPE, "");
	if (where != NULL ? top_source_parse(&t.source, where, t.error) == 0
			  : top_source_find(&t.source, ov, t.error) == 0)
		look(&t);
	if (t.status == NULL)
		fprintf(stderr, "h2d: top: %s\n", t.error);
	else if (once || !top_screen_can())
		rc = print_once(&t) ? EXIT_SUCCESS : EXIT_FAILURE;
	else
		rc = watch(&t);
	top_status_free(&t.status);
	return rc;
}
