/*
 * heir: takes what the running master hands over into this one; see heir.h. Master calls it before
 * the first generation, reload and takeover while that one is built. What is handed over is checked
 * as foreign data: it may be of another version.
 */
#include "master/heir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "image/memfd.h"
#include "machine/notify.h"
#include "master/drain.h"
#include "master/health.h"
#include "master/master_state.h"
#include "master/tickets.h"

enum { FDS_MAX = 1 << 20 };

void heir_say(struct master *m, const char *what, const char *text)
{
	char msg[1024];
	int n = snprintf(msg, sizeof(msg), "%s%.900s", what, text);

	if (m->heir.channel.fd >= 0)
		send(m->heir.channel.fd, msg, (size_t)n, MSG_NOSIGNAL);
}

/* --- what is inherited ------------------------------------------------------------------------ */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* "5:6" */
static bool read_variable(const char *text, int *memfd, int *channel)
{
	int end = 0;

	return sscanf(text, "%6d:%6d%n", memfd, channel, &end) == 2 && text[end] == '\0' &&
	       *memfd > STDERR_FILENO && *channel > STDERR_FILENO && *memfd != *channel;
}

static bool is_channel(int fd)
{
	int type = 0, domain = 0;
	socklen_t n = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_SEQPACKET &&
	       getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 && domain == AF_UNIX &&
	       fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

static const char *read_memfd(struct handover *h, int fd)
{
	off_t size = memfd_sealed_size(fd, true);
	const char *wrong;
	char *text;

	if (size <= 0 || size > HANDOVER_MAX)
		return "what is handed over is not sealed";
	text = malloc((size_t)size + 1);
	if (text == NULL)
		return "out of memory";
	text[size] = '\0';
	if (pread(fd, text, (size_t)size, 0) != size || strlen(text) != (size_t)size)
		wrong = "what is handed over cannot be read";
	else
		wrong = handover_parse(h, text);
	OPENSSL_cleanse(text, (size_t)size);
	free(text);
	return wrong;
}

/* Each is open, ours, and named once: nothing may be closed twice. */
static bool own(void *seen, int fd)
{
	uint8_t *bits = seen;

	if (fd >= FDS_MAX || bits[fd / 8] & 1u << fd % 8)
		return false;
	bits[fd / 8] |= (uint8_t)(1u << fd % 8);
	return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

static const char *own_all(const struct handover *h)
{
	uint8_t *seen = calloc(FDS_MAX / 8, 1);
	bool ok = seen != NULL && handover_each_fd(h, own, seen);

	free(seen);
	return ok ? NULL : "a descriptor is not there, or there twice";
}

static const char *adopt_listeners(struct master *m)
{
	static char err[512];

	LIST_FOREACH(node, &m->heir.from.listeners) {
		const struct handover_listener *l =
			LIST_ENTRY(node, struct handover_listener, node);
		struct sockets_entry *e =
			sockets_adopt(&m->sockets, &l->wanted, l->fds, l->n, err, sizeof(err));

		if (e == NULL)
			return err;
		e->old = l->id;
		e->passed = l->passed;
	}
	return NULL;
}

/* Descriptors of lines that a newer program may have written, and this one does not know. */
static void close_spare(struct handover *h)
{
	while (h->nspare > 0)
		close(h->spare[--h->nspare]);
}

static const char *adopt(struct master *m)
{
	struct handover *h = &m->heir.from;
	const char *wrong = own_all(h);

	if (wrong != NULL)
		return wrong;
	close_spare(h);
	m->last_number = h->generation;
	drain_inherit(m, h->reign[0], h->reign[1]);
	m->status.running = h->request;
	m->status.request = h->request - 1;
	if (h->drained)
		health_set(m, BOARD_HEALTH_DRAINED, true);
	if (!tickets_adopt(m, h))
		return "session tickets: out of memory";
	if (h->pid_path != NULL && pidfile_adopt(&m->pidfile, h->pid_path, h->pid_fd) < 0)
		return "out of memory";
	return adopt_listeners(m);
}

static const char *take(struct master *m, int memfd)
{
	const char *wrong = read_memfd(&m->heir.from, memfd);

	return wrong != NULL ? wrong : adopt(m);
}

/* --- the channel ------------------------------------------------------------------------------ */

void heir_close(struct master *m)
{
	if (m->heir.channel.active)
		loop_unwatch(&m->loop, &m->heir.channel);
	close_fd(&m->heir.channel.fd);
	close_fd(&m->heir.from.keeper);
}

bool heir_leave(struct master *m)
{
	bool heir = m->heir.channel.fd >= 0;

	heir_close(m);
	return heir;
}

/* --- the beginning and the end ---------------------------------------------------------------- */

static int refuse(struct master *m, const char *why)
{
	fprintf(stderr, "h2d: upgrade: %s\n", why);
	heir_say(m, "text ", why);
	return -1;
}

int heir_take(struct master *m, void (*fn)(struct watch *w, uint32_t events))
{
	const char *variable = getenv(HEIR_VARIABLE), *wrong;
	struct heir *h = &m->heir;
	int memfd = -1, channel = -1, rc;

	handover_init(&h->from);
	h->channel = (struct watch){ .fn = fn, .fd = -1 };
	if (variable == NULL)
		return 0;
	if (!read_variable(variable, &memfd, &channel) || !is_channel(channel))
		return refuse(m, HEIR_VARIABLE " is not from a running h2d");
	unsetenv(HEIR_VARIABLE);
	notify_hold(true);
	h->channel.fd = channel;
	wrong = take(m, memfd);
	close(memfd);
	if (wrong != NULL)
		return refuse(m, wrong);
	master_go(m, MASTER_HEIR);
	log_notice("taking over from process %" PRIu32, h->from.process);
	rc = loop_watch(&m->loop, &h->channel, EPOLLIN);
	return rc < 0 ? refuse(m, strerror(-rc)) : 0;
}

void heir_fini(struct master *m)
{
	heir_close(m);
	handover_fini(&m->heir.from);
}
