/*
 * htpasswd: a file of "user:hash" lines, with hashes of crypt(3), and the check of a user's
 * password. Called in offload threads: reads a file and computes, without loop or log.
 *
 * Lines may end in CRLF; "#" begins a comment line; text after a second colon is ignored; the first
 * line of a user counts. An unknown user costs as much time as a wrong password.
 */
#pragma once

#include "base/file_id.h"
#include "base/slice.h"

enum htpasswd_result {
	HTPASSWD_WRONG,
	HTPASSWD_RIGHT,
	HTPASSWD_FAILED, /* errno in error */
};

/* One check. */
struct htpasswd {
	const char *file;
	struct slice user, password; /* the password ends in NUL */
	/* Results: */
	struct file_id stamp; /* of the file read */
	int error;
	bool foreign; /* the user's hash is not crypt(3)'s: "$apr1$", "{…}", or no hash */
};

enum htpasswd_result htpasswd_check(struct htpasswd *h);

/* user cannot have a right password, and why. */
typedef void htpasswd_refused_fn(void *ctx, unsigned line, struct slice user, const char *why);

/* Calls refused for each such line of the file. The number of users, or -errno. */
int htpasswd_look(const char *file, htpasswd_refused_fn *refused, void *ctx);

/* True if the file still has this stamp: as fast as a look-up. */
bool htpasswd_unchanged(const char *file, const struct file_id *stamp);

/* Parts of it. The hash of user; n 0: none. */
struct slice htpasswd_find(struct slice text, struct slice user);
bool htpasswd_foreign(struct slice hash);
/* True if hash has no form of a hash, like a password in clear text. */
bool htpasswd_plain(struct slice hash);
bool htpasswd_verify(const char *password, struct slice hash);
