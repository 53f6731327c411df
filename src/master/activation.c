/*
 * activation: reads LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES; see activation.h. Master calls it
 * before the first generation. A descriptor that is of no use is closed, with a warning: none of
 * this keeps the master from starting.
 */
#include "master/activation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "upgrade/fdstore.h"

enum { FIRST_FD = 3, FDS_MAX = 4096, SAME_MAX = 1024 };

struct passed {
	int fd; /* -1: taken or closed */
	bool stored;
	const char *name;
	struct addr addr;
};

static unsigned long number(const char *name, unsigned long max)
{
	const char *text = getenv(name);
	unsigned long n;
	char *end;

	if (text == NULL || *text < '0' || *text > '9')
		return 0;
	n = strtoul(text, &end, 10);
	return *end == '\0' && n <= max ? n : 0;
}

/* The next of names that colons part; NULL when there are no more. */
static const char *next_name(char **names)
{
	char *name = *names, *colon = name != NULL ? strchr(name, ':') : NULL;

	if (colon != NULL)
		*colon++ = '\0';
	*names = colon;
	return name;
}

static void give_up(struct passed *p, const char *why)
{
	log_warn("descriptor %d (%s) was passed: %s", p->fd, p->name, why);
	close(p->fd);
	p->fd = -1;
	if (p->stored)
		fdstore_remove_name(p->name);
}

static void look(struct passed *p, int fd, const char *name)
{
	*p = (struct passed){ .fd = fd, .name = name != NULL ? name : "no name" };
	p->stored = fdstore_is_name(p->name);
	p->addr.len = sizeof(p->addr.storage);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		p->fd = -1;
	else if (getsockname(fd, &p->addr.sa, &p->addr.len) < 0)
		give_up(p, strerror(errno));
	else if (p->addr.sa.sa_family == AF_UNIX && p->stored &&
		 !fdstore_is_file(p->name, &p->addr))
		give_up(p, "the file of the socket is gone");
}

static void adopt(struct sockets *s, struct passed *all, unsigned n, unsigned first)
{
	struct passed *same[SAME_MAX];
	int fds[SAME_MAX] = { 0 };
	unsigned nsame = 0;
	struct sockets_entry *e;
	char err[256];

	for (unsigned i = first; i < n && nsame < SAME_MAX; i++) {
		if (all[i].fd < 0 || all[i].stored != all[first].stored ||
			!addr_equal(&all[i].addr, &all[first].addr))
			continue;
		same[nsame] = &all[i];
		fds[nsame++] = all[i].fd;
	}
	e = sockets_adopt(s, NULL, fds, nsame, err, sizeof(err));
	for (unsigned i = 0; i < nsame; i++) {
		if (e == NULL)
			give_up(same[i], err);
		same[i]->fd = -1;
	}
	if (e == NULL)
		return;
	e->passed = !all[first].stored;
	e->listener.mine = all[first].stored;
	e->fresh = true;
}

void activation_take(struct sockets *s)
{
	unsigned n = number("LISTEN_PID", INT32_MAX) == (unsigned long)getpid()
			     ? (unsigned)number("LISTEN_FDS", FDS_MAX)
			     : 0;
	const char *text = getenv("LISTEN_FDNAMES");
	char *names = strdup(text != NULL ? text : ""), *rest = names;
	struct passed *all = calloc(n + 1, sizeof(*all));

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (names == NULL || all == NULL)
		n = 0;
	for (unsigned i = 0; i < n; i++)
		look(&all[i], FIRST_FD + (int)i, next_name(&rest));
	for (unsigned i = 0; i < n; i++)
		if (all[i].fd >= 0)
			adopt(s, all, n, i);
	free(all);
	free(names);
}
