/*
 * master_link: one SOCK_SEQPACKET pair (ipc/ctl.h) on the keeper's loop. Called by keeper.c; an end
 * of file, or a broken socket, becomes leave(). It owns no image.
 */
#include "keeper/keeper.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

static int on_message(struct ctl_link *ctl, const struct ctl_msg *msg, const int *fds, int nfds)
{
	struct master_link *l = LIST_ENTRY(ctl, struct master_link, ctl);

	switch (msg->type) {
	case CTL_DRAIN:
		l->leave(l);
		return 0;
	case CTL_LOGS:
		if (nfds == 0)
			return 0;
		log_to(fds[0]);
		if (l->error_log > STDERR_FILENO)
			close(l->error_log);
		l->error_log = fds[0];
		return 1;
	default:
		return ctl_link_unknown(msg);
	}
}

static void master_gone(struct ctl_link *ctl)
{
	struct master_link *l = LIST_ENTRY(ctl, struct master_link, ctl);

	l->leave(l);
}

int master_link_open(
	struct master_link *l, struct loop *loop, int fd, uint32_t generation, int error_log)
{
	l->generation = generation;
	l->error_log = error_log;
	l->ctl = (struct ctl_link){ .message = on_message, .gone = master_gone };
	return ctl_link_open(&l->ctl, loop, fd);
}

void master_link_tell(struct master_link *l, const struct cache_facts *facts)
{
	struct ctl_msg msg = { .type = CTL_CACHE, .generation = l->generation, .facts = *facts };

	if (memcmp(facts, &l->told, sizeof(l->told)) == 0)
		return;
	if (ctl_send(l->ctl.watch.fd, &msg, NULL, 0) < 0)
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
	int rc = ctl_send(l->ctl.watch.fd, &msg, img->fds, img->nfds);

	/* A full queue, or too many descriptors in flight: retried at the next tick. EPIPE: the end
	 * of file follows. */
	if (rc < 0 && rc != -EAGAIN && rc != -ETOOMANYREFS && rc != -EPIPE)
		log_error("cache: cannot publish image %llu: %s", (unsigned long long)img->number,
			strerror(-rc));
	return rc;
}
