/*
 * handler_late: answers a request whose handler does not. Protocols report, about once a second,
 * which of their requests wait only for that. Never checks one with a reply.
 */
#include "request/handler_late.h"

#include <inttypes.h>

#include "base/counters.h"
#include "request/handler_rule.h"

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

void handler_late_look(struct h2d_req *req, bool waits, uint64_t now_ms)
{
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
