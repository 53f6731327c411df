/*
 * req_state: checks each step of a request against req_state.def, counts ended requests, and notes
 * mistakes. Called by req.c, and by reply.c for a reply; names the route of a record for logs and
 * metrics.
 */
#include "base/counters.h"
#include "request/req_client.h"

const struct states req_states = {
	.of = "request",
	.n = REQ_STATES,
	.rows = {
#define REQ_STATE(name, next, help) { #name, next },
#include "request/req_state.def"
	},
};

static void count_gone(const struct h2d_req *req)
{
	COUNT(requests_live, -1);
	/* Requests to admin listeners do not count. */
	if (req->conn != NULL && req->conn->admin) {
		COUNT(requests_admin, 1);
		return;
	}
	COUNT(requests, 1);
	if (!req->complete)
		COUNT(requests_aborted, 1);
	if (!req->reply.ready)
		return;
	switch (req->reply.status / 100) {
	case 2:
		COUNT(responses_2xx, 1);
		break;
	case 3:
		COUNT(responses_3xx, 1);
		break;
	case 4:
		COUNT(responses_4xx, 1);
		break;
	default:
		COUNT(responses_5xx, 1);
	}
}

void req_go(struct h2d_req *req, enum req_state state)
{
	STATES_STEP(&req_states, req->state, state);
	if (state == REQ_GONE)
		count_gone(req);
	req->state = state;
}

void req_fault(struct h2d_req *req, const struct err *err)
{
	err_log(err, req_client(req));
	req_record_error(&req->record, err);
}

struct slice req_record_route_name(const struct route_table *routes, uint32_t route)
{
	static const struct slice own[REQ_ROUTE_ROWS] = {
		[REQ_ROUTE_NONE] = SLICE_LIT("none"),
		[REQ_ROUTE_FILES] = SLICE_LIT("files"),
		[REQ_ROUTE_HEALTH] = SLICE_LIT("health"),
	};

	if (route < REQ_ROUTE_ROWS)
		return own[route];
	H2D_ASSERT(route - REQ_ROUTE_ROWS < routes->nroutes);
	return slice_str(routes->routes[route - REQ_ROUTE_ROWS].pattern);
}
