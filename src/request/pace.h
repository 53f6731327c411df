/*
 * pace: limits the rate of responses' content: client-bytes-per-second of a client, over all
 * workers, and connection-bytes-per-second of one connection. A response gets grants of bytes, and
 * waits for the next like for a source without ready bytes. One timer per worker resumes responses;
 * they have none of their own. Protocols ask before each piece.
 */
#pragma once

#include "event/loop.h"
#include "request/req.h"
#include "share/tally.h"

/* The limits of a location, in bytes a second; 0: none. Made with the sites. */
struct pace_limit {
	uint64_t of_client, of_connection;
	uint64_t rule; /* the client's, in the tally */
	const struct conf_pos *of_client_at, *of_connection_at;
};

/* The bytes of a connection, as a time like in the tally; none when zeroed. */
struct pace_conn {
	uint64_t until_ns;
};

/* Responses of a worker that wait for a grant. */
struct pacer {
	struct loop *loop;
	struct timer timer;
	struct list waiting; /* struct pace */
};

/* The pace of a response whose location has a limit, in the memory of its request. */
struct pace {
	struct list node; /* in waiting of the pacer */
	struct h2d_req *req;
	const struct pace_limit *limit; /* of the answering location */
	uint64_t granted;               /* bytes, unsent */
	uint64_t due_us;                /* when to ask again */
	bool held;                      /* it has waited, and was counted */
};

void pacer_init(struct pacer *p, struct loop *loop);
/* Asserts that none waits. */
void pacer_fini(struct pacer *p);

/* Called when the head of a response with content is made, in a location with a limit. Without
 * memory it has none. */
void pace_begin(struct h2d_req *req);

/* The request is over. */
void pace_end(struct h2d_req *req);

size_t pace_grant(struct h2d_req *req, size_t want);

/*
 * The number of content bytes, at most want, that may be sent now. 0: none; its stream is resumed
 * when some may.
 */
static inline size_t pace_room(struct h2d_req *req, size_t want)
{
	return __builtin_expect(req->pace == NULL, true) ? want : pace_grant(req, want);
}

/* n bytes were sent, at most the last result of pace_room(). */
static inline void pace_sent(struct h2d_req *req, size_t n)
{
	if (__builtin_expect(req->pace != NULL, false))
		req->pace->granted -= n < req->pace->granted ? n : req->pace->granted;
}

/* n queued bytes are back at their source: they were not sent. */
static inline void pace_back(struct h2d_req *req, size_t n)
{
	req->record.bytes_out -= n;
	if (__builtin_expect(req->pace != NULL, false))
		req->pace->granted += n;
}
