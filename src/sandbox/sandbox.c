/*
 * sandbox: runs the steps in order: the ruleset is made while every path can be opened, and
 * enforced once the process is its user. It runs in the child, except for the log line.
 */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "sandbox/landlock.h"
#include "sandbox/sandbox_paths.h"
#include "sandbox/seccomp.h"

/* A ruleset being made: rc is the -errno of a path that is missing in it. */
struct rules {
	struct landlock *landlock;
	int rc;
};

/* A missing or unreadable path cannot be allowed; the start has warned. */
static bool names_nothing(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES ||
	       error == ENAMETOOLONG;
}

/*
 * An existing path that was not allowed would be out of reach for the life of the process: so it
 * ends, and another one tries again.
 */
static void allow(void *ctx, const char *path, unsigned rights)
{
	struct rules *r = ctx;
	int fd, rc;

	do
		fd = open(path, O_PATH | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	if (fd < 0 && names_nothing(errno))
		return;
	rc = fd >= 0 ? landlock_allow(r->landlock, fd, rights) : -errno;
	if (rc == -EBADFD) { /* Landlock does not support that kind of file system */
		log_warn("Landlock: %s: %s", path, strerror(-rc));
	} else if (rc < 0) {
		log_error("%s: %s", path, strerror(-rc));
		r->rc = rc;
	}
	if (fd >= 0)
		close(fd);
}

/* True if the configuration's further paths and calls are for this kind. */
static bool takes_more(const struct sandbox *s)
{
	return s->paths & SANDBOX_MORE;
}

/* Logs why this process must end: a restriction that the kernel has and the configuration requires
 * must be in force to serve. */
static int unconfined(int rc, const char *what, const char *key)
{
	if (rc < 0)
		log_error("%s: %s: cannot apply the sandbox; exiting (set %s to run without it)",
			what, strerror(-rc), key);
	return rc;
}

/* l->fd is -1 if there is to be none. */
static int make_ruleset(struct landlock *l, const struct sandbox *s, const struct conf *conf)
{
	struct rules rules = { l, 0 };

	*l = (struct landlock){ .fd = -1 };
	if (!conf->sandbox.landlock || landlock_abi() == 0)
		return 0;
	rules.rc = landlock_new(l, takes_more(s) && conf->sandbox.network);
	if (rules.rc == 0)
		sandbox_paths(conf, s->paths, allow, &rules);
	return unconfined(rules.rc, "Landlock", "sandbox { landlock = off }");
}

static int enter_landlock(struct landlock *l)
{
	int rc = l->fd >= 0 ? landlock_enter(l) : 0;

	return unconfined(rc, "Landlock", "sandbox { landlock = off }");
}

static int enter_seccomp(const struct sandbox *s, const struct conf *conf)
{
	const struct conf_sandbox *c = &conf->sandbox;
	struct seccomp filter = { .calls = s->calls, .log = c->seccomp == SECCOMP_LOG };

	/* A kind without a list may make all calls. */
	if (c->seccomp == SECCOMP_OFF || s->calls == 0 || !seccomp_built() || !seccomp_there())
		return 0;
	if (strcmp(conf->error_log, "syslog") == 0)
		filter.calls |= SECCOMP_SYSLOG;
	if (takes_more(s)) {
		filter.calls |= c->network ? SECCOMP_NETWORK : 0;
		filter.more = c->syscalls.v;
		filter.nmore = c->syscalls.n;
	}
	return unconfined(seccomp_enter(&filter), "seccomp", "sandbox { seccomp = off }");
}

/*
 * The kernel compares all of a user's descriptors in flight (unix(7)) with the limit of the sending
 * process: so one kind cannot use up those of another. A message has 253 at most.
 */
static void lower_limit(void)
{
	struct rlimit r = { 0 };

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_max = sandbox_fewer(r.rlim_max);
	if (r.rlim_cur > r.rlim_max)
		r.rlim_cur = r.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &r) < 0)
		log_warn("RLIMIT_NOFILE: %s; not lowering it", strerror(errno));
}

int sandbox_enter(
	const struct sandbox *s, const struct conf *conf, const struct privs *privs, int *epfd)
{
	struct landlock l;
	int rc;

	tzset(); /* reads a file that is out of reach later */
	rc = make_ruleset(&l, s, conf);
	if (s->fewer)
		lower_limit();
	*epfd = privs_epoll();
	if (rc == 0)
		rc = privs_drop(privs, conf->sandbox.drop_capabilities);
	if (*epfd < 0)
		*epfd = epoll_create1(EPOLL_CLOEXEC);
	if (rc == 0 && *epfd < 0)
		rc = -errno;
	if (rc == 0)
		rc = enter_landlock(&l);
	return rc == 0 ? enter_seccomp(s, conf) : rc;
}

static const char *landlock_text(const struct conf *conf, char *buf, size_t size)
{
	int abi = landlock_abi();

	if (!conf->sandbox.landlock)
		return "Landlock off";
	if (abi == 0)
		return "no Landlock";
	snprintf(buf, size, "Landlock ABI %d%s", abi,
		sandbox_paths_links(conf) ? " (all files to read: follow-links)" : "");
	return buf;
}

static const char *seccomp_text(const struct conf *conf)
{
	static const char *const texts[] = { [SECCOMP_OFF] = "seccomp off",
		[SECCOMP_LOG] = "seccomp logs",
		[SECCOMP_ON] = "seccomp" };

	if (!seccomp_built() || !seccomp_there())
		return "no seccomp";
	return texts[conf->sandbox.seccomp];
}

void sandbox_log(const struct conf *conf)
{
	const struct conf_sandbox *c = &conf->sandbox;
	char buf[64];

	log_notice("sandbox of child processes: no_new_privs, %s, %s, %s",
		c->drop_capabilities ? "no capabilities" : "the user's capabilities",
		landlock_text(conf, buf, sizeof(buf)), seccomp_text(conf));
	if (c->landlock && landlock_abi() == 0)
		log_warn("Landlock: missing in the kernel; files are not restricted");
	if (c->seccomp != SECCOMP_OFF && !(seccomp_built() && seccomp_there()))
		log_warn("seccomp: missing in %s; system calls are not restricted",
			seccomp_built() ? "the kernel" : "this build");
}

const char *sandbox_built(void)
{
	return seccomp_built() ? " landlock seccomp" : " landlock";
}
