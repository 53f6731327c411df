/*
 * signal_cmd: the client side of pid file and status file; main calls it for -s. The process that
 * it signals is held by a pidfd from before the lock is looked at, so it is the master and not a
 * later user of its number. It reads the configuration to find the pid file, and changes nothing
 * itself.
 */
#include "cli/signal_cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "conf/conf_fault.h"
#include "machine/pidfile.h"
#include "master/master_signal.h"
#include "master/status.h"

enum {
	POLL_MS = 20,
	STOP_MS = 10000,
	REQUEST_MS = 75000, /* a request that runs, and ours: 30 s each */
	QUIT_EXTRA_MS = 10000,
	QUIT_UNKNOWN_MS = 90000,
};

struct target {
	char pid_file[PATH_MAX];
	pid_t pid;
	int pidfd;
	pid_t asked;        /* the process that got the signal; pid may be its heir by now */
	uint64_t quit_ms;   /* how long a graceful stop may take */
	bool wait;          /* for the generation that a reload replaces to be gone */
	struct stat status; /* of the status file, before its master is looked for; zeros: there was
			       none */
	struct stat named;  /* of the pid file, when the master was found */
	uint32_t known;     /* the newest request when we asked, as the status file had it */
	uint32_t before;    /* the newest request that is not ours: known, or a later one */
	uint32_t hidden;    /* see is_hidden(); 0: it was not so at the look before */
	bool fresh;         /* the status file was written since we asked */
};

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

static bool is_drain(int signo)
{
	return signo == MASTER_SIGNAL_DRAIN || signo == MASTER_SIGNAL_UNDRAIN;
}

/* Whether the master says what came of it. */
static bool has_outcome(int signo)
{
	return signo == SIGHUP || signo == SIGUSR2 || is_drain(signo);
}

bool signal_cmd_known(const char *name)
{
	return signal_of(name) != 0;
}

/* --- which pid file --------------------------------------------------------------------------- */

/* ctx: NULL to keep quiet. */
static void on_fault(void *ctx, const struct conf_pos *pos, const char *message)
{
	char text[CONF_FAULT_TEXT];

	if (ctx == NULL)
		return;
	conf_fault_format(pos, message, text, sizeof(text));
	fprintf(stderr, "%s%s\n", conf_fault_prefix(pos), text);
}

/* A file with faults is what `-s reload` is to tell of; it must find the master all the same. */
static bool take_conf(struct target *t, const struct conf *conf)
{
	if (!conf->faulty)
		t->quit_ms = (conf->shutdown_delay + conf->shutdown_timeout) * 1000 + QUIT_EXTRA_MS;
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

/* --- requests --------------------------------------------------------------------------------- */

/*
 * A wait ends with an exit status, or with MOVED: it is asked once more, for an upgrade has put
 * another master in place, or has hidden what came of it.
 */
enum { MOVED = -1 };

static int moved_or(const struct target *t, int rc)
{
	pid_t now = pidfile_holder(t->pid_file);

	return now > 0 && now != t->pid ? MOVED : rc;
}

static int tell_reload(const struct status *s)
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
	int rc = tell_reload(s);

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

static int tell_upgrade(const struct status *s)
{
	FILE *out = s->upgraded ? stdout : stderr;

	if (!s->upgraded)
		fprintf(out, "h2d: upgrade failed, the running program goes on\n");
	fprintf(out, "%s\n",
		s->request == s->upgrade ? s->text : "a later reload has replaced the details");
	return s->upgraded ? 0 : 1;
}

/*
 * An upgrade that succeeded since we asked is ours where another process has the place of the one
 * that got the signal, whatever began before we looked; else it is an earlier one, of which no
 * status file told.
 */
static bool is_upgraded(const struct target *t, const struct status *s)
{
	if (s->upgraded)
		return s->upgrade > t->known && pidfile_holder(t->pid_file) != t->asked;
	return s->upgrade > t->before;
}

/* Whether s has the outcome of our request, or of a later one: see status.h. */
static bool is_over(const struct target *t, const struct status *s, int signo)
{
	if (signo == SIGUSR2)
		return is_upgraded(t, s);
	/* Whatever has an outcome tells whether health says 503: the drain need not be the last. */
	if (is_drain(signo))
		return s->request > t->before && s->drained == (signo == MASTER_SIGNAL_DRAIN);
	/* A reload that came while an upgrade ran is done after it. */
	return s->request > t->before && s->request != s->upgrade;
}

/*
 * An upgrade that follows a reload within a look hides its outcome, as an undrain does that of a
 * drain: nothing tells whether it was ours, so it is asked for again. At one look alone the master
 * may be between an upgrade and the reload that waited for it.
 */
static bool is_hidden(struct target *t, const struct status *s)
{
	bool rests = s->request > t->before && s->running == 0 && s->waiting == 0;
	bool again = rests && s->request == t->hidden;

	t->hidden = rests ? s->request : 0;
	return again;
}

static void let_go(struct target *t)
{
	if (t->pidfd >= 0)
		close(t->pidfd);
	t->pidfd = -1;
}

/* The pid file, or with ".status" the status file. */
static struct stat look_at(const struct target *t, const char *suffix)
{
	char path[PATH_MAX + sizeof(".status")];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", t->pid_file, suffix);
	return stat(path, &st) == 0 ? st : (struct stat){ 0 };
}

static bool differ(const struct stat *a, const struct stat *b)
{
	return a->st_ino != b->st_ino || a->st_mtim.tv_sec != b->st_mtim.tv_sec ||
	       a->st_mtim.tv_nsec != b->st_mtim.tv_nsec;
}

/* Each version of the status file is a file of its own. */
static bool is_written(const struct target *t)
{
	struct stat now = look_at(t, ".status");

	return differ(&now, &t->status);
}

/* A master that has done something and cannot write the status file leaves a new time at the pid
 * file: see outcome_end(). */
static int look_for_silence(const struct target *t)
{
	struct stat now = look_at(t, "");

	if (!differ(&now, &t->named) || is_written(t) || pidfile_holder(t->pid_file) != t->asked)
		return 0;
	fprintf(stderr, "h2d: nobody writes %s.status, see the log\n", t->pid_file);
	return 1;
}

/*
 * The master has gone. Where another one is in its place, what began after we asked goes on there;
 * if nothing did, the signal was lost. Where nobody can write the status file nothing tells, and
 * to ask again would be to upgrade again and again.
 */
static int follow(struct target *t, const struct status *s)
{
	if (moved_or(t, 1) != MOVED) {
		fprintf(stderr, "h2d: process %d ended before it had done so\n", (int)t->pid);
		return 1;
	}
	if (!is_written(t)) {
		fprintf(stderr,
			"h2d: process %d is gone, and another one has its place; nobody writes "
			"%s.status, see the log\n",
			(int)t->pid, t->pid_file);
		return 1;
	}
	if (s->running <= t->before)
		return MOVED;
	let_go(t);
	return find_master(t) ? 0 : 1;
}

/*
 * Where there was no status file to look at, or an old one because nobody could write it, the first
 * that is written may bring the outcome of an earlier request along.
 */
static int read_status(struct target *t, struct status *s)
{
	bool first = !t->fresh && is_written(t);
	int rc = status_read(s, t->pid_file);

	t->fresh |= first;
	if (rc == 0 && first && s->running > t->before + 1)
		t->before = s->running - 1;
	return rc;
}

static int tell(const struct target *t, const struct status *s, int signo)
{
	if (signo == SIGUSR2)
		return tell_upgrade(s);
	if (is_drain(signo)) {
		puts(s->text);
		return 0;
	}
	return tell_all(t, s);
}

static int wait_outcome(struct target *t, int signo)
{
	uint64_t ms = REQUEST_MS + t->quit_ms; /* generations that drain may come first */
	uint64_t end = clock_now_ms() + ms;
	bool told = false;
	struct status s;

	while (clock_now_ms() < end) {
		bool gone = is_gone(t, POLL_MS);
		int rc = read_status(t, &s);

		if (rc == 0 && is_over(t, &s, signo))
			return tell(t, &s, signo);
		if (rc == 0 && signo != SIGUSR2 && is_hidden(t, &s))
			return MOVED;
		if (rc == 0)
			tell_waiting(&s, &told);
		if (rc < 0 && rc != -ENOENT) {
			fprintf(stderr, "h2d: %s.status: %s\n", t->pid_file, strerror(-rc));
			return 1;
		}
		rc = gone ? follow(t, &s) : look_for_silence(t);
		if (rc != 0)
			return rc;
	}
	fprintf(stderr, "h2d: no outcome within %d s\n", (int)(ms / 1000));
	return 1;
}

/*
 * A real-time signal ends a program that does not know it, so a master of before must not get one.
 * Those that a master waits for it blocks.
 */
static bool is_taken(const struct target *t, int signo)
{
	char path[64], line[256];
	uint64_t blocked = UINT64_MAX;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)t->pid);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "SigBlk: %" SCNx64, &blocked) == 1)
			break;
	if (f != NULL)
		fclose(f);
	return blocked >> (signo - 1) & 1;
}

static int send_signal(const struct target *t, int signo)
{
	if (is_drain(signo) && !is_taken(t, signo)) {
		fprintf(stderr, "h2d: process %d is of a version that cannot be drained so\n",
			(int)t->pid);
		return 1;
	}
	if (pidfd_send_signal(t->pidfd, signo, NULL, 0) == 0)
		return 0;
	if (errno == ESRCH && moved_or(t, 1) == MOVED)
		return MOVED;
	fprintf(stderr, "h2d: cannot signal process %d: %s\n", (int)t->pid, strerror(errno));
	return 1;
}

/* A master that is still starting has written no status yet. */
static int request(struct target *t, int signo)
{
	struct status s;
	int rc = status_read(&s, t->pid_file);

	if (rc < 0 && rc != -ENOENT) {
		fprintf(stderr, "h2d: %s.status: %s\n", t->pid_file, strerror(-rc));
		return 1;
	}
	t->asked = t->pid;
	t->named = look_at(t, "");
	t->known = s.running > s.request ? s.running : s.request;
	t->before = t->known;
	t->fresh = false;
	t->hidden = 0;
	rc = send_signal(t, signo);
	return rc != 0 ? rc : wait_outcome(t, signo);
}

static int stop(const struct target *t, int signo)
{
	/* The first process of a container takes one TERM for QUIT; see master_signal.c. */
	int rc = send_signal(t, signo == SIGTERM && t->pid == 1 ? SIGINT : signo);

	if (rc == 0)
		rc = wait_gone(t, signo == SIGTERM ? STOP_MS : t->quit_ms);
	return rc == 0 ? moved_or(t, 0) : rc;
}

static int ask(struct target *t, int signo)
{
	int rc = 1;

	t->status = look_at(t, ".status");
	if (find_master(t)) {
		if (has_outcome(signo))
			rc = request(t, signo);
		else if (signo != SIGUSR1)
			rc = stop(t, signo);
		else
			rc = send_signal(t, signo);
	}
	let_go(t);
	return rc;
}

int signal_cmd(const char *name, bool wait, const struct conf_override *ov)
{
	struct target t = { .pidfd = -1, .quit_ms = QUIT_UNKNOWN_MS, .wait = wait };
	int rc = MOVED;

	if (!find_pid_file(&t, ov))
		return 1;
	while (rc == MOVED)
		rc = ask(&t, signal_of(name));
	return rc;
}
