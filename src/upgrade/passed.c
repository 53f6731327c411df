/*
 * passed: reads and writes LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES; see passed.h. In a run of
 * descriptors of the same name, only the first has it, because a variable has 128 KiB at most.
 */
#include "upgrade/passed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"

enum { FDS_MAX = 1 << 18 };

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
