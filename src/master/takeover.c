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
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "machine/notify.h"
#include "master/master_state.h"
#include "master/reload.h"

enum { MESSAGE_MAX = STATUS_TEXT + 64, LAST_WORD_MS = 5000 };

static void on_last_word(struct timer *t);

#define ENTRY(n) LIST_ENTRY(n, struct sockets_entry, node)

static void say_gone(struct master *m, uint32_t id)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, id);
	heir_say(m, "gone ", text);
}

/*
 * The end of it. "RELOAD MORE TEXT": whether a reload was asked for meanwhile; what else was (1: an
 * upgrade, 2: a drain, 4: its end); lines of text.
 */
static void settle(struct master *m, char *words)
{
	unsigned reload = 0, more = 0;
	int text = 0;
	char *save = NULL;

	if (sscanf(words, "%1u %1u %n", &reload, &more, &text) != 2)
		log_error("upgrade: the old master says what this one does not understand");
	timer_disarm(&m->loop.wheel, &m->heir.last_word);
	heir_close(m);
	notify_hold(false);
	sockets_store(&m->sockets);
	m->pidfile.mine = m->pidfile.path != NULL;
	for (char *line = strtok_r(words + text, "\n", &save); line != NULL;
		line = strtok_r(NULL, "\n", &save))
		status_add(&m->next, line);
	m->next.upgrade = m->status.running;
	m->next.upgraded = true;
	m->wishes |= (reload & 1) << WISH_RELOAD | (more & 1) << WISH_UPGRADE |
		     (more >> 1 & 1) << WISH_DRAIN | (more >> 2 & 1) << WISH_UNDRAIN;
	reload_done(m);
}

/* The old master is not needed any more. */
static void settle_alone(struct master *m)
{
	char none[] = "0 0 ";

	log_warn("upgrade: process %" PRIu32 " has no last word", m->heir.from.process);
	settle(m, none);
}

/*
 * Everything that the old master does still, but for what the service manager would not believe
 * yet. Behind "taken" that one leaves: nothing here may depend on it, nor come later.
 */
static void take_over(struct master *m)
{
	pidfile_claim(&m->pidfile);
	LIST_FOREACH(node, &m->sockets.all)
		ENTRY(node)->listener.mine = ENTRY(node)->taken && !ENTRY(node)->passed;
	master_go(m, MASTER_TAKE);
	reload_commit(m->starting);
	heir_say(m, "taken", "");
	timer_init(&m->heir.last_word, on_last_word);
	timer_arm(&m->loop.wheel, &m->heir.last_word, clock_ms() + LAST_WORD_MS);
}

static void lose_old(struct master *m)
{
	if (m->phase == MASTER_TAKE)
		settle_alone(m);
	else
		reload_fail(m->starting, "the master that was to hand over is gone");
}

static void on_message(struct master *m, char *msg)
{
	if (strcmp(msg, "go") == 0 && m->phase == MASTER_HEIR && gen_is_up(m->starting))
		take_over(m);
	else if (strncmp(msg, "bye ", 4) == 0 && m->phase == MASTER_TAKE)
		settle(m, msg + 4);
	else
		lose_old(m);
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
		on_message(m, msg);
	}
}

/* From here on an old master that goes on hears that its word is not taken. */
static void on_last_word(struct timer *t)
{
	struct watch *w = &LIST_ENTRY(t, struct master, heir.last_word)->heir.channel;

	shutdown(w->fd, SHUT_RD);
	takeover_event(w, 0);
}

bool takeover_ready(struct master *m)
{
	char pid[16];

	if (m->phase != MASTER_HEIR)
		return false;
	LIST_FOREACH(node, &m->sockets.all) {
		const struct sockets_entry *e = ENTRY(node);

		if (e->old != 0 && !e->taken && !e->passed)
			say_gone(m, e->old);
	}
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	heir_say(m, "ready ", pid);
	return true;
}
