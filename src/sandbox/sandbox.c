/*
 * sandbox: puts the steps into their order: the ruleset is made while every path can be looked at,
 * and holds once the process is its user. It runs in the child, but for the line of the log.
 */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "sandbox/landlock.h"
#include "sandbox/sandbox_paths.h"
#include "sandbox/seccomp.h"

/* The words of `seccomp`, in the order of conf.def. */
enum { SECCOMP_OFF, SECCOMP_LOG, SECCOMP_ON };

static void allow(void *ctx, const char *path, unsigned rights)
{
	const struct landlock *l = ctx;
	int fd = open(path, O_PATH | O_CLOEXEC), rc;

	/* A path that is not there cannot be allowed; the start has warned of it. */
	if (fd < 0)
		return;
	rc = landlock_allow(l, fd, rights);
	if (rc < 0)
		log_warn("Landlock: %s: %s", path, strerror(-rc));
	close(fd);
}

/* Whether the configuration's further paths and calls are for this kind. */
static bool takes_more(const struct sandbox *s)
{
	return s->paths & SANDBOX_MORE;
}

/* l->fd is -1 where there is to be none. */
static void make_ruleset(struct landlock *l, const struct sandbox *s, const struct conf *conf)
{
	int rc;

	*l = (struct landlock){ .fd = -1 };
	if (!conf->sandbox.landlock)
		return;
	rc = landlock_new(l, takes_more(s) && conf->sandbox.network);
	if (rc < 0)
		log_warn("Landlock: %s: files are not restricted", strerror(-rc));
	else
		sandbox_paths(conf, s->paths, allow, l);
}

static void enter_landlock(struct landlock *l)
{
	int rc = l->fd >= 0 ? landlock_enter(l) : 0;

	if (rc < 0)
		log_warn("Landlock: %s: files are not restricted", strerror(-rc));
}

static void enter_seccomp(const struct sandbox *s, const struct conf *conf)
{
	const struct conf_sandbox *c = &conf->sandbox;
	struct seccomp filter = { .calls = s->calls, .log = c->seccomp == SECCOMP_LOG };
	int rc;

	/* A kind without a list of its own is refused nothing. */
	if (c->seccomp == SECCOMP_OFF || s->calls == 0)
		return;
	if (strcmp(conf->error_log, "syslog") == 0)
		filter.calls |= SECCOMP_SYSLOG;
	if (takes_more(s)) {
		filter.calls |= c->network ? SECCOMP_NETWORK : 0;
		filter.more = c->syscalls.v;
		filter.nmore = c->syscalls.n;
	}
	rc = seccomp_built() ? seccomp_enter(&filter) : 0;
	if (rc < 0)
		log_warn("seccomp: %s: system calls are not restricted", strerror(-rc));
}

int sandbox_enter(const struct sandbox *s, const struct conf *conf, const struct privs *privs)
{
	struct landlock l;
	int rc;

	tzset(); /* reads a file that is out of reach later */
	make_ruleset(&l, s, conf);
	rc = privs_drop(privs, conf->sandbox.drop_capabilities);
	if (rc < 0)
		return rc;
	enter_landlock(&l);
	enter_seccomp(s, conf);
	return 0;
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
	static const char *const texts[] = { "seccomp off", "seccomp logs", "seccomp" };

	if (!seccomp_built() || !seccomp_there())
		return "no seccomp";
	return texts[conf->sandbox.seccomp];
}

void sandbox_log(const struct conf *conf)
{
	const struct conf_sandbox *c = &conf->sandbox;
	char buf[64];

	log_notice("sandbox of the children: no_new_privs, %s, %s, %s",
		c->drop_capabilities ? "no capabilities" : "capabilities as the user's",
		landlock_text(conf, buf, sizeof(buf)), seccomp_text(conf));
	if (c->seccomp != SECCOMP_OFF && !(seccomp_built() && seccomp_there()))
		log_warn("seccomp: %s: system calls are not restricted",
			seccomp_built() ? "the kernel has none" : "this h2d was built without");
}

#ifdef HAVE_LINUX_LANDLOCK_H
#define LANDLOCK_BUILT " landlock"
#else
#define LANDLOCK_BUILT ""
#endif

const char *sandbox_built(void)
{
	return seccomp_built() ? LANDLOCK_BUILT " seccomp" : LANDLOCK_BUILT;
}
