/*
 * program: how this program was called: arguments, environment and, as nobody changes it, the
 * working directory; and the way to run it once more. Main keeps it before anything changes the
 * environment; upgrade runs it.
 */
#ifndef H2D_MACHINE_PROGRAM_H
#define H2D_MACHINE_PROGRAM_H

struct program {
	char **argv, **env; /* copies of the lists; the strings are the process's own */
};

/* 0, or -ENOMEM. */
int program_keep(struct program *p, char **argv);

/*
 * Replaces this process, by what argv[0] names now, found as a shell finds it. variables: at most
 * eight "NAME=value" and a NULL, added to the environment. What was meant for one process
 * (LISTEN_PID and the like) is left out, and WATCHDOG_PID becomes this one. -errno.
 */
int program_exec(const struct program *p, const char *const *variables);

void program_free(struct program *p);

#endif
