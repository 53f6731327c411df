/*
 * sandbox: puts the steps into their order: the ruleset is made while every path can be looked at,
 * and holds once the process is its user. It runs in the child, but for the line of the log.
 */
#include "master/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "master/landlock.h"
#include "master/sandbox_paths.h"

static void allow(void *ctx, const char *path, unsigned rights)
{
	const struct landlock *l = ctx;
	int fd = open(path, O_PATH | O_CLOEXEC), rc;

	/* What is not there cannot be allowed; the start has warned of it. */
	if (fd < 0)
		return;
	rc = landlock_allow(l, fd, rights);
	if (rc < 0)
		log_warn("Landlock: %s: %s", path, strerror(-rc));
	close(fd);
}

/* l->fd is -1 where there is to be none. */
static void make_ruleset(struct landlock *l, const struct sandbox *s, const struct conf *conf)
{
	int rc;

	*l = (struct landlock){ .fd = -1 };
	if (!conf->sandbox.landlock)
		return;
	rc = landlock_new(l);
	if (rc < 0)
		log_warn("Landlock: %s: files are not restricted", strerror(-rc));
	else
		sandbox_paths(conf, s->paths, allow, l);
}

int sandbox_enter(const struct sandbox *s, const struct conf *conf, const struct privs *privs)
{
	struct landlock l;
	int rc;

	tzset(); /* reads a file that is out of reach later */
	make_ruleset(&l, s, conf);
	rc = privs_drop(privs, conf->sandbox.drop_capabilities);
	if (rc < 0 || l.fd < 0)
		return rc;
	rc = landlock_enter(&l);
	if (rc < 0)
		log_warn("Landlock: %s: files are not restricted", strerror(-rc));
	return 0;
}

void sandbox_log(const struct conf *conf)
{
	int abi = landlock_abi();
	char landlock[64];

	if (!conf->sandbox.landlock)
		snprintf(landlock, sizeof(landlock), "Landlock off");
	else if (abi == 0)
		snprintf(landlock, sizeof(landlock), "no Landlock");
	else
		snprintf(landlock, sizeof(landlock), "Landlock ABI %d", abi);
	log_notice("sandbox of the children: no_new_privs, %s, %s",
		conf->sandbox.drop_capabilities ? "no capabilities" : "capabilities as the user's",
		landlock);
}

const char *sandbox_built(void)
{
#ifdef HAVE_LINUX_LANDLOCK_H
	return " landlock";
#else
	return "";
#endif
}
