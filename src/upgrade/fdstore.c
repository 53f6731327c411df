/*
 * fdstore: the name of a listener is its address; that of a unix socket its file's device and
 * inode, because a path may name another file by the time the socket comes back.
 */
#include "upgrade/fdstore.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/notify.h"

#define PREFIX "h2d/"

enum { AT_ONCE = 64, SETTLE_MS = 1000 };

bool fdstore_is_on(void)
{
	const char *most = getenv("FDSTORE");

	return most != NULL && atoi(most) > 0;
}

static void name_file(char *buf, dev_t dev, ino_t ino)
{
	snprintf(buf, FDSTORE_NAME, PREFIX "unix/%ju/%ju", (uintmax_t)dev, (uintmax_t)ino);
}

void fdstore_name(const struct listener *l, char buf[FDSTORE_NAME])
{
	char text[ADDR_TEXT];

	if (l->addr.sa.sa_family == AF_UNIX) {
		name_file(buf, l->dev, l->ino);
		return;
	}
	addr_format(&l->addr, text, sizeof(text));
	for (char *p = text; *p != '\0'; p++)
		if (*p == ':')
			*p = '_';
	snprintf(buf, FDSTORE_NAME, PREFIX "%s", text);
}

bool fdstore_is_name(const char *name)
{
	return strncmp(name, PREFIX, strlen(PREFIX)) == 0;
}

bool fdstore_is_file(const char *name, const struct addr *addr)
{
	char buf[FDSTORE_NAME];
	struct stat st;

	if (lstat(addr->un.sun_path, &st) < 0)
		return false;
	name_file(buf, st.st_dev, st.st_ino);
	return strcmp(buf, name) == 0;
}

void fdstore_remove_name(const char *name)
{
	char msg[FDSTORE_NAME + 32];

	snprintf(msg, sizeof(msg), "FDSTOREREMOVE=1\nFDNAME=%s\n", name);
	if (fdstore_is_on())
		notify_fds(msg, NULL, 0);
}

void fdstore_remove(const struct listener *l)
{
	char name[FDSTORE_NAME];

	fdstore_name(l, name);
	fdstore_remove_name(name);
}

/* By BARRIER=1 (sd_notify_barrier(3)): the manager closes the pipe when it has handled all messages
 * before. */
void fdstore_settle(void)
{
	int ends[2];

	if (!fdstore_is_on() || pipe2(ends, O_CLOEXEC) < 0)
		return;
	notify_fds("BARRIER=1\n", &ends[1], 1);
	close(ends[1]);
	poll(&(struct pollfd){ .fd = ends[0] }, 1, SETTLE_MS);
	close(ends[0]);
}

void fdstore_put(const struct listener *l)
{
	unsigned n = l->shared ? 1 : l->nslots;
	char name[FDSTORE_NAME], msg[FDSTORE_NAME + 32];

	if (!fdstore_is_on())
		return;
	fdstore_name(l, name);
	fdstore_remove_name(name);
	/* FDPOLL=0: no checks for hang-ups, which would cost a wake-up each. */
	snprintf(msg, sizeof(msg), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s\n", name);
	for (unsigned i = 0; i < n; i += AT_ONCE)
		notify_fds(msg, l->fds + i, n - i < AT_ONCE ? n - i : AT_ONCE);
}
