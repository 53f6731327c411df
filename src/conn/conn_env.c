/*
 * conn_env: what all connections of a worker share: its lists of them, and their memory. Called by
 * the worker when it begins, trims and ends; the definition is in conn.h.
 */
#include <string.h>

#include "base/assert.h"
#include "conn/conn.h"

enum { CONNS_KEPT = 1024, BLOCKS_KEPT = 256 };

void conn_env_init(struct conn_env *env, struct loop *loop)
{
	memset(env, 0, sizeof(*env));
	env->loop = loop;
	pool_init(&env->conns, "conn", sizeof(struct conn), CONNS_KEPT);
	pool_init(&env->blocks, "outq", OUTQ_BLOCK, BLOCKS_KEPT);
	list_init(&env->live);
	list_init(&env->silent);
	list_init(&env->idle);
	list_init(&env->leaving);
}

void conn_env_trim(struct conn_env *env)
{
	pool_trim(&env->conns);
	pool_trim(&env->blocks);
}

void conn_env_fini(struct conn_env *env)
{
	H2D_ASSERT(env->nlive == 0);
	pool_fini(&env->conns);
	pool_fini(&env->blocks);
}
