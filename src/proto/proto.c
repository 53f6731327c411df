/*
 * proto: finds a connection's protocol, and describes it: compares the first bytes with HTTP/2's
 * preface, and names the reasons of streams to wait (proto_why.def). Never reads from a socket.
 */
#include "proto/proto.h"

#include <stdio.h>
#include <string.h>

#include "request/handler_late.h"

const struct proto_why_row proto_whys[PROTO_WHYS] = {
#define PROTO_WHY(name, text, wait, help) { text, PROTO_##wait },
#include "proto/proto_why.def"
};

void proto_look_at(struct h2d_req *req, enum proto_why why, uint64_t now_ms)
{
	/* A handler that gives no credit back keeps its body waiting. */
	bool waits = why == PROTO_WHY_HANDLER || (why == PROTO_WHY_TAKE && req->taken > 0);

	handler_late_look(req, waits, now_ms);
}

const char *proto_told_text(const struct proto_told *told, char buf[PROTO_TOLD_TEXT])
{
	size_t n = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < PROTO_WHYS; i++)
		if (told->why[i] > 0) {
			snprintf(buf + n, PROTO_TOLD_TEXT - n, "%s%u for %s", n > 0 ? ", " : "",
				told->why[i], proto_whys[i].text);
			n += strlen(buf + n);
		}
	return buf;
}

enum proto_sniffed proto_sniff(struct proto_sniff *s, const uint8_t *p, size_t n, size_t *taken)
{
	static const uint8_t preface[PROTO_SNIFF_BYTES + 1] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

	*taken = n < PROTO_SNIFF_BYTES - s->n ? n : PROTO_SNIFF_BYTES - s->n;
	memcpy(s->bytes + s->n, p, *taken);
	s->n += (unsigned)*taken;
	if (memcmp(s->bytes, preface, s->n) != 0)
		return PROTO_SNIFF_H1;
	return s->n == PROTO_SNIFF_BYTES ? PROTO_SNIFF_H2 : PROTO_SNIFF_MORE;
}
