/*
 * notify: sends READY, RELOADING and STOPPING to systemd, without systemd's library. The master,
 * reload and drain call it; a child never does.
 */
#include "master/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

static bool held;

void notify_hold(bool hold)
{
	held = hold;
}

static void notify_send(const char *msg, size_t n)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
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
	if (fd < 0 || sendto(fd, msg, n, MSG_NOSIGNAL, (const struct sockaddr *)&sun, len) < 0)
		log_warn("cannot notify %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void notify_state(const char *state, const char *text)
{
	char msg[640];
	int n = snprintf(msg, sizeof(msg), "%s\nSTATUS=%.500s\n", state, text);

	notify_send(msg, (size_t)n);
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
	static const char text[] = "WATCHDOG=1\n";

	/* Only where the service manager waits for it (sd_watchdog_enabled(3)). */
	if (getenv("WATCHDOG_USEC") != NULL)
		notify_send(text, sizeof(text) - 1);
}

void notify_stopping(const char *text)
{
	notify_state("STOPPING=1", text);
}

void notify_main_pid(pid_t pid)
{
	char msg[64];
	int n = snprintf(msg, sizeof(msg), "MAINPID=%d\n", (int)pid);

	notify_send(msg, (size_t)n);
}
