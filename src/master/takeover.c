/*
 * takeover: ends an upgrade on the side of the new program; see takeover.h. Supervise calls it when
 * all workers are up; it stands above reload, which it has commit or fail.
 */
#include "master/takeover.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/log.h"
#include "master/master_signal.h"
#include "master/master_state.h"
#include "master/notify.h"
#include "master/reload.h"

enum { MESSAGE_MAX = STATUS_TEXT + 64 };

#define ENTRY(n) LIST_ENTRY(n, struct sockets_entry, node)

static void say_gone(struct master *m, uint32_t id)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, id);
	heir_say(m, "gone ", text);
}

/* "RELOAD UPGRADE TEXT": two numbers, whether that was asked for meanwhile; lines of text. */
static void take_over(struct master *m, char *words)
{
	int reload = 0, upgrade = 0, text = 0;
	char *save = NULL;

	if (sscanf(words, "%1d %1d %n", &reload, &upgrade, &text) != 2)
		log_error("upgrade: the old master says what this one does not understand");
	heir_close(m);
	notify_hold(false);
	m->pidfile.mine = m->pidfile.path != NULL;
	LIST_FOREACH(node, &m->sockets.all)
		ENTRY(node)->listener.mine = !ENTRY(node)->passed;
	for (char *line = strtok_r(words + text, "\n", &save); line != NULL;
		line = strtok_r(NULL, "\n", &save))
		status_add(&m->next, line);
	m->next.upgrade = m->status.running;
	m->next.upgraded = true;
	m->again |= reload == 1;
	m->upgrade.wanted |= upgrade == 1;
	reload_commit(m->starting);
	if (m->heir.signo != 0)
		master_signal(m, m->heir.signo);
}

void takeover_event(struct watch *w, uint32_t events)
{
	struct master *m = LIST_ENTRY(w, struct master, heir.channel);
	char msg[MESSAGE_MAX];
	ssize_t n;

	(void)events;
	while (w->active &&
		((n = recv(w->fd, msg, sizeof(msg) - 1, MSG_DONTWAIT)) >= 0 || errno != EAGAIN)) {
		msg[n > 0 ? n : 0] = '\0';
		if (strncmp(msg, "go ", 3) == 0 && m->starting != NULL && gen_is_up(m->starting))
			take_over(m, msg + 3);
		else if (m->starting != NULL)
			reload_fail(m->starting, "the master that was to hand over is gone");
		else
			heir_close(m);
	}
}

bool takeover_ready(struct master *m)
{
	if (!m->heir.channel.active)
		return false;
	LIST_FOREACH(node, &m->sockets.all) {
		const struct sockets_entry *e = ENTRY(node);

		if (e->old != 0 && !e->taken && !e->passed)
			say_gone(m, e->old);
	}
	heir_say(m, "ready", "");
	return true;
}
