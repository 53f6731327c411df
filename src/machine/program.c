/*
 * program: keeps the program's call, and repeats it; see program.h. program_exec() is called in a
 * process that was forked for it, never in the master itself.
 */
#include "machine/program.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VARIABLES = 8 };

static const char *const single_use[] = {
	"H2D_UPGRADE=", "LISTEN_PID=", "LISTEN_FDS=", "LISTEN_FDNAMES="
};

/* A copy has room for some more before the NULL. */
static char **program_copy(char **list)
{
	size_t n = 0;
	char **out;

	while (list[n] != NULL)
		n++;
	out = calloc(n + VARIABLES + 1, sizeof(*out));
	if (out != NULL)
		memcpy(out, list, n * sizeof(*out));
	return out;
}

int program_keep(struct program *p, char **argv)
{
	*p = (struct program){ program_copy(argv), program_copy(environ) };
	if (p->argv != NULL && p->env != NULL)
		return 0;
	program_free(p);
	return -ENOMEM;
}

static int is_single_use(const char *variable)
{
	for (size_t i = 0; i < sizeof(single_use) / sizeof(single_use[0]); i++)
		if (strncmp(variable, single_use[i], strlen(single_use[i])) == 0)
			return 1;
	return 0;
}

/*
 * execvpe(3) except that a file which is no program is an error, not a shell script. Of all errors
 * one other than "no such file" counts.
 */
static int program_run(const char *name, char **argv, char **env)
{
	const char *folders = getenv("PATH");
	char path[PATH_MAX];
	int rc = -ENOENT;

	if (strchr(name, '/') != NULL) {
		execve(name, argv, env);
		return -errno;
	}
	for (size_t n; folders != NULL; folders = folders[n] != '\0' ? folders + n + 1 : NULL) {
		n = strcspn(folders, ":");
		if (snprintf(path, sizeof(path), "%.*s/%s", n > 0 ? (int)n : 1,
			    n > 0 ? folders : ".", name) >= (int)sizeof(path))
			continue;
		execve(path, argv, env);
		if (errno != ENOENT && errno != ENOTDIR)
			rc = -errno;
	}
	return rc;
}

int program_exec(const struct program *p, const char *const *variables)
{
	static char watchdog[40];
	char **env = program_copy(p->env);
	size_t n = 0;
	int rc;

	if (env == NULL)
		return -ENOMEM;
	for (char **v = p->env; *v != NULL; v++) {
		env[n] = strncmp(*v, "WATCHDOG_PID=", 13) == 0 ? watchdog : *v;
		n += !is_single_use(*v);
	}
	snprintf(watchdog, sizeof(watchdog), "WATCHDOG_PID=%d", (int)getpid());
	for (unsigned i = 0; i < VARIABLES && variables[i] != NULL; i++)
		env[n++] = (char *)(uintptr_t)variables[i];
	env[n] = NULL;
	rc = program_run(p->argv[0], p->argv, env);
	free(env);
	return rc;
}

void program_free(struct program *p)
{
	free(p->argv);
	free(p->env);
	*p = (struct program){ 0 };
}
