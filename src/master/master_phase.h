/*
 * master_phase: what the master is at (master_phase.def), the one way from one phase to the next,
 * and what it is asked for meanwhile (master_wish.def). A step that is not in the table is our bug,
 * and asserts.
 */
#ifndef H2D_MASTER_MASTER_PHASE_H
#define H2D_MASTER_MASTER_PHASE_H

#include "base/states.h"
#include "master/master_state.h"

extern const struct states master_phases;

/* Takes the step. Back at SERVE, wishes that wait are granted when the event batch is over. */
void master_go(struct master *m, enum master_phase phase);

/* Whether the end was announced, or has begun. */
bool master_is_leaving(const struct master *m);

/* Whether nobody else has the sockets: no generation that is being built, no other master. */
bool master_is_alone(const struct master *m);

#endif
