/*
 * sandbox: runs the steps in order: the ruleset is made while every path can be opened, and
 * enforced once the process is its user. It runs in the child, except for the log line.
 */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "sandbox/sandbox_paths.h"
#include "sandbox/seccomp.h"

/* --- Landlock (landlock(7)), for which the C library has no functions ---------------------------
 */

/* Rights newer than the oldest headers of a build of h2d. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif

enum {
	ABI_FIRST = 1,
	ABI_REFER = 2,
	ABI_TRUNCATE = 3,
	ABI_NET = 4,
	ABI_IOCTL_DEV = 5,
	ABI_SCOPE = 6,
	FIRST_RIGHTS = 13, /* bits of ABI_FIRST */
};

/* struct landlock_ruleset_attr since ABI_SCOPE; a kernel takes a shorter one, too. */
struct ruleset {
	uint64_t fs, net, scoped;
};

/* To bind and to connect over TCP; abstract unix sockets and signals to others. */
#define NET_ALL   3
#define SCOPE_ALL 3

/* A rule for a port, since ABI_NET. */
struct net_port {
	uint64_t access, port;
};
#define RULE_NET_PORT 2
#define NET_CONNECT   2

#define FS_FILE \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | \
		LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE | \
		LANDLOCK_ACCESS_FS_IOCTL_DEV)
#define FS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_WRITE \
	(FS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE | \
		LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
		LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR | \
		LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_MAKE_FIFO | \
		LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REFER)

struct landlock {
	int fd; /* of the ruleset; -1: none */
	int abi;
	int rc; /* -errno of a path or port that is missing in it */
};

static uint64_t known(int abi)
{
	uint64_t fs = (1ULL << FIRST_RIGHTS) - 1;

	if (abi >= ABI_REFER)
		fs |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= ABI_TRUNCATE)
		fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
	if (abi >= ABI_IOCTL_DEV)
		fs |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
	return fs;
}

/* The version of the kernel's Landlock; 0: none. */
static int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi >= ABI_FIRST ? (int)abi : 0;
}

/* Makes a ruleset that allows no access, except network: all of TCP. 0, or -errno. */
static int landlock_new(struct landlock *l, bool network)
{
	struct ruleset r = { 0 };
	size_t size = sizeof(r.fs);

	*l = (struct landlock){ .fd = -1, .abi = landlock_abi() };
	if (l->abi == 0)
		return -ENOSYS;
	r.fs = known(l->abi);
	if (l->abi >= ABI_NET) {
		r.net = network ? 0 : NET_ALL;
		size += sizeof(r.net);
	}
	if (l->abi >= ABI_SCOPE) {
		r.scoped = SCOPE_ALL;
		size += sizeof(r.scoped);
	}
	l->fd = (int)syscall(SYS_landlock_create_ruleset, &r, size, 0);
	return l->fd < 0 ? -errno : 0;
}

/*
 * Allows LANDLOCK_… for the file or directory of fd (O_PATH is enough) and all below it, now and
 * later; not for one that takes its name later. 0, or -errno.
 */
static int landlock_allow(const struct landlock *l, int fd, unsigned rights)
{
	struct landlock_path_beneath_attr rule = { .parent_fd = fd };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	rule.allowed_access = (rights & LANDLOCK_WRITE ? FS_WRITE : FS_READ) & known(l->abi);
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= FS_FILE;
	if (syscall(SYS_landlock_add_rule, l->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return -errno;
	return 0;
}

/* Enforces it for this process, for good; no_new_privs must be set. Closes l. 0, or -errno. */
static int landlock_enter(struct landlock *l)
{
	long rc = syscall(SYS_landlock_restrict_self, l->fd, 0);
	int error = errno;

	close(l->fd);
	l->fd = -1;
	return rc < 0 ? -error : 0;
}

/* --- the steps ---------------------------------------------------------------------------------
 */

/*
 * An existing path that was not allowed would be out of reach for the life of the process: so it
 * ends, and another one tries again.
 */
static void allow(void *ctx, const char *path, unsigned rights)
{
	struct landlock *l = ctx;
	int fd = (int)TEMP_FAILURE_RETRY(open(path, O_PATH | O_CLOEXEC)), rc;

	/* A missing or unreadable path cannot be allowed; the start has warned. */
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EACCES ||
			      errno == ENAMETOOLONG))
		return;
	rc = fd >= 0 ? landlock_allow(l, fd, rights) : -errno;
	if (rc == -EBADFD) { /* Landlock does not support that kind of file system */
		log_warn("Landlock: %s: %s", path, strerror(-rc));
	} else if (rc < 0) {
		log_error("%s: %s", path, strerror(-rc));
		l->rc = rc;
	}
	if (fd >= 0)
		close(fd);
}

/* Connections over TCP to a port of an application. */
static void allow_port(void *ctx, unsigned port)
{
	struct landlock *l = ctx;
	const struct net_port rule = { .access = NET_CONNECT, .port = port };

	if (syscall(SYS_landlock_add_rule, l->fd, RULE_NET_PORT, &rule, 0) < 0)
		l->rc = -errno;
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
	*l = (struct landlock){ .fd = -1 };
	if (!conf->sandbox.landlock || landlock_abi() == 0)
		return 0;
	l->rc = landlock_new(l, takes_more(s) && conf->sandbox.network);
	if (l->rc == 0)
		sandbox_paths(conf, s->paths, allow, l);
	if (l->rc == 0 && takes_more(s) && !conf->sandbox.network && l->abi >= ABI_NET)
		sandbox_proxies(conf, allow_port, l);
	return unconfined(l->rc, "Landlock", "sandbox { landlock = off }");
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
		filter.calls |= sandbox_proxies(conf, NULL, NULL);
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
	if (rc == 0 && l.fd >= 0)
		rc = unconfined(landlock_enter(&l), "Landlock", "sandbox { landlock = off }");
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
