/*
 * ctl_link: the loop around ctl_recv(). Called by the loop, and once a second by its owner; never
 * waits, and sends nothing but CTL_AGAIN and CTL_TICK.
 */
#include "ipc/ctl_link.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "ipc/lone.h"

enum { TICK_MS = 900 }; /* a timer of a second may be a little early */

static void take(struct ctl_link *l, const struct ctl_msg *msg, const int *fds, int nfds)
{
	for (int i = l->message(l, msg, fds, nfds); i < nfds; i++)
		close(fds[i]);
}

static void on_event(struct watch *w, uint32_t events)
{
	struct ctl_link *l = LIST_ENTRY(w, struct ctl_link, watch);
	struct ctl_msg msg;
	int fds[CTL_FDS_MAX], nfds, rc;

	(void)events;
	while ((rc = ctl_recv(w->fd, &msg, fds, &nfds)) > 0 || rc == -EMFILE) {
		if (rc > 0) {
			take(l, &msg, fds, nfds);
			continue;
		}
		log_error("ctl: a message is lost: %s", strerror(-rc));
		ctl_lost_note(&l->lost, &msg, clock_ms());
	}
	if (rc == -EAGAIN)
		return;
	loop_unwatch(l->loop, w);
	l->gone(l);
}

int ctl_link_open(struct ctl_link *l, struct loop *loop, int fd)
{
	l->loop = loop;
	l->watch = (struct watch){ .fn = on_event, .fd = fd };
	return loop_watch(loop, &l->watch, EPOLLIN);
}

void ctl_link_close(struct ctl_link *l)
{
	ctl_lines_to(-1);
	if (l->watch.active)
		loop_unwatch(l->loop, &l->watch);
}

void ctl_link_look(struct ctl_link *l)
{
	lone_turns();
	ctl_lost_ask(&l->lost, l->watch.fd, clock_ms());
}

void ctl_link_tick(struct ctl_link *l)
{
	const struct ctl_msg msg = { .type = CTL_TICK };
	uint64_t now = clock_now_ms(); /* the loop's stands still during a long step */

	lone_turns();
	if (now - l->ticked_ms >= TICK_MS && ctl_send(l->watch.fd, &msg, NULL, 0) == 0)
		l->ticked_ms = now;
}

int ctl_link_unknown(const struct ctl_msg *msg)
{
	log_error("ctl: unknown message %u", msg->type);
	return 0;
}
