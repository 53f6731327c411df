/*
 * privs: the user that the child processes run as. The master looks the user up while it builds a
 * generation; each child applies it right after the fork.
 */
#ifndef H2D_SANDBOX_PRIVS_H
#define H2D_SANDBOX_PRIVS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { PRIVS_GROUPS = 64 };

struct privs {
	bool drop; /* false: the children stay what the master is */
	uid_t uid;
	gid_t gid;
	gid_t groups[PRIVS_GROUPS];
	int ngroups;
};

/*
 * Finds user, its primary group and its other groups. Nothing is dropped when user is "root" or the
 * master is not root. 0, or -1 with a message in err: also of a master that is root, when user is
 * "".
 */
int privs_find(struct privs *p, const char *user, char *err, size_t errsize);

/* Whether both may do the same. */
bool privs_same(const struct privs *a, const struct privs *b);

/*
 * In a child, before privs_drop(): an epoll instance whose watches the kernel counts for nobody
 * else, so that another process of the user cannot use up their number (epoll(7)); -1: only root
 * can have one.
 */
int privs_epoll(void);

/*
 * In a child: becomes that user, for good, and gives up gaining privileges by exec. capabilities:
 * those of every set go, whoever the user is. 0, or -errno.
 */
int privs_drop(const struct privs *p, bool capabilities);

#endif
