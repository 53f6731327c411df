/*
 * body: where the content of a response comes from, as protocols see it: a source that says how
 * much is ready and puts it into a connection's outq. Never blocks: what is not there yet is LATER,
 * and the source calls req_resume() when it is. Protocols never see a descriptor.
 */
#ifndef H2D_REQUEST_BODY_H
#define H2D_REQUEST_BODY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/outq.h"
#include "base/ref.h"
#include "h2d/handler.h"

enum { BODY_LATER = -1, BODY_FAILED = -2 };

/* Bytes of a range (base/outq.h) that go out in one write: it takes no memory. */
enum { BODY_RANGE_MAX = 1 << 20 };

#define BODY_UNKNOWN UINT64_MAX

struct body;
struct trailers; /* request/trailers.h */

struct body_ops {
	const char *name;
	/*
	 * Bytes ready now, at most want (> 0): a positive number, BODY_LATER, BODY_FAILED, or 0 if
	 * the source of unknown length is at its end. The bytes stay ready until emitted.
	 */
	ssize_t (*ready)(struct body *b, size_t want);
	/* Puts n bytes, at most what ready() answered last, into q. 0, or -1 when memory is out. */
	int (*emit)(struct body *b, size_t n, struct outq *q);
	/*
	 * From now on the source is those n bytes (at least one) from offset at of its content.
	 * Before the first ready(), or when left is 0. NULL: it cannot.
	 */
	void (*seek)(struct body *b, uint64_t at, uint64_t n);
	/*
	 * None of it can be sent for a while: gives back memory of what is ready and can be had
	 * again; it is not ready from then on. NULL: there is none.
	 */
	void (*rest)(struct body *b);
	/*
	 * Says to the lender, for each reference that the source holds, what it may still emit by
	 * it. False: the lender refuses, and the source is only to be closed. NULL: it holds none
	 * on memory that can be asked for.
	 */
	bool (*ask)(const struct body *b, struct lender *lender);
	/*
	 * The source is at its end: the fields that come behind its content, which live as long as
	 * the request. NULL: there are none; nor where this answers NULL.
	 */
	const struct trailers *(*trailers)(const struct body *b);
	/* emit() may put ranges: ready() is asked for BODY_RANGE_MAX, where a connection takes
	 * them.
	 */
	bool ranges;
	/* Lets go of what the source holds; called exactly once, whether or not it was read to its
	 * end. */
	void (*close)(struct body *b);
};

/* ops NULL: no content. The owner of a source type uses the members as it likes. */
struct body {
	const struct body_ops *ops;
	struct h2d_req *req; /* the request that it answers */
	uint64_t left;       /* content bytes not emitted yet; BODY_UNKNOWN until the end is seen */
	const char *p;       /* bytes in memory: the next one */
	const char *first;   /* bytes in memory: the first of all */
	struct ref *ref;     /* keeps p alive; one reference held by the body */
	void *src;           /* a file, a handler's fill */
};

static inline void body_none(struct body *b)
{
	b->ops = NULL;
	b->left = 0;
}

/* Bytes in memory. With ref: borrowed, takes a reference of its own. Without: copied as they are
 * sent, so they need live only as long as the request. */
void body_memory(struct body *b, const void *p, size_t n, struct ref *ref);

/* Asks the source, if any (base/ref.h): one that is refused fails when it is read next. */
void body_ask(struct body *b, struct lender *lender);

/* The fields that come behind the content, which is at its end; NULL: none. */
static inline const struct trailers *body_trailers(const struct body *b)
{
	return b->ops->trailers != NULL ? b->ops->trailers(b) : NULL;
}

/* Closes the source, if any; afterwards b is body_none. */
void body_close(struct body *b);

#endif
