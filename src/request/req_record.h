/*
 * req_record: a request's facts for the access log and the metrics, gathered on its way; complete
 * when env->finished is called. Written by the request core, and by one other that a comment names.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/slice.h"

struct route_table;

/* The source of a response's file. */
enum req_source {
	REQ_SOURCE_NONE,  /* no file: a handler's bytes, an error's own page, a redirect */
	REQ_SOURCE_IMAGE, /* the cache image: a hit */
	REQ_SOURCE_DISK,  /* the disk: a miss */
};

/* The chosen handler, as a small number. */
enum req_route {
	REQ_ROUTE_NONE,   /* none: refused, redirected, a wrong method, OPTIONS */
	REQ_ROUTE_FILES,  /* the document root */
	REQ_ROUTE_HEALTH, /* the path of a site's health check */
	REQ_ROUTE_PROXY,  /* the application of a location */
	REQ_ROUTE_ROWS,   /* from here on the rows of env->conf.routes */
};

struct req_record {
	/*
	 * By the loop's clock, so that events of one turn take no time; by the real clock if
	 * env->conf.timed is set.
	 */
	uint64_t begun_us;       /* its first header came */
	uint64_t first_byte_us;  /* the head of its response was given to the protocol; 0: never */
	uint64_t ended_us;       /* it is gone */
	uint64_t bytes_in;       /* of request body received, without chunk or frame heads */
	uint64_t bytes_out;      /* of content given to the connection; the protocol counts */
	enum req_source source;  /* set by files/, which count cache_hits and cache_misses */
	uint32_t route;          /* enum req_route, or a row behind it */
	const struct err *error; /* the peer's first mistake; NULL: none with a name */
};

/* The time now; timed: env->conf.timed. Inline, as each request needs it three times. */
static inline uint64_t req_record_now(bool timed)
{
	return timed ? clock_read_us() : clock_us();
}

/* Notes a peer's mistake, when it is answered or the stream ends; the first one counts. */
static inline void req_record_error(struct req_record *r, const struct err *err)
{
	if (r->error == NULL)
		r->error = err;
}

/* "none", "files", "health", "proxy", or the pattern of the row, which begins with "/". */
struct slice req_record_route_name(const struct route_table *routes, uint32_t route);
