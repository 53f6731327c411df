/*
 * signal_cmd: the client side of pid file and status file; main calls it for -s. The process that
 * it signals is held by a pidfd from before the lock is looked at, so it is the master and not a
 * later user of its number. It reads the configuration to find the pid file, and changes nothing
 * itself.
 */
#include "master/signal_cmd.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "master/fault.h"
#include "master/pidfile.h"
#include "master/status.h"

enum {
	POLL_MS = 20,
	STOP_MS = 10000,
	RELOAD_MS = 75000, /* one that runs, and ours: 30 s each */
	QUIT_EXTRA_MS = 10000,
	QUIT_UNKNOWN_MS = 90000,
};

struct target {
	char pid_file[PATH_MAX];
	pid_t pid;
	int pidfd;
	uint64_t quit_ms; /* how long a graceful stop may take */
	bool wait;        /* for the generation that a reload replaces to be gone */
};

static const struct {
	const char *name;
	int signo;
} signals[] = {
	{ "reload", SIGHUP },
	{ "stop", SIGTERM },
	{ "quit", SIGQUIT },
	{ "reopen", SIGUSR1 },
};

static int signal_of(const char *name)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (strcmp(name, signals[i].name) == 0)
			return signals[i].signo;
	}
	return 0;
}

bool signal_cmd_known(const char *name)
{
	return signal_of(name) != 0;
}

/* --- which pid file --------------------------------------------------------------------------- */

/* ctx: NULL to keep quiet. */
static void on_fault(void *ctx, const struct conf_pos *pos, const char *message)
{
	char text[FAULT_TEXT];

	if (ctx == NULL)
		return;
	fault_format(pos, message, text, sizeof(text));
	fprintf(stderr, "%s%s\n", fault_prefix(pos), text);
}

/* A file with faults is what `-s reload` is to tell of; it must find the master all the same. */
static bool take_conf(struct target *t, const struct conf *conf)
{
	if (!conf->faulty)
		t->quit_ms = conf->shutdown_timeout * 1000 + QUIT_EXTRA_MS;
	return conf->pid_file[0] != '\0' && (size_t)snprintf(t->pid_file, sizeof(t->pid_file), "%s",
						    conf->pid_file) < sizeof(t->pid_file);
}

static bool find_pid_file(struct target *t, const struct conf_override *ov)
{
	struct conf *conf = conf_load_faulty(ov, on_fault, NULL);
	bool found = conf != NULL && take_conf(t, conf);

	if (!found && (conf == NULL || conf->faulty))
		conf_load(ov, on_fault, t);
	conf_free(&conf);
	if (!found)
		fprintf(stderr, "h2d: -s needs a pid file: %s names none; use --pid-file\n",
			ov->file != NULL ? ov->file : "the command line");
	return found;
}

/* --- the master ------------------------------------------------------------------------------- */

static bool nobody(const struct target *t, const char *why)
{
	fprintf(stderr, "h2d: no h2d is running with the pid file %s%s%s\n", t->pid_file,
		why != NULL ? ": " : "", why != NULL ? why : "");
	return false;
}

static bool find_master(struct target *t)
{
	t->pid = pidfile_holder(t->pid_file);
	if (t->pid <= 0)
		return nobody(t, t->pid < 0 ? strerror(-t->pid) : NULL);
	t->pidfd = pidfd_open(t->pid, 0);
	if (t->pidfd < 0)
		return nobody(t, strerror(errno));
	if (pidfile_holder(t->pid_file) != t->pid)
		return nobody(t, NULL);
	return true;
}

/* Waits at most ms for the master's end. */
static bool is_gone(const struct target *t, int ms)
{
	struct pollfd p = { .fd = t->pidfd, .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

static int wait_gone(const struct target *t, uint64_t ms)
{
	if (is_gone(t, ms > INT_MAX ? INT_MAX : (int)ms))
		return 0;
	fprintf(stderr, "h2d: process %d is still running\n", (int)t->pid);
	return 1;
}

/* --- reload ----------------------------------------------------------------------------------- */

static int tell(const struct status *s)
{
	FILE *out = s->ok ? stdout : stderr;

	if (!s->ok)
		fprintf(out, "h2d: reload failed, generation %u goes on\n", s->generation);
	fprintf(out, "%s\n", s->text);
	return s->ok ? 0 : 1;
}

static const struct status_gone *find_gone(const struct status *s, uint32_t generation)
{
	for (int i = 0; i < STATUS_GONE; i++)
		if (s->gone[i].generation == generation)
			return &s->gone[i];
	return NULL;
}

/* Until that generation is gone, for which the master sees to it that it does not take for ever. */
static int wait_drained(const struct target *t, uint32_t generation)
{
	const struct status_gone *g;
	struct status s;

	do {
		bool gone = is_gone(t, POLL_MS);

		if (status_read(&s, t->pid_file) < 0 || gone) {
			fprintf(stderr, "h2d: generation %u: nobody says what became of it\n",
				generation);
			return 1;
		}
		g = find_gone(&s, generation);
	} while (g == NULL);
	printf("%u drained, %u cut, %u refused\n", g->drained, g->cut, g->refused);
	return 0;
}

static int tell_all(const struct target *t, const struct status *s)
{
	int rc = tell(s);

	fflush(stdout);
	return rc == 0 && t->wait && s->replaced != 0 ? wait_drained(t, s->replaced) : rc;
}

/* Once, why it takes so long. */
static void tell_waiting(const struct status *s, bool *told)
{
	if (s->waiting != 0 && !*told)
		fprintf(stderr, "h2d: %u generations drain: the reload waits until one is gone\n",
			s->waiting);
	*told |= s->waiting != 0;
}

/* Until a request that began after `before` is finished: see status.h. */
static int wait_reload(const struct target *t, uint32_t before)
{
	uint64_t ms = RELOAD_MS + t->quit_ms; /* generations that drain may come first */
	uint64_t end = clock_read_us() + ms * 1000;
	bool told = false;
	struct status s;

	while (clock_read_us() < end) {
		bool gone = is_gone(t, POLL_MS);
		int rc = status_read(&s, t->pid_file);

		if (rc == 0 && s.request > before)
			return tell_all(t, &s);
		if (rc == 0)
			tell_waiting(&s, &told);
		if (rc < 0 && rc != -ENOENT) {
			fprintf(stderr, "h2d: %s.status: %s\n", t->pid_file, strerror(-rc));
			return 1;
		}
		if (gone) {
			fprintf(stderr, "h2d: process %d ended before it had reloaded\n",
				(int)t->pid);
			return 1;
		}
	}
	fprintf(stderr, "h2d: no outcome within %d s\n", (int)(ms / 1000));
	return 1;
}

int signal_cmd(const char *name, bool wait, const struct conf_override *ov)
{
	int signo = signal_of(name);
	struct target t = { .pidfd = -1, .quit_ms = QUIT_UNKNOWN_MS, .wait = wait };
	struct status s;
	int rc = 1;

	if (!find_pid_file(&t, ov) || !find_master(&t))
		goto out;
	if (signo == SIGHUP) {
		rc = status_read(&s, t.pid_file);
		/* A master that is still starting has not written one. */
		if (rc < 0 && rc != -ENOENT) {
			fprintf(stderr, "h2d: %s.status: %s\n", t.pid_file, strerror(-rc));
			rc = 1;
			goto out;
		}
	}
	if (pidfd_send_signal(t.pidfd, signo, NULL, 0) < 0) {
		fprintf(stderr, "h2d: cannot signal process %d: %s\n", (int)t.pid, strerror(errno));
		rc = 1;
		goto out;
	}
	if (signo == SIGHUP)
		rc = wait_reload(&t, s.running > s.request ? s.running : s.request);
	else if (signo == SIGTERM)
		rc = wait_gone(&t, STOP_MS);
	else if (signo == SIGQUIT)
		rc = wait_gone(&t, t.quit_ms);
	else
		rc = 0;
out:
	if (t.pidfd >= 0)
		close(t.pidfd);
	return rc;
}
