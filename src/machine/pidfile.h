/*
 * pidfile: the file that names the master's process, and whose lock shows that the master lives.
 * The number alone is no proof (it may be another process by now); the lock is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pidfile {
	char *path; /* NULL: none is kept */
	int fd;     /* holds the lock; -1: none */
	bool mine;  /* the file is ours to write and to unlink */
	bool stale; /* it could not be written: it names the wrong process */
};

#define PIDFILE_NONE ((struct pidfile){ .fd = -1 })

/* Creates path, locks it and writes our process ID. 0, or -1 with a message in err. */
int pidfile_open(struct pidfile *p, const char *path, char *err, size_t errsize);

/*
 * Takes a file that another process holds open and locked: the lock belongs to the open file, so
 * both have it. The file stays the other's until p->mine is set. 0, or -ENOMEM.
 */
int pidfile_adopt(struct pidfile *p, const char *path, int fd);

/* Writes pid to the file. 0, or -errno. */
int pidfile_name(const struct pidfile *p, pid_t pid);

/* Writes this process to the file, if one is kept. On failure, logs the reason, and p is stale. */
void pidfile_claim(struct pidfile *p);

/* Tries again, if p is stale and ours; logs success. Called once a second. */
void pidfile_retry(struct pidfile *p);

/* Unlinks the file if it is ours and releases the lock; harmless when none is kept. */
void pidfile_close(struct pidfile *p);

/* The process that holds path's lock. 0: none, or no such file; -errno. */
pid_t pidfile_holder(const char *path);
