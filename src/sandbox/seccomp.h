/*
 * seccomp: the list of system calls that a child may make (seccomp(2), by libseccomp). Sandbox
 * enforces it as the last step before the child's own function; syscalls.def has the list.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls, by the columns of syscalls.def. */
enum seccomp_calls {
	SECCOMP_EVERY = 1,
	SECCOMP_FILES = 2,    /* to open files */
	SECCOMP_WORKER = 4,   /* to store them */
	SECCOMP_KEEPER = 8,   /* to watch them, to lower its priority */
	SECCOMP_SERVE = 16,   /* to accept connections and use them */
	SECCOMP_NETWORK = 32, /* to make connections */
	SECCOMP_SYSLOG = 64,  /* to send lines to syslogd */
	SECCOMP_PROXY = 128,  /* to connect to applications */
	SECCOMP_NAMES = 256,  /* to look up their names */
};

struct seccomp {
	unsigned calls;    /* SECCOMP_… */
	bool log;          /* allow every call, and log unlisted ones by the kernel */
	char *const *more; /* names of further calls */
	unsigned nmore;
};

struct seccomp_program {
	uint64_t insns[4096]; /* struct sock_filter; as many as the kernel takes */
	size_t size;          /* bytes */
};

/* True if this build has it; if this kernel has it, and takes filters. */
bool seccomp_built(void);
bool seccomp_there(void);

/* The filter of s, for this process alone. 0, or -errno. */
int seccomp_make(const struct seccomp *s, struct seccomp_program *p);

/* Enforces it for this process; no_new_privs must be set. 0, or -errno: not in force. */
int seccomp_enter(const struct seccomp *s);
