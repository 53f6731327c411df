/*
 * keeper: the process that reads and watches the roots and publishes cache images, for as long as
 * it lives. It runs as the worker user, at a low priority; a crash costs nothing but freshness of
 * the cache, for without its ticks workers read the disk. A reload starts a new keeper, which
 * begins with what of the last image still holds (warm_start).
 */
#ifndef H2D_KEEPER_KEEPER_H
#define H2D_KEEPER_KEEPER_H

#include "base/states.h"
#include "ipc/gifts.h"

enum keeper_state {
#define KEEPER_STATE(name, next, help) KEEPER_##name,
#include "keeper/keeper_state.def"
	KEEPER_STATES,
};

extern const struct states keeper_states;

/* Runs until the master goes or says CTL_DRAIN; the exit status of the process. */
int keeper_run(const struct gifts *args);

#endif
