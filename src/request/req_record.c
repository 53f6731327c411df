/*
 * req_record: the route of a request as a number, and the name of that number. The request core
 * gets the first once per request, logs and metrics the second.
 */
#include "request/req_record.h"

#include "request/req.h"

void req_record_route(struct h2d_req *req)
{
	const struct http_env *env = req->env;

	if (req->match.route != NULL)
		req->record.route =
			REQ_ROUTE_ROWS + (uint32_t)(req->match.route - env->conf.routes->routes);
	else if (req->handler == env->conf.fallback)
		req->record.route = REQ_ROUTE_FILES;
	else
		req->record.route = REQ_ROUTE_HEALTH;
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
