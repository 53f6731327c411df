/*
 * model_events: what may happen in a world of model_unit.h, one event after the other: messages,
 * deaths, signals, the time.
 */
#pragma once

#include "model_unit.h"

enum event {
	EVENT_UP,
	EVENT_DIE,
	EVENT_LEAVE,
	EVENT_FULL,
	EVENT_HUP,
	EVENT_USR2,
	EVENT_QUIT,
	EVENT_TERM,
	EVENT_BEGIN,
	EVENT_DELIVER,
	EVENT_SEE_END,
	EVENT_KILL,
	EVENT_TIME,
	EVENTS
};

static const char *const event_names[EVENTS] = { "up", "die", "leave", "full", "HUP", "USR2",
	"QUIT", "TERM", "begin", "hear", "see the end of the other", "killed", "time" };

struct step {
	enum event event;
	unsigned who;
};

static bool excused;           /* the end was asked for, or the one that served was killed */
static bool owed;              /* a reload that was asked for */
static uint32_t newest[SIDES]; /* generation of each master that has begun */

static void name_step(const struct step *s, char *buf, size_t size)
{
	const struct process *p = &processes[s->who];

	if (s->event <= EVENT_FULL && p->place != NULL)
		snprintf(buf, size, "%s of %s %u/%u %s", p->side == 0 ? "old" : "new",
			p->place->kind->name, p->generation, p->place->slot, event_names[s->event]);
	else if (s->event == EVENT_TIME)
		snprintf(buf, size, "time passes");
	else
		snprintf(buf, size, "%s: %s", s->who == 0 ? "old" : "new", event_names[s->event]);
}

static bool side_runs(unsigned side)
{
	return sides[side].life == LIFE_RUNS;
}

static bool side_serves(unsigned side)
{
	const struct master *m = &sides[side].m;

	return side_runs(side) && m->phase != MASTER_LEAVE && m->current != NULL &&
	       m->current->state == GEN_SERVE;
}

/* --- events ----------------------------------------------------------------------------------- */

static void say(struct process *p, uint32_t type, uint64_t arg)
{
	struct ctl_msg msg = { .type = type, .arg = arg };
	struct watch *w = &p->place->ctl;

	H2D_ASSERT(ctl_send(p->ctl, &msg, NULL, 0) == 0);
	w->fn(w, EPOLLIN);
}

static void end_process(struct process *p, int status)
{
	struct child *c = p->place;

	p->place = NULL;
	close(p->ctl);
	close(c->ctl.fd);
	c->ctl.fd = dead_end();
	child_reaped(c, status);
}

/* The loop calls timers behind the messages that are there: one that stands still has time pass
 * for the other. */
static bool has_timer(unsigned side)
{
	return side_runs(side) && !hears(&sides[side]) && sides[side].m.loop.wheel.armed > 0;
}

static void let_time_pass(void)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < SIDES; i++)
		if (has_timer(i) && next_timer(&sides[i].m.loop.wheel) < next)
			next = next_timer(&sides[i].m.loop.wheel);
	set_clock(next > now ? next : now + 1);
	for (unsigned i = 0; i < SIDES; i++)
		if (has_timer(i))
			wheel_advance(&sides[i].m.loop.wheel, now);
}

/* The new master has waited for the last word for five seconds, and goes on without. */
static bool is_settled_alone(unsigned side)
{
	return side_serves(side) && sides[side].peer < 0 && side_runs(!side) &&
	       sides[!side].m.phase == MASTER_UPGRADE &&
	       sides[!side].m.upgrade.state == UPGRADE_OFFERED;
}

/* A reload that has begun is owed no more; nor is one that an old master was asked for while it
 * stood still: it is sent on by a signal, which the model has not (test_77_upgrade.py). */
static void look_at_reloads(void)
{
	owed &= !is_settled_alone(0) && !is_settled_alone(1);
	for (unsigned i = 0; i < SIDES; i++)
		if (side_runs(i) && sides[i].m.gens.last > newest[i]) {
			newest[i] = sides[i].m.gens.last;
			owed = false;
		}
}

static void kill_side(unsigned side)
{
	excused |= !side_serves(!side);
	side_over(side, true);
	owed = false; /* perhaps it was that one's */
}

static void signal_side(unsigned side, int signo)
{
	struct master *m = &sides[side].m;

	excused |= signo == SIGQUIT || signo == SIGTERM;
	/* What one is asked that does not serve yet goes with it, if it never does. */
	owed |= signo == SIGHUP && side_serves(side) && !master_is_leaving(m);
	master_signal(m, signo);
}

static void happen(const struct step *s)
{
	struct side *side = &sides[s->who % SIDES];
	struct process *p = &processes[s->who];

	switch (s->event) {
	case EVENT_UP:
		say(p, CTL_UP, 0);
		break;
	case EVENT_DIE:
		end_process(p, EXIT_FAILURE << 8);
		break;
	case EVENT_LEAVE:
		end_process(p, 0);
		break;
	case EVENT_FULL:
		say(p, CTL_FULL, p->place->state != CHILD_FULL);
		break;
	case EVENT_HUP:
		signal_side(s->who, SIGHUP);
		break;
	case EVENT_USR2:
		signal_side(s->who, SIGUSR2);
		break;
	case EVENT_QUIT:
		signal_side(s->who, SIGQUIT);
		break;
	case EVENT_TERM:
		signal_side(s->who, SIGTERM);
		break;
	case EVENT_BEGIN:
		side_begin(side);
		newest[s->who] = side->m.gens.last;
		break;
	case EVENT_DELIVER:
		deliver(side);
		break;
	case EVENT_SEE_END:
		side->m.upgrade.process.fn(&side->m.upgrade.process, EPOLLIN);
		break;
	case EVENT_KILL:
		kill_side(s->who);
		break;
	case EVENT_TIME:
		let_time_pass();
		break;
	case EVENTS:
		break;
	}
	settle_all();
	look_at_reloads();
}

/* --- what may come next ----------------------------------------------------------------------- */

static bool says(const struct process *p, uint32_t type)
{
	return p->place->kind->says & CHILD_SAYS(type);
}

static bool process_may(const struct process *p, enum event event)
{
	bool goes = p->drains || p->ends;

	if (p->place == NULL)
		return false;
	switch (event) {
	case EVENT_UP:
		return p->place->state == CHILD_START;
	case EVENT_DIE:
		return !goes;
	case EVENT_LEAVE:
		return goes;
	case EVENT_FULL:
		return !goes && p->place->state != CHILD_START && p->serves && says(p, CTL_FULL);
	default:
		return false;
	}
}

static bool side_may(unsigned side, enum event event)
{
	const struct side *s = &sides[side];

	switch (event) {
	case EVENT_BEGIN:
		return s->life == LIFE_READY;
	case EVENT_DELIVER:
		return hears(s);
	case EVENT_SEE_END:
		return side_runs(side) && s->m.upgrade.process.active &&
		       sides[!side].life == LIFE_OVER;
	case EVENT_KILL:
		return s->life == LIFE_READY || side_runs(side);
	default:
		return side_runs(side) && event >= EVENT_HUP && event <= EVENT_TERM;
	}
}

static bool may(const struct step *s)
{
	if (s->event == EVENT_TIME)
		return s->who == 0 && (has_timer(0) || has_timer(1));
	if (s->event <= EVENT_FULL)
		return s->who < nprocesses && process_may(&processes[s->who], s->event);
	return s->who < SIDES && side_may(s->who, s->event);
}
