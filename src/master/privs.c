/*
 * privs: changes from root to the configured user. privs_find() asks the user database, in the
 * master; privs_drop() makes system calls only and is the one place where identities change.
 */
#include "master/privs.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int privs_find(struct privs *p, const char *user, char *err, size_t errsize)
{
	const struct passwd *pw;

	memset(p, 0, sizeof(*p));
	if (geteuid() != 0 || user[0] == '\0')
		return 0;
	errno = 0;
	pw = getpwnam(user);
	if (pw == NULL) {
		snprintf(err, errsize, "user \"%s\" %s%s", user,
			errno != 0 ? "cannot be looked up: " : "does not exist",
			errno != 0 ? strerror(errno) : "");
		return -1;
	}
	p->uid = pw->pw_uid;
	p->gid = pw->pw_gid;
	p->ngroups = PRIVS_GROUPS;
	if (getgrouplist(user, pw->pw_gid, p->groups, &p->ngroups) < 0) {
		snprintf(err, errsize, "user \"%s\" is in %d groups, at most %d can be kept", user,
			p->ngroups, PRIVS_GROUPS);
		return -1;
	}
	p->drop = true;
	return 0;
}

bool privs_same(const struct privs *a, const struct privs *b)
{
	return a->drop == b->drop && a->uid == b->uid && a->gid == b->gid &&
	       a->ngroups == b->ngroups &&
	       memcmp(a->groups, b->groups, (size_t)a->ngroups * sizeof(*a->groups)) == 0;
}

int privs_drop(const struct privs *p)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	if (!p->drop)
		return 0;
	if (setgroups((size_t)p->ngroups, p->groups) < 0 || setresgid(p->gid, p->gid, p->gid) < 0 ||
		setresuid(p->uid, p->uid, p->uid) < 0)
		return -errno;
	/* A way back would make all of this decoration. */
	if (p->uid != 0 && setresuid(0, 0, 0) == 0)
		return -EPERM;
#ifdef __SANITIZE_ADDRESS__
	/* LeakSanitizer traces its own process, which the change of identity has just forbidden. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return -errno;
#endif
	return 0;
}
