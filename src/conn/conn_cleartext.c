/*
 * conn_cleartext: changes the transport of a connection under it. Nothing was sent yet, and all
 * that was received goes to the protocol.
 */
#include "conn/conn_cleartext.h"

#include "net/tcp.h"

size_t conn_cleartext_take(struct conn *c)
{
	struct slice said = c->transport->said;
	struct transport *tcp;

	if (said.n == 0 || said.n > CONN_INPUT)
		return 0;
	tcp = tcp_open(c->transport->fd);
	if (tcp == NULL)
		return 0;
	memcpy(c->env->input, said.p, said.n);
	c->transport->fd = -1;
	c->transport->ops->close(&c->transport);
	c->transport = tcp;
	c->http.tls = false;
	c->http.misses_tls = true;
	return said.n;
}
