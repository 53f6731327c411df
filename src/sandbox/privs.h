/*
 * privs: the user that the child processes run as. The master looks the user up while it builds a
 * generation; each child applies it right after the fork.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { PRIVS_GROUPS = 64 };

struct privs {
	bool drop; /* false: the children keep the master's user */
	uid_t uid;
	gid_t gid;
	gid_t groups[PRIVS_GROUPS];
	int ngroups;
};

/*
 * Finds user, its primary group and its other groups. Does not change it when user is "root" or the
 * master is not root. 0, or -1 with a message in err: also if the master is root and user is "".
 */
int privs_find(struct privs *p, const char *user, char *err, size_t errsize);

/* True if both have the same permissions. */
bool privs_same(const struct privs *a, const struct privs *b);

/*
 * In a child, before privs_drop(): an epoll instance with a separate count of watches, so that
 * another process of the user cannot use up their number (epoll(7)); -1: only root can have one.
 */
int privs_epoll(void);

/*
 * In a child: becomes that user, for good, and cannot gain privileges by exec. capabilities: drops
 * all sets, for any user. 0, or -errno.
 */
int privs_drop(const struct privs *p, bool capabilities);
