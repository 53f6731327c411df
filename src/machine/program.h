/*
 * program: this program's call: arguments, environment and, as it never changes, the working
 * directory; and a way to repeat it. Main keeps it before the environment changes; upgrade runs it.
 */
#pragma once

struct program {
	char **argv, **env; /* copies of the lists; the strings are the process's own */
};

/* 0, or -ENOMEM. */
int program_keep(struct program *p, char **argv);

/*
 * Replaces this process by the present program argv[0], found like by a shell. variables: at most
 * eight "NAME=value" and a NULL, added to the environment. Variables for a single process
 * (LISTEN_PID and the like) are removed, and WATCHDOG_PID becomes this one. -errno.
 */
int program_exec(const struct program *p, const char *const *variables);

void program_free(struct program *p);
