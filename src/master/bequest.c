/*
 * bequest: gathers what the new program is told; see bequest.h. What is written down names
 * descriptors of this process, which stay its own.
 */
#include "master/bequest.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/memfd.h"
#include "master/health.h"
#include "master/master_state.h"
#include "master/tickets.h"

#define ENTRY(n) LIST_ENTRY(n, struct sockets_entry, node)

static bool describe_listeners(const struct master *m, struct handover *h)
{
	LIST_FOREACH(node, &m->sockets.all) {
		const struct listener *from = &ENTRY(node)->listener;
		struct handover_listener *l = handover_add(h, from->nslots);

		if (l == NULL)
			return false;
		ENTRY(node)->gone = false;
		l->id = from->id;
		l->passed = ENTRY(node)->passed;
		l->wanted = ENTRY(node)->wanted;
		l->n = from->shared ? 1 : from->nslots;
		memcpy(l->fds, from->fds, l->n * sizeof(*l->fds));
	}
	return true;
}

static bool describe(const struct master *m, struct handover *h)
{
	h->process = (uint32_t)getpid();
	h->generation = m->last_number;
	h->request = m->status.running;
	h->doubts[0] = m->upgrade.doubts[0];
	h->doubts[1] = m->upgrade.doubts[1];
	h->reign[0] = m->reign_end.fd;
	h->reign[1] = m->reign;
	h->keeper = m->current->doubts[1];
	h->drained = health_has(m, BOARD_HEALTH_DRAINED);
	if (m->pidfile.mine) {
		h->pid_fd = m->pidfile.fd;
		h->pid_path = strdup(m->pidfile.path);
		if (h->pid_path == NULL)
			return false;
	}
	return tickets_hand_over(m, h) && describe_listeners(m, h);
}

/* Into a sealed memfd; or -errno. */
static int seal(const struct handover *h)
{
	struct strbuf text = { 0 };
	int fd, rc;

	handover_format(h, &text);
	rc = text.failed || text.n > HANDOVER_MAX ? -EINVAL : 0;
	fd = rc == 0 ? memfd_new("h2d-upgrade") : rc;
	if (fd >= 0) {
		rc = memfd_write(fd, text.p, text.n, 0);
		fd = memfd_seal(fd, false);
	}
	if (text.p != NULL)
		OPENSSL_cleanse(text.p, text.n);
	strbuf_fini(&text);
	return rc < 0 ? rc : fd;
}

int bequest_write(const struct master *m, struct handover *h)
{
	return describe(m, h) ? seal(h) : -ENOMEM;
}
