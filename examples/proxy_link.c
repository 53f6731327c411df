/*
 * proxy_link: see proxy_link.h. The address of the upstream is the key upstream of the handler.
 * Called by proxy.c.
 */
#include "proxy_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IDLE_MAX = 16 };

struct links {
	struct h2d_worker *worker;
	struct sockaddr_in upstream;
	struct proxy_link *idle; /* the one that was used last first */
	unsigned nidle;
};

struct proxy_link {
	struct links *all;
	struct proxy_link *next; /* idle */
	struct h2d_watch *watch;
	h2d_watch_fn *fn; /* NULL: idle */
	void *arg;
	int fd;
	bool used;
};

int proxy_link_fd(const struct proxy_link *l)
{
	return l->fd;
}

bool proxy_link_used(const struct proxy_link *l)
{
	return l->used;
}

static void link_close(struct proxy_link *l)
{
	h2d_watch_free(l->watch);
	if (l->fd >= 0)
		close(l->fd);
	free(l);
}

static void idle_ends(struct proxy_link *l)
{
	struct proxy_link **at = &l->all->idle;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	l->all->nidle--;
	link_close(l);
}

/* An event may be of bytes that were read by then. */
static bool is_quiet(const struct proxy_link *l)
{
	char byte;

	return recv(l->fd, &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN;
}

/* What comes on one that is idle is its end, or nobody's. */
static void on_change(void *arg, unsigned changes)
{
	struct proxy_link *l = arg;

	if (l->fn != NULL)
		l->fn(l->arg, changes);
	else if (changes & (H2D_READABLE | H2D_HANGUP) && !is_quiet(l))
		idle_ends(l);
}

static struct proxy_link *link_open(struct links *all)
{
	const struct sockaddr *to = (const struct sockaddr *)&all->upstream;
	struct proxy_link *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->all = all;
	l->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->fd >= 0 && (connect(l->fd, to, sizeof(all->upstream)) == 0 || errno == EINPROGRESS))
		l->watch = h2d_watch_new(all->worker, l->fd, on_change, l);
	if (l->watch != NULL)
		return l;
	link_close(l);
	return NULL;
}

struct proxy_link *proxy_link_get(
	struct h2d_worker *worker, h2d_watch_fn *fn, void *arg, bool fresh)
{
	struct links *all = h2d_worker_context(worker);
	struct proxy_link *l = all->idle;

	if (fresh || l == NULL) {
		l = link_open(all);
	} else {
		all->idle = l->next;
		all->nidle--;
	}
	if (l != NULL) {
		l->fn = fn;
		l->arg = arg;
	}
	return l;
}

void proxy_link_put(struct proxy_link *l, bool good)
{
	struct links *all = l->all;

	if (!good || all->nidle == IDLE_MAX) {
		link_close(l);
		return;
	}
	l->fn = NULL;
	l->used = true;
	l->next = all->idle;
	all->idle = l;
	all->nidle++;
}

int proxy_links_init(struct h2d_worker *worker, void **context)
{
	struct links *all = calloc(1, sizeof(*all));
	unsigned port;
	char host[64];

	*context = all;
	if (all == NULL ||
		sscanf(h2d_conf_string(worker, "upstream"), "%63[^:]:%u", host, &port) != 2)
		return -1;
	all->worker = worker;
	all->upstream.sin_family = AF_INET;
	all->upstream.sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, host, &all->upstream.sin_addr) == 1 ? 0 : -1;
}

void proxy_links_exit(void *context)
{
	struct links *all = context;

	while (all->idle != NULL)
		idle_ends(all->idle);
	free(all);
}
