/*
 * htpasswd: a file of "user:hash" lines, and whether a password is a user's: what crypt(3) takes as a hash.
 * Called in offload threads: reads a file and computes, knows neither loop nor log.
 *
 * Lines may end in CRLF; "#" begins a comment line; what follows a second colon is ignored; the first
 * line of a user counts. A user who is not there costs as much time as a wrong password.
 */
#ifndef H2D_HTTP_HTPASSWD_H
#define H2D_HTTP_HTPASSWD_H

#include <sys/stat.h>

#include "base/slice.h"

/* What tells one state of a file from the next. */
struct htpasswd_stamp {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime, ctime;
};

enum htpasswd_result {
	HTPASSWD_WRONG,
	HTPASSWD_RIGHT,
	HTPASSWD_UNCHANGED,   /* the file has known's stamp: what was found then holds */
	HTPASSWD_FAILED,      /* errno in error */
};

/* One question. */
struct htpasswd {
	const char *file;
	struct slice user, password;         /* the password ends in NUL */
	const struct htpasswd_stamp *known;  /* NULL: do not compare */
	/* Answers: */
	struct htpasswd_stamp stamp;         /* of the file that was read */
	int error;
	bool foreign;                        /* the user's hash is "$apr1$" or "{…}", which is not crypt(3)'s */
};

enum htpasswd_result htpasswd_check(struct htpasswd *h);

/* The parts of it. hash: that of user, n 0 for none. any: some hash of the file that crypt(3) takes. */
void htpasswd_find(struct slice text, struct slice user, struct slice *hash, struct slice *any);
bool htpasswd_foreign(struct slice hash);
bool htpasswd_verify(const char *password, struct slice hash);

bool htpasswd_same(const struct htpasswd_stamp *a, const struct htpasswd_stamp *b);

#endif
