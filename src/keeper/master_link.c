/*
 * master_link: one SOCK_SEQPACKET pair (net/ctl.h) on the keeper's loop. Called by keeper.c; an end
 * of file, or a socket that is broken, is told as leave(). It owns no image.
 */
#include "keeper/master_link.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/ctl.h"

enum { TICK_MS = 1000 };

static void take_logs(struct master_link *l, int *fd)
{
	log_to(*fd);
	if (l->error_log > STDERR_FILENO)
		close(l->error_log);
	l->error_log = *fd;
	*fd = -1;
}

static void on_message(struct master_link *l, const struct ctl_msg *msg, int *fds, int nfds)
{
	switch (msg->type) {
	case CTL_DRAIN:
		l->leave(l->ctx);
		break;
	case CTL_LOGS:
		if (nfds > 0)
			take_logs(l, &fds[0]);
		break;
	default:
		log_error("ctl: unknown message %u", msg->type);
		break;
	}
	for (int i = 0; i < nfds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void on_ctl(struct watch *w, uint32_t events)
{
	struct master_link *l = LIST_ENTRY(w, struct master_link, watch);
	struct ctl_msg msg;
	int fds[CTL_FDS_MAX], nfds, rc;

	(void)events;
	while ((rc = ctl_recv(w->fd, &msg, fds, &nfds)) > 0 || rc == -EMFILE) {
		if (rc > 0) {
			on_message(l, &msg, fds, nfds);
			continue;
		}
		log_error("ctl: a message is lost: %s", strerror(-rc));
		ctl_lost_note(&l->lost, &msg, clock_ms());
	}
	if (rc == -EAGAIN)
		return;
	loop_unwatch(l->loop, w);
	l->leave(l->ctx);
}

int master_link_open(
	struct master_link *l, struct loop *loop, int fd, uint32_t generation, int error_log)
{
	l->loop = loop;
	l->generation = generation;
	l->error_log = error_log;
	l->watch = (struct watch){ .fn = on_ctl, .fd = fd };
	return loop_watch(loop, &l->watch, EPOLLIN);
}

void master_link_close(struct master_link *l)
{
	if (l->watch.active)
		loop_unwatch(l->loop, &l->watch);
}

void master_link_tick(struct master_link *l)
{
	ctl_lost_ask(&l->lost, l->watch.fd, clock_ms());
}

void master_link_turns(struct master_link *l)
{
	struct ctl_msg msg = { .type = CTL_TICK, .generation = l->generation };
	uint64_t now = clock_read_us() / 1000;

	if (now - l->ticked_ms >= TICK_MS && ctl_send(l->watch.fd, &msg, NULL, 0) == 0)
		l->ticked_ms = now;
}

void master_link_tell(struct master_link *l, const struct cache_facts *facts)
{
	struct ctl_msg msg = { .type = CTL_CACHE, .generation = l->generation, .facts = *facts };

	if (memcmp(facts, &l->told, sizeof(l->told)) == 0)
		return;
	if (ctl_send(l->watch.fd, &msg, NULL, 0) < 0)
		return;
	l->told = *facts;
	l->told_ms = clock_ms();
}

int master_link_send_image(struct master_link *l, const struct built_image *img)
{
	struct ctl_msg msg = {
		.type = CTL_IMAGE,
		.generation = l->generation,
		.arg = img->number,
		.size = img->content,
	};
	int rc = ctl_send(l->watch.fd, &msg, img->fds, img->nfds);

	/* A full queue, or too many descriptors in flight: with the next tick again. EPIPE: the end
	 * of file that follows says it all. */
	if (rc < 0 && rc != -EAGAIN && rc != -ETOOMANYREFS && rc != -EPIPE)
		log_error("cache: publishing image %llu: %s", (unsigned long long)img->number,
			strerror(-rc));
	return rc;
}
