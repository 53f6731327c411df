/*
 * h1_tunnel: a connection that a WebSocket has taken over (RFC 9110, 7.8): behind a 101 whatever
 * comes is its request's body, and content is sent as it is. Its calls stand in the place of h1's
 * own, so that other connections know nothing of it.
 */
#include "base/strbuf.h"
#include "proto/h1.h"

const struct err *h1_tunnel_input(struct proto *p, const void *data, size_t *n, uint64_t now_ms)
{
	struct h1_stream *s = ((struct h1 *)p)->stream;

	(void)now_ms;
	if (s == NULL)
		return NULL;
	if (!h1_stream_has_room(s)) {
		*n = 0;
		return NULL;
	}
	p->body += *n;
	s->unconsumed += *n;
	req_body(&s->req, data, *n);
	return NULL;
}

/* Behind interim responses, in one with them. */
static int put_head(struct h1_stream *s, struct outq *q)
{
	struct reply *r = &s->req.reply;
	struct strbuf *t = &s->interim;
	int rv;

	strbuf_add(t, SLICE("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\n"
			    "upgrade: websocket\r\n"));
	for (unsigned i = 0; i < r->nfields; i++)
		strbuf_printf(t, "%.*s: %.*s\r\n", SLICE_ARG(r->fields[i].name),
			SLICE_ARG(r->fields[i].value));
	strbuf_add(t, SLICE("\r\n"));
	rv = t->failed ? -1 : outq_copy(q, t->p, t->n);
	strbuf_fini(t);
	s->head_sent = true;
	r->status = 101;
	return rv;
}

int h1_tunnel_output(struct proto *p, struct outq *q, size_t limit)
{
	struct h1_stream *s = ((struct h1 *)p)->stream;

	if (s != NULL && !s->head_sent && s->req.reply.status == 200 && put_head(s, q) < 0)
		return -1;
	return h1_output(p, q, limit);
}

/* The peer's end is that of both ways. */
const struct err *h1_tunnel_look(struct proto *p, uint64_t now_ms, const struct err *late)
{
	struct h1_stream *s = ((struct h1 *)p)->stream;

	(void)now_ms;
	if (p->eof && s != NULL && !s->req.body_queue.ended)
		req_body_end(&s->req);
	return late;
}
