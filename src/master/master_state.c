/* master_state: the table of the master's phases, and the one function that writes m->phase. */
#include "master/master_state.h"

#include "base/log.h"

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
