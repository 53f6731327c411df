/*
 * conn_ask: walks the connections of a worker, those that are dead and not freed among them, for
 * they hold references until then. The worker calls it on its loop; it reads no field of a request.
 */
#include "conn/conn_ask.h"

static void ask(struct conn *c, struct lender *lender)
{
	if (c->proto != NULL)
		c->proto->ops->ask(c->proto, lender);
	if (!outq_ask(&c->out, lender))
		conn_kill(c);
}

void conn_ask_all(struct conn_env *env, struct lender *lender)
{
	LIST_FOREACH(node, &env->live)
		ask(LIST_ENTRY(node, struct conn, node), lender);
}
