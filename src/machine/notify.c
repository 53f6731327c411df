/* notify: the protocol of systemd, without its library; a child never calls it. */
#include "machine/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/scm.h"

enum { FDS_MAX = 253 }; /* SCM_MAX_FD */

/* The time that the service manager waits for the next sign of a stopping master: many of its
 * looks. */
#define EXTEND "EXTEND_TIMEOUT_USEC=15000000"

static bool held;

void notify_hold(bool hold)
{
	held = hold;
}

/* Sends text and descriptors as one message; -1 with errno. */
static ssize_t send_all(int fd, const struct sockaddr_un *to, socklen_t len, struct iovec text,
	const int *fds, unsigned n)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	struct msghdr msg = { .msg_name = (void *)(uintptr_t)to,
		.msg_namelen = len,
		.msg_iov = &text,
		.msg_iovlen = 1 };

	if (n > 0)
		scm_attach(&msg, &control, fds, n);
	return sendmsg(fd, &msg, MSG_NOSIGNAL);
}

void notify_fds(const char *msg, const int *fds, unsigned n)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct iovec text = { (void *)(uintptr_t)msg, strlen(msg) };
	socklen_t len;
	int fd;

	if (held || path == NULL || (path[0] != '/' && path[0] != '@'))
		return;
	if (strlen(path) >= sizeof(sun.sun_path)) {
		log_warn("NOTIFY_SOCKET is too long: %s", path);
		return;
	}
	memcpy(sun.sun_path, path, strlen(path));
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	if (path[0] == '@')
		sun.sun_path[0] = '\0'; /* an abstract name */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || send_all(fd, &sun, len, text, fds, n) < 0)
		log_warn("cannot notify %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void notify_state(const char *state, const char *text)
{
	char msg[640];

	snprintf(msg, sizeof(msg), "%s\nSTATUS=%.500s\n", state, text);
	notify_fds(msg, NULL, 0);
}

void notify_ready(const char *text)
{
	notify_state("READY=1", text);
}

void notify_reloading(const char *text)
{
	char state[64];

	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_read_us());
	notify_state(state, text);
}

void notify_watchdog(void)
{
	/* Only if the service manager waits for it (sd_watchdog_enabled(3)). */
	if (getenv("WATCHDOG_USEC") != NULL)
		notify_fds("WATCHDOG=1\n", NULL, 0);
}

void notify_stopping(const char *text)
{
	notify_state("STOPPING=1\n" EXTEND, text);
}

void notify_leaving(void)
{
	notify_fds(EXTEND "\n", NULL, 0);
}

void notify_main_pid(pid_t pid)
{
	char msg[64];

	snprintf(msg, sizeof(msg), "MAINPID=%d\n", (int)pid);
	notify_fds(msg, NULL, 0);
}
