/*
 * proto: compares the first bytes with HTTP/2's preface, names the reasons of streams to wait, and
 * refuses requests whose handler does not answer.
 */
#include "proto/proto.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/counters.h"
#include "request/handler_call.h"

const struct proto_why_row proto_whys[PROTO_WHYS] = {
#define PROTO_WHY(name, text, wait, help) { text, PROTO_##wait },
#include "proto/proto_why.def"
};

/* --- handlers that do not answer -------------------------------------------------------------- */

enum { LOOK_MAX_MS = 2000 }; /* a late loop is not the handler's fault */

static void give_up(struct h2d_req *req)
{
	struct slice route = req_record_route_name(req->env->conf.routes, req->record.route);

	COUNT(timeout_handler, 1);
	HANDLER_SLIP(req, "route %.*s: no answer for %" PRIu64 " seconds; sending %d",
		SLICE_ARG(route), req->env->conf.handler_ms / 1000, ERR_TIMEOUT_HANDLER->status);
	req_record_error(&req->record, ERR_TIMEOUT_HANDLER);
	req_refuse(req, ERR_TIMEOUT_HANDLER->status);
}

void proto_look_at(struct h2d_req *req, enum proto_why why, uint64_t now_ms)
{
	/* A handler that gives no credit back keeps its body waiting. */
	bool waits = why == PROTO_WHY_HANDLER || (why == PROTO_WHY_TAKE && req->taken > 0);
	struct handler_late *late = &req->late;
	uint32_t ms = (uint32_t)now_ms - late->looked_ms;
	bool began = !waits || !req->owes || req->hook != NULL ||
		     late->bytes_in != (uint32_t)req->record.bytes_in;

	late->looked_ms = (uint32_t)now_ms;
	late->bytes_in = (uint32_t)req->record.bytes_in;
	late->ms = began || !late->looked ? 0 : late->ms + (ms < LOOK_MAX_MS ? ms : LOOK_MAX_MS);
	late->looked = true;
	if (req->env->conf.handler_ms > 0 && late->ms >= req->env->conf.handler_ms)
		give_up(req);
}

/* --- protocols -------------------------------------------------------------------------------- */

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
