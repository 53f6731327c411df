/*
 * signal_cmd: finds the master that holds the pid file, signals it, and reads the status file until
 * it has the outcome of the request, or of one that began after it. Prints it on standard output
 * or, for a failure, standard error. Main calls it for -s.
 */
#include "cli/signal_cmd.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/clock.h"
#include "conf/conf_fault.h"
#include "machine/pidfile.h"
#include "master/master_signal.h"
#include "master/status.h"

enum {
	POLL_MS = 20,
	REQUEST_MS = 75000, /* a running request, and ours: 30 s each */
};

/* --- the running master ----------------------------------------------------------------------- */

enum {
	QUIT_EXTRA_MS = 10000,
	QUIT_UNKNOWN_MS = 90000,
};

static void keep_quiet(void *ctx, const struct conf_pos *pos, const char *message)
{
	(void)ctx, (void)pos, (void)message;
}

/* A faulty file is to be reported by `-s reload`; that must find the master all the same. */
static bool take_conf(struct running_master *m, const struct conf *conf)
{
	if (!conf->faulty)
		m->quit_ms = (conf->shutdown_delay + conf->shutdown_timeout) * 1000 + QUIT_EXTRA_MS;
	return conf->pid_file[0] != '\0' && (size_t)snprintf(m->pid_file, sizeof(m->pid_file), "%s",
						    conf->pid_file) < sizeof(m->pid_file);
}

/* Takes pid file and times from the configuration. False: it has no pid file, reported on standard
 * error. */
static bool running_master_init(struct running_master *m, const struct conf_override *ov)
{
	struct conf *conf = conf_load_faulty(ov, keep_quiet, NULL);
	bool found;

	*m = (struct running_master){ .pidfd = -1, .quit_ms = QUIT_UNKNOWN_MS };
	found = conf != NULL && take_conf(m, conf);
	if (!found && (conf == NULL || conf->faulty))
		conf_load(ov, conf_fault_print, NULL);
	conf_free(&conf);
	if (!found)
		fprintf(stderr, "h2d: -s needs a pid file: %s has none; use --pid-file\n",
			ov->file != NULL ? ov->file : "the command line");
	return found;
}

static bool nobody(const struct running_master *m, const char *why)
{
	fprintf(stderr, "h2d: no h2d is running with the pid file %s%s%s\n", m->pid_file,
		why != NULL ? ": " : "", why != NULL ? why : "");
	return false;
}

void running_master_let_go(struct running_master *m)
{
	if (m->pidfd >= 0)
		close(m->pidfd);
	m->pidfd = -1;
}

bool running_master_find(struct running_master *m)
{
	pid_t named = pidfile_holder(m->pid_file);
	int rc;

	do {
		m->pid = named;
		if (named <= 0)
			return nobody(m, named < 0 ? strerror(-named) : NULL);
		m->pidfd = pidfd_open(named, 0);
		rc = errno;
		named = pidfile_holder(m->pid_file);
		if (m->pidfd >= 0 && named == m->pid)
			return true;
		running_master_let_go(m);
	} while (named != m->pid); /* an upgrade has moved its place to another one meanwhile */
	return nobody(m, strerror(rc));
}

bool running_master_is_gone(const struct running_master *m, int ms)
{
	struct pollfd p = { .fd = m->pidfd, .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

bool running_master_has_moved(const struct running_master *m)
{
	pid_t now = pidfile_holder(m->pid_file);

	return now > 0 && now != m->pid;
}

/* --- the wait ----------------------------------------------------------------------------------
 */

static bool signal_is_drain(int signo)
{
	return signo == MASTER_SIGNAL_DRAIN || signo == MASTER_SIGNAL_UNDRAIN;
}

/* The result of a wait is an exit status, or this: send the signal again, because an upgrade has
 * replaced the master, or has hidden the outcome. */
enum { SIGNAL_MOVED = -1 };

struct signal_wait {
	struct running_master *master;
	int signo;
	bool drains;        /* to wait for the end of the generation that a reload replaces */
	pid_t asked;        /* the process that got the signal; another one may be the master by
			     * now */
	struct stat status; /* of the status file, before the search for its master; zeros: none */
	struct stat named;  /* of the pid file, when the master was found */
	uint32_t known;     /* the newest request before ours, in the status file */
	uint32_t before;    /* the newest request that is not ours: known, or a later one */
	uint32_t hidden;    /* see is_hidden(); 0: not so at the look before */
	bool fresh;         /* the status file was written since the signal */
};

/* --- telling ---------------------------------------------------------------------------------- */

static int tell_reload(const struct status *s)
{
	FILE *out = s->ok ? stdout : stderr;

	if (!s->ok)
		fprintf(out, "h2d: reload failed; generation %u keeps serving\n", s->generation);
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

/* Waits for the end of that generation, whose time the master limits. */
static int wait_drained(const struct signal_wait *w, uint32_t generation)
{
	const struct status_gone *g;
	struct status s;

	do {
		bool gone = running_master_is_gone(w->master, POLL_MS);

		if (status_read(&s, w->master->pid_file) < 0 || gone) {
			fprintf(stderr, "h2d: generation %u: outcome unknown\n", generation);
			return 1;
		}
		g = find_gone(&s, generation);
	} while (g == NULL);
	printf("%u drained, %u cut, %u refused\n", g->drained, g->cut, g->refused);
	return 0;
}

static int tell_upgrade(const struct status *s)
{
	FILE *out = s->upgraded ? stdout : stderr;

	if (!s->upgraded)
		fprintf(out, "h2d: upgrade failed; the old program keeps running\n");
	fprintf(out, "%s\n",
		s->request == s->upgrade ? s->text : "a later reload has replaced the details");
	return s->upgraded ? 0 : 1;
}

static int signal_wait_tell(const struct signal_wait *w, const struct status *s)
{
	int rc;

	if (w->signo == SIGUSR2)
		return tell_upgrade(s);
	if (signal_is_drain(w->signo)) {
		puts(s->text);
		return 0;
	}
	rc = tell_reload(s);
	fflush(stdout);
	return rc == 0 && w->drains && s->replaced != 0 ? wait_drained(w, s->replaced) : rc;
}

/* --- looking ---------------------------------------------------------------------------------- */

/* The pid file, or with ".status" the status file. */
static struct stat look_at(const struct signal_wait *w, const char *suffix)
{
	char path[sizeof(w->master->pid_file) + sizeof(".status")];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s%s", w->master->pid_file, suffix) < (int)sizeof(path) &&
		stat(path, &st) == 0)
		return st;
	return (struct stat){ 0 };
}

static bool differ(const struct stat *a, const struct stat *b)
{
	return a->st_ino != b->st_ino || a->st_mtim.tv_sec != b->st_mtim.tv_sec ||
	       a->st_mtim.tv_nsec != b->st_mtim.tv_nsec;
}

/* Each version of the status file is a new file. */
static bool is_written(const struct signal_wait *w)
{
	struct stat now = look_at(w, ".status");

	return differ(&now, &w->status);
}

/* True if s has the outcome of our request, or of a later one: see status.h. */
static bool is_over(const struct signal_wait *w, const struct status *s)
{
	/*
	 * An upgrade that succeeded since our signal is ours if another process has the place of
	 * the one that got the signal, whatever began before; else it is an earlier one, missing in
	 * the status file.
	 */
	if (w->signo == SIGUSR2 && s->upgraded)
		return s->upgrade > w->known && pidfile_holder(w->master->pid_file) != w->asked;
	if (w->signo == SIGUSR2)
		return s->upgrade > w->before;
	/* Every outcome has the state of the health check: the drain need not be the last. */
	if (signal_is_drain(w->signo))
		return s->request > w->before && s->drained == (w->signo == MASTER_SIGNAL_DRAIN);
	/* A reload during an upgrade is done after it. */
	return s->request > w->before && s->request != s->upgrade;
}

/*
 * An upgrade that follows a reload within a look hides its outcome, like an undrain that of a
 * drain: it may have been ours, so the signal is sent again. At a single look the master may be
 * between an upgrade and the reload that waited for it.
 */
static bool is_hidden(struct signal_wait *w, const struct status *s)
{
	bool rests = s->request > w->before && s->running == 0;
	bool again = rests && s->request == w->hidden;

	w->hidden = rests ? s->request : 0;
	return again;
}

/* A master that has acted and cannot write the status file updates the pid file's time: see
 * outcome_end(). */
static int look_for_silence(const struct signal_wait *w)
{
	struct stat now = look_at(w, "");

	if (!differ(&now, &w->named) || is_written(w) ||
		pidfile_holder(w->master->pid_file) != w->asked)
		return 0;
	fprintf(stderr, "h2d: %s.status is not written: see the log\n", w->master->pid_file);
	return 1;
}

/*
 * The master has exited. If another one replaces it, requests after our signal continue there;
 * without any, the signal was lost. Without a writable status file this is unknown, and a new
 * signal might upgrade again and again.
 */
static int signal_wait_follow(struct signal_wait *w, const struct status *s)
{
	if (!running_master_has_moved(w->master)) {
		fprintf(stderr, "h2d: process %d exited before it was done\n", (int)w->master->pid);
		return 1;
	}
	if (!is_written(w)) {
		fprintf(stderr,
			"h2d: another process has replaced %d, but %s.status is not written: see "
			"the log\n",
			(int)w->master->pid, w->master->pid_file);
		return 1;
	}
	if (s->running <= w->before)
		return SIGNAL_MOVED;
	running_master_let_go(w->master);
	return running_master_find(w->master) ? 0 : 1;
}

/*
 * If there was no status file, or an old one because it was not writable, the first one written may
 * also have the outcome of an earlier request.
 */
static int read_status(struct signal_wait *w, struct status *s)
{
	bool first = !w->fresh && is_written(w);
	int rc = status_read(s, w->master->pid_file);

	w->fresh |= first;
	if (rc == 0 && first && s->running > w->before + 1)
		w->before = s->running - 1;
	return rc;
}

/* Called before the signal is sent. A starting master has written no status yet. False: the status
 * file cannot be read. */
static bool signal_wait_begin(struct signal_wait *w)
{
	struct status s;
	int rc = status_read(&s, w->master->pid_file);

	if (rc < 0 && rc != -ENOENT) {
		fprintf(stderr, "h2d: %s.status: %s\n", w->master->pid_file, strerror(-rc));
		return false;
	}
	w->asked = w->master->pid;
	w->named = look_at(w, "");
	w->known = s.running > s.request ? s.running : s.request;
	w->before = w->known;
	return true;
}

/* Waits, and prints. An exit status, or SIGNAL_MOVED. */
static int signal_wait_outcome(struct signal_wait *w)
{
	uint64_t end = clock_now_ms() + REQUEST_MS;
	struct status s;

	while (clock_now_ms() < end) {
		bool gone = running_master_is_gone(w->master, POLL_MS);
		int rc = read_status(w, &s);

		if (rc == 0 && is_over(w, &s))
			return signal_wait_tell(w, &s);
		if (rc == 0 && w->signo != SIGUSR2 && is_hidden(w, &s))
			return SIGNAL_MOVED;
		if (rc < 0 && rc != -ENOENT) {
			fprintf(stderr, "h2d: %s.status: %s\n", w->master->pid_file, strerror(-rc));
			return 1;
		}
		rc = gone ? signal_wait_follow(w, &s) : look_for_silence(w);
		if (rc != 0)
			return rc;
	}
	fprintf(stderr, "h2d: no outcome within %d s\n", REQUEST_MS / 1000);
	return 1;
}

/* --- the command -------------------------------------------------------------------------------
 */

enum { STOP_MS = 10000 };

static int signal_of(const char *name)
{
	const struct {
		const char *name;
		int signo;
	} signals[] = {
		{ "reload", SIGHUP },
		{ "upgrade", SIGUSR2 },
		{ "stop", SIGTERM },
		{ "quit", SIGQUIT },
		{ "yield", SIGPWR },
		{ "reopen", SIGUSR1 },
		{ "drain", MASTER_SIGNAL_DRAIN },
		{ "undrain", MASTER_SIGNAL_UNDRAIN },
	};

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

static int send_signal(const struct running_master *m, int signo)
{
	if (pidfd_send_signal(m->pidfd, signo, NULL, 0) == 0)
		return 0;
	if (errno == ESRCH && running_master_has_moved(m))
		return SIGNAL_MOVED;
	fprintf(stderr, "h2d: cannot signal process %d: %s\n", (int)m->pid, strerror(errno));
	return 1;
}

static int signal_cmd_stop(const struct running_master *m, int signo)
{
	/* The first process of a container takes one TERM for QUIT; see master_signal.c. */
	int rc = send_signal(m, signo == SIGTERM && m->pid == 1 ? SIGINT : signo);
	uint64_t ms = signo == SIGTERM ? STOP_MS : m->quit_ms;

	if (rc != 0)
		return rc;
	if (!running_master_is_gone(m, ms > INT_MAX ? INT_MAX : (int)ms)) {
		fprintf(stderr, "h2d: process %d is still running\n", (int)m->pid);
		return 1;
	}
	return running_master_has_moved(m) ? SIGNAL_MOVED : 0;
}

static int signal_cmd_ask(struct running_master *m, int signo, bool wait)
{
	struct signal_wait w = { .master = m, .signo = signo, .drains = wait };
	int rc = 1;

	w.status = look_at(&w, ".status");
	if (running_master_find(m)) {
		if (signo == SIGUSR1)
			rc = send_signal(m, signo);
		else if (signo != SIGHUP && signo != SIGUSR2 && !signal_is_drain(signo))
			rc = signal_cmd_stop(m, signo);
		else if (signal_wait_begin(&w) && (rc = send_signal(m, signo)) == 0)
			rc = signal_wait_outcome(&w);
	}
	running_master_let_go(m);
	return rc;
}

int signal_cmd(const char *name, bool wait, const struct conf_override *ov)
{
	struct running_master m;
	int rc = SIGNAL_MOVED;

	if (!running_master_init(&m, ov))
		return 1;
	while (rc == SIGNAL_MOVED)
		rc = signal_cmd_ask(&m, signal_of(name), wait);
	return rc;
}
