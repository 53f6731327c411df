/* privs: only privs_drop() changes identities. It needs no library to drop all capabilities. */
#include "sandbox/privs.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int privs_find(struct privs *p, const char *user, char *err, size_t errsize)
{
	const struct passwd *pw;

	memset(p, 0, sizeof(*p));
	if (geteuid() != 0 || strcmp(user, "root") == 0)
		return 0;
	if (user[0] == '\0') {
		snprintf(err, errsize,
			"h2d is started as root, and no user is set: set user = \"NAME\" (or -u "
			"NAME); "
			"user = \"root\" runs the workers as root");
		return -1;
	}
	errno = 0;
	pw = getpwnam(user);
	if (pw == NULL) {
		snprintf(err, errsize, "user \"%s\" %s%s%s", user,
			errno != 0 ? "cannot be looked up: " : "does not exist",
			errno != 0 ? strerror(errno) : "",
			strpbrk(user, ": ") != NULL
				? ": write the user alone, which implies its group"
				: "");
		return -1;
	}
	p->uid = pw->pw_uid;
	p->gid = pw->pw_gid;
	p->ngroups = PRIVS_GROUPS;
	if (getgrouplist(user, pw->pw_gid, p->groups, &p->ngroups) < 0) {
		snprintf(err, errsize, "user \"%s\" is in %d groups, but at most %d are possible",
			user, p->ngroups, PRIVS_GROUPS);
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

int privs_epoll(void)
{
	/* Users above 2^31 are never assigned (systemd's UIDS-GIDS). */
	uid_t own = UINT32_C(1) << 31 | (uid_t)getpid(), real = getuid();
	int fd = -1;

	if (geteuid() == 0 && setresuid(own, (uid_t)-1, (uid_t)-1) == 0) {
		fd = epoll_create1(EPOLL_CLOEXEC);
		if (setresuid(real, (uid_t)-1, (uid_t)-1) < 0)
			abort();
	}
	return fd;
}

/* Drops capabilities that exec of a privileged file could give back. Before the change of user,
 * which removes the right to do so. */
static int drop_bounding(void)
{
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EPERM)
			return -errno;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

static int change_user(const struct privs *p)
{
	if (setgroups((size_t)p->ngroups, p->groups) < 0 || setresgid(p->gid, p->gid, p->gid) < 0 ||
		setresuid(p->uid, p->uid, p->uid) < 0)
		return -errno;
	/* A way back would defeat all of this. */
	if (p->uid != 0 && setresuid(0, 0, 0) == 0)
		return -EPERM;
	return 0;
}

int privs_drop(const struct privs *p, bool capabilities)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
	int rc = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	if (capabilities)
		rc = drop_bounding();
	if (rc == 0 && p->drop)
		rc = change_user(p);
	/* The permitted, effective and inheritable sets. */
	if (rc == 0 && capabilities && syscall(SYS_capset, &head, none) < 0)
		rc = -errno;
#ifdef __SANITIZE_ADDRESS__
	/* LeakSanitizer traces its own process, which the change of user has just forbidden. */
	if (rc == 0 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		rc = -errno;
#endif
	return rc;
}
