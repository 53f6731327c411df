/*
 * pidfile: the file that names the master's process, and whose lock shows that the master lives.
 * The number alone proves nothing (it may be another process by now); the lock does.
 */
#ifndef H2D_MACHINE_PIDFILE_H
#define H2D_MACHINE_PIDFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pidfile {
	char *path; /* NULL: none is kept */
	int fd;     /* holds the lock; -1: none */
	bool mine;  /* the file is ours to write and to unlink */
	bool stale; /* it could not be written: it names another process than it should */
};

#define PIDFILE_NONE ((struct pidfile){ .fd = -1 })

/* Creates path, locks it and writes our process ID. 0, or -1 with a message in err. */
int pidfile_open(struct pidfile *p, const char *path, char *err, size_t errsize);

/*
 * Takes a file that another process holds open and locked: the lock belongs to the open file, so
 * both have it. It stays the other's until p->mine is set. 0, or -ENOMEM.
 */
int pidfile_adopt(struct pidfile *p, const char *path, int fd);

/* Writes which process the file names. 0, or -errno. */
int pidfile_name(const struct pidfile *p, pid_t pid);

/* Has the file, if one is kept, name this process. Where that fails, the log says why, and p is
 * stale. */
void pidfile_claim(struct pidfile *p);

/* Tries again, if p is stale and ours; the log says when it is not any more. For once a second. */
void pidfile_retry(struct pidfile *p);

/* Unlinks the file if it is ours and lets go of the lock; harmless when none is kept. */
void pidfile_close(struct pidfile *p);

/* The process that holds path's lock. 0: nobody does, or there is no such file; -errno. */
pid_t pidfile_holder(const char *path);

#endif
