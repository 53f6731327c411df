/*
 * passed: reads and writes LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES; see passed.h. In a run of
 * descriptors of the same name, only the first has it, because a variable has 128 KiB at most.
 * program_exec() is called in a process that was forked for it, never in the master itself.
 */
#include "upgrade/passed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"

enum { FDS_MAX = 1 << 18, VARIABLES = 8 };

bool passed_add(struct passed *p, int fd, const char *name)
{
	if (fd < 0)
		return true;
	if (p->n == p->room) {
		unsigned room = 2 * p->room + 16;
		struct passed_fd *v = realloc(p->v, room * sizeof(*v));

		if (v == NULL)
			return false;
		p->v = v;
		p->room = room;
	}
	p->v[p->n] = (struct passed_fd){ fd, strdup(name) };
	if (p->v[p->n].name == NULL)
		return false;
	p->n++;
	return true;
}

int passed_take(struct passed *p, const char *name)
{
	for (unsigned i = 0; i < p->n; i++) {
		int fd = p->v[i].fd;

		if (fd < 0 || strcmp(p->v[i].name, name) != 0)
			continue;
		p->v[i].fd = -1;
		return fd;
	}
	return -1;
}

void passed_free(struct passed *p)
{
	while (p->n > 0)
		free(p->v[--p->n].name);
	free(p->v);
	*p = (struct passed){ 0 };
}

/* --- reading ---------------------------------------------------------------------------------- */

static unsigned long passed_number(const char *variable, unsigned long max)
{
	const char *text = getenv(variable);
	unsigned long n;
	char *end;

	if (text == NULL || *text < '0' || *text > '9')
		return 0;
	n = strtoul(text, &end, 10);
	return *end == '\0' && n <= max ? n : 0;
}

static void read_all(struct passed *p, unsigned n, char *names)
{
	const char *name = "no name", *next;

	for (unsigned i = 0; i < n; i++) {
		int fd = PASSED_FIRST + (int)i;

		next = strsep(&names, ":");
		if (next != NULL && *next != '\0')
			name = next;
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && !passed_add(p, fd, name))
			break;
	}
}

void passed_read(struct passed *p)
{
	bool ours = passed_number("LISTEN_PID", INT_MAX) == (unsigned long)getpid();
	const char *text = getenv("LISTEN_FDNAMES");
	char *names = strdup(text != NULL ? text : "");

	*p = (struct passed){ 0 };
	if (ours && names != NULL)
		read_all(p, (unsigned)passed_number("LISTEN_FDS", FDS_MAX), names);
	free(names);
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
}

/* --- the program ------------------------------------------------------------------------------ */

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

/*
 * Replaces this process by the present program argv[0], found like by a shell. variables: at most
 * VARIABLES times "NAME=value" and a NULL, added to the environment. Variables for a single process
 * (LISTEN_PID and the like) are removed, and WATCHDOG_PID becomes this one. -errno.
 */
static int program_exec(const struct program *p, const char *const *variables)
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

/* --- writing ---------------------------------------------------------------------------------- */

/* Above all of them first, because a descriptor's place may hold another one that is not moved
 * yet. */
static int put_in_place(const struct passed *p)
{
	int *high = calloc(p->n + 1, sizeof(*high)), rc = high != NULL ? 0 : -ENOMEM;

	for (unsigned i = 0; rc == 0 && i < p->n; i++) {
		high[i] = fcntl(p->v[i].fd, F_DUPFD_CLOEXEC, PASSED_FIRST + (int)p->n);
		rc = high[i] >= 0 ? 0 : -errno;
	}
	for (unsigned i = 0; rc == 0 && i < p->n; i++)
		if (dup2(high[i], PASSED_FIRST + (int)i) < 0)
			rc = -errno;
	free(high);
	return rc;
}

static void write_names(const struct passed *p, struct strbuf *out)
{
	strbuf_printf(out, "LISTEN_FDNAMES=");
	for (unsigned i = 0; i < p->n; i++) {
		bool again = i > 0 && strcmp(p->v[i].name, p->v[i - 1].name) == 0;

		strbuf_printf(out, "%s%s", i > 0 ? ":" : "", again ? "" : p->v[i].name);
	}
	strbuf_add(out, (struct slice){ "", 1 });
}

int passed_exec(const struct passed *p, const struct program *program, const char *variable)
{
	char pid[32], fds[32];
	struct strbuf names = { 0 };
	int rc = put_in_place(p);

	snprintf(pid, sizeof(pid), "LISTEN_PID=%d", (int)getpid());
	snprintf(fds, sizeof(fds), "LISTEN_FDS=%u", p->n);
	write_names(p, &names);
	if (rc == 0)
		rc = names.failed ? -ENOMEM
				  : program_exec(program, (const char *const[]){ variable, pid, fds,
								  names.p, NULL });
	strbuf_fini(&names);
	return rc;
}
