/* master_state: the tables of the master's phases, and of the signals of its wishes. */
#include "master/master_state.h"

#include "base/log.h"
#include "master/master_signal.h"

const struct states master_phases = {
	.of = "master",
	.rows = {
#define MASTER_STATE(name, next, help) { #name, next },
#include "master/master_phase.def"
	},
};

void master_go(struct master *m, enum master_phase phase)
{
	log_debug("master: %s -> %s", states_name(&master_phases, m->phase),
		states_name(&master_phases, phase));
	STATES_STEP(&master_phases, m->phase, phase);
	if (phase == MASTER_SERVE)
		loop_defer(&m->loop, &m->wish.grant);
}

bool master_is_leaving(const struct master *m)
{
	return m->phase == MASTER_PART || m->phase == MASTER_LEAVE;
}

bool master_is_alone(const struct master *m)
{
	return m->phase == MASTER_SERVE || (m->phase == MASTER_PART && m->starting == NULL);
}

int master_wish_signal(enum master_wish wish)
{
	/* SIGRTMIN is not constant. */
	const int signals[MASTER_WISHES] = {
#define MASTER_WISH(name, signo, in, grant, help) signo,
#include "master/master_wish.def"
	};

	return signals[wish];
}
