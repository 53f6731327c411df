/* supervise: is above reload, drain and launch, which carry out decisions and never call back. */
#include "master/supervise.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/build_id.h"
#include "base/clock.h"
#include "base/log.h"
#include "event/bus.h"
#include "image/image.h"
#include "master/doubts.h"
#include "master/drain.h"
#include "master/launch.h"
#include "master/loan.h"
#include "master/master_state.h"
#include "master/reload.h"
#include "master/shrink.h"
#include "master/succession.h"
#include "master/watchdog.h"

enum { IMAGES_AHEAD = 1 << 20 }; /* no keeper makes so many between two messages */

static void on_up(struct child *c)
{
	struct gen *g = c->gen;

	if (g->state == GEN_START && gen_is_up(g) && !succession_ready(g->master)) {
		reload_commit(g);
		reload_finish(g->master, true);
	}
	loan_offer(g);
}

/* --- deaths ----------------------------------------------------------------------------------- */

static void obituary(const struct child *c, pid_t pid, int status)
{
	enum log_level level = LEVEL_NOTICE;
	const char *who = CHILD_NAME(c);
	char how[128];

	reap_describe(status, how, sizeof(how));
	if (c->board != NULL && c->board->words[0] != '\0')
		log_alert("%s (process %d) crashed: %.*s", who, (int)pid, BOARD_WORDS - 1,
			c->board->words);
	if (reap_is_crash(status))
		level = LEVEL_ALERT;
	else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		level = LEVEL_ERROR;
	else if (c->gen->state == GEN_DRAIN)
		level = LEVEL_INFO;
	if (level == LEVEL_ALERT)
		log_at(level, "%s (process %d, generation %u) %s; build %s", who, (int)pid,
			c->gen->number, how, build_id());
	else
		log_at(level, "%s (process %d, generation %u) %s", who, (int)pid, c->gen->number,
			how);
}

static void fail_start(struct child *c, int status)
{
	char why[192], how[128];

	reap_describe(status, how, sizeof(how));
	snprintf(why, sizeof(why), "%s %s during the start", CHILD_NAME(c), how);
	reload_fail(c->gen, why);
}

static bool another_is_up(const struct child *c)
{
	GEN_FOREACH(other, c->gen)
		if (other != c && other->kind == c->kind &&
			(other->state == CHILD_UP || other->state == CHILD_FULL))
			return true;
	return false;
}

/*
 * The delay after the last one that was up is an outage. One that did not even come up waits
 * longer: the next would hardly do better at once.
 */
static unsigned rest_of(struct child *c, enum child_state was)
{
	const struct reap_policy *policy = &c->kind->restart;
	unsigned wait = reap_delay(&c->reap, policy, clock_ms());
	unsigned most = was != CHILD_START ? policy->last : policy->first;

	if (policy->last == 0 || wait <= most || another_is_up(c))
		return wait;
	return most;
}

static void respawn(struct child *c, enum child_state was)
{
	unsigned wait = rest_of(c, was);

	if (wait == 0) {
		launch(c);
		return;
	}
	log_error("restarting the process in %u ms", wait);
	launch_later(c, wait);
}

static void on_died(struct child *c, pid_t pid, int status, enum child_state was)
{
	struct gen *g = c->gen;
	struct master *m = g->master;

	obituary(c, pid, status);
	bus_left(m->shared.bus, pid);
	if (g->state != GEN_DRAIN || reap_is_crash(status))
		board_count(&m->shared.board->head, c->kind->died);
	if (c->board != NULL && g->state == GEN_DRAIN)
		outcome_add(g, c);
	if (c->board != NULL)
		board_release(m->shared.board, &c->board);
	gen_show(m->current, &m->shared.board->head);
	loan_lost(c);
	if (g->state == GEN_DRAIN)
		drain_check(g);
	else if (g->state == GEN_START && c->kind->awaited)
		fail_start(c, status);
	else
		respawn(c, was);
	loan_offer(g);
}

/* --- the last warnings and errors, of all processes ------------------------------------------- */

static struct board_lines *own_lines;

static void add_line(struct board_lines *ring, struct board_line *line, const char *text)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	line->ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	snprintf(line->text, sizeof(line->text), "%s", text);
	board_lines_add(ring, line);
}

static void tell_line(enum log_level level, const char *message)
{
	struct board_line line = { .level = level, .pid = getpid(), .who = "master" };

	add_line(own_lines, &line, message);
}

void supervise_lines(struct board_lines *ring)
{
	own_lines = ring;
	log_tell(ring != NULL ? tell_line : NULL);
}

/* Untrusted: an invalid level, or a text without an end, must do no harm. */
static void take_line(struct board_lines *ring, const struct child *c, const struct ctl_msg *msg)
{
	struct board_line line = { .level = LEVEL_ALERT, .pid = c->pid };
	char text[CTL_LINE_SIZE];

	if (msg->arg <= LEVEL_WARN)
		line.level = (uint32_t)msg->arg;
	snprintf(line.who, sizeof(line.who), "%s", CHILD_NAME(c));
	snprintf(text, sizeof(text), "%.*s", CTL_LINE_SIZE - 1, msg->line);
	add_line(ring, &line, text);
}

/* --- messages from a process ----------------------------------------------------------------- */

/* A keeper that was taken over must not spoil the numbers of all later ones, nor the state passed
 * at an upgrade. */
static bool is_image(const struct master *m, const struct ctl_msg *msg, int nfds)
{
	return msg->arg > 0 && msg->arg < m->next_image + IMAGES_AHEAD && nfds >= IMAGE_FDS;
}

static bool take_image(struct gen *g, const struct ctl_msg *msg, const int *fds, int nfds)
{
	struct master *m = g->master;

	if (!is_image(m, msg, nfds))
		log_peer(LEVEL_ERROR, "generation %u: image %llu is invalid and not used",
			g->number, (unsigned long long)msg->arg);
	if (!is_image(m, msg, nfds) || g->state == GEN_DRAIN)
		return false;
	gen_take_image(g, msg, fds, nfds);
	if (m->next_image <= msg->arg)
		m->next_image = msg->arg + 1;
	gen_send(g, CHILD_IMAGES, DUE_IMAGE);
	log_debug("generation %u: image %llu", g->number, (unsigned long long)msg->arg);
	gen_show(m->current, &m->shared.board->head);
	health_look(m);
	return true;
}

/* Sends again the messages that a process lost without descriptors, with their present content. */
static void send_again(struct child *c, uint64_t types)
{
	unsigned due = 0;

	if (types & CTL_TYPE(CTL_IMAGE))
		due |= DUE_IMAGE;
	if (types & CTL_TYPE(CTL_LOGS))
		due |= DUE_LOGS;
	if (types & CTL_TYPE(CTL_KEEPER))
		due |= DUE_KEEPER;
	if (types & CTL_TYPE(CTL_LISTEN)) {
		loan_again(c);
		due |= DUE_SOCKETS;
	}
	child_send(c, due);
}

/* Neighbours accept for it while they have room. One that hangs is lent already. */
static void set_full(struct child *c, bool full)
{
	if (c->state != (full ? CHILD_UP : CHILD_FULL) && !(full && c->state == CHILD_STILL))
		return;
	if (!full)
		log_peer(LEVEL_INFO, "%s has room again", CHILD_NAME(c));
	child_go(c, full ? CHILD_FULL : CHILD_UP);
	loan_offer(c->gen);
}

/* Makes the other workers show their connections. A corrupt one cannot keep them busy with it. */
static void supervise_show(const struct child *asker)
{
	struct master *m = asker->gen->master;
	uint64_t now = clock_ms();

	if (now - m->shared.shown_ms < BOARD_CONNS_MS)
		return;
	m->shared.shown_ms = now;
	LIST_EACH(struct gen, g, node, &m->gens.all) {
		GEN_FOREACH(c, g)
			if (c != asker && c->pid != 0 && c->kind->board)
				child_send(c, DUE_SHOW);
	}
}

static bool on_said(struct child *c, const struct ctl_msg *msg, const int *fds, int nfds)
{
	struct master *m = c->gen->master;

	if (msg->type == CTL_IMAGE)
		return take_image(c->gen, msg, fds, nfds);
	if (msg->type == CTL_AGAIN)
		send_again(c, msg->arg);
	if (msg->type == CTL_LINE)
		take_line(&m->shared.board->head.lines, c, msg);
	if (msg->type == CTL_FULL)
		set_full(c, msg->arg != 0);
	if (msg->type == CTL_SHOW)
		supervise_show(c);
	if (msg->type == CTL_CACHE) {
		c->gen->facts = msg->facts;
		gen_show(m->current, &m->shared.board->head);
	}
	return false;
}

/* --- messages to a process ------------------------------------------------------------------- */

static bool fill_image(const struct child *c, unsigned n, struct ctl_msg *msg, int *fds, int *nfds)
{
	const struct gen *g = c->gen;

	*msg = g->image;
	*nfds = g->nimage_fds;
	memcpy(fds, g->image_fds, (size_t)g->nimage_fds * sizeof(*fds));
	return n == 0 && g->nimage_fds > 0;
}

/* The error log unless it is syslog, then the access logs. */
static bool fill_logs(const struct child *c, unsigned n, struct ctl_msg *msg, int *fds, int *nfds)
{
	const struct logs *logs = &c->gen->logs;

	*msg = (struct ctl_msg){ .type = CTL_LOGS };
	if (c->kind->gets & CHILD_ERROR_LOG && logs->error >= 0)
		fds[(*nfds)++] = logs->error;
	for (unsigned i = 0; c->kind->gets & CHILD_ACCESS_LOGS && i < logs->naccess; i++)
		fds[(*nfds)++] = logs->access[i];
	return n == 0;
}

static bool fill_serve(const struct child *c, unsigned n, struct ctl_msg *msg, int *fds, int *nfds)
{
	(void)fds, (void)nfds;
	*msg = (struct ctl_msg){ .type = CTL_SERVE, .arg = c->gen->master->phase == MASTER_PART };
	return n == 0;
}

static bool fill_drain(const struct child *c, unsigned n, struct ctl_msg *msg, int *fds, int *nfds)
{
	(void)fds, (void)nfds;
	*msg = (struct ctl_msg){ .type = CTL_DRAIN,
		.arg = c->gen->stops,
		.closing = gen_closing(c->gen, &c->gen->master->sockets) };
	return n == 0;
}

static bool fill_show(const struct child *c, unsigned n, struct ctl_msg *msg, int *fds, int *nfds)
{
	(void)c, (void)fds, (void)nfds;
	*msg = (struct ctl_msg){ .type = CTL_SHOW };
	return n == 0;
}

static child_fill_fn *const fill[] = {
#define CHILD_DUE(name, fill) fill,
#include "master/child_due.def"
};

static void on_sent(struct child *c, enum child_due due)
{
	if (due == CHILD_DUE_LOANS)
		loan_sent(c);
}

const struct child_ops supervise_ops = {
	.up = on_up,
	.died = on_died,
	.said = on_said,
	.fill = fill,
	.sent = on_sent,
};
