/*
 * htpasswd: a file of "user:hash" lines, and whether a password is a user's: what crypt(3) takes as
 * a hash. Called in offload threads: reads a file and computes, knows neither loop nor log.
 *
 * Lines may end in CRLF; "#" begins a comment line; what follows a second colon is ignored; the
 * first line of a user counts. A user who is not there costs as much time as a wrong password.
 */
#ifndef H2D_AUTH_HTPASSWD_H
#define H2D_AUTH_HTPASSWD_H

#include "base/file_id.h"
#include "base/slice.h"

enum htpasswd_result {
	HTPASSWD_WRONG,
	HTPASSWD_RIGHT,
	HTPASSWD_FAILED, /* errno in error */
};

/* One question. */
struct htpasswd {
	const char *file;
	struct slice user, password; /* the password ends in NUL */
	/* Answers: */
	struct file_id stamp; /* of the file that was read */
	int error;
	bool foreign; /* the user's hash is not crypt(3)'s: "$apr1$", "{…}", or no hash at all */
};

enum htpasswd_result htpasswd_check(struct htpasswd *h);

/* user has no password that would be right, and why. */
typedef void htpasswd_refused_fn(void *ctx, unsigned line, struct slice user, const char *why);

/* Calls refused for each such line of the file. The number of users, or -errno. */
int htpasswd_look(const char *file, htpasswd_refused_fn *refused, void *ctx);

/* Whether the file is as it was when it had this stamp: takes no longer than a look-up. */
bool htpasswd_unchanged(const char *file, const struct file_id *stamp);

/* The parts of it. The hash of user; n 0: there is none. */
struct slice htpasswd_find(struct slice text, struct slice user);
bool htpasswd_foreign(struct slice hash);
/* Whether hash has the form of none, as a password has that somebody wrote there as it is. */
bool htpasswd_plain(struct slice hash);
bool htpasswd_verify(const char *password, struct slice hash);

#endif
