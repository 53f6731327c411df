/*
 * body: the content of a response, for protocols: a source that reports how much is ready and puts
 * it into a connection's outq. Never blocks: bytes that are not ready are LATER, and the source
 * calls req_resume() when they are. Protocols never see a descriptor.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/outq.h"
#include "base/ref.h"
#include "h2d/handler.h"
#include "http/field.h"

enum { BODY_LATER = -1, BODY_FAILED = -2 };

/* Bytes of a range (base/outq.h) in one write: it takes no memory. */
enum { BODY_RANGE_MAX = 1 << 20 };

#define BODY_UNKNOWN UINT64_MAX

/*
 * trailers: headers after the content (RFC 9110, 6.5), of a request or of a response; never mixed
 * with those before it, as few are allowed so late. They live as long as their request.
 */
enum {
	TRAILERS_MAX = 32,
	TRAILERS_SIZE = 32000, /* of a response's; a request's have the limit of its head */
};

struct trailers {
	unsigned n;
	size_t size; /* of names, values and 32 each, like headers (RFC 9113, 6.5.2) */
	struct field v[TRAILERS_MAX];
};

/*
 * Adds a copy of a header to *trailers, which is made if it is NULL. 0; 1: there are too many, or
 * they exceed limit bytes; -1: memory is out.
 */
int trailers_add(struct trailers **trailers, struct arena *arena, size_t limit, struct slice name,
	struct slice value);

struct body;

struct body_ops {
	const char *name;
	/*
	 * Bytes ready now, at most want (> 0): a positive number, BODY_LATER, BODY_FAILED, or 0 if
	 * the source of unknown length is at its end. The bytes stay ready until emitted.
	 */
	ssize_t (*ready)(struct body *b, size_t want);
	/* Puts n bytes, at most the last result of ready(), into q. 0, or -1 when memory is out. */
	int (*emit)(struct body *b, size_t n, struct outq *q);
	/*
	 * Limits the source to n bytes (at least one) from offset at of its content. Before the
	 * first ready(), or when left is 0. NULL: it cannot.
	 */
	void (*seek)(struct body *b, uint64_t at, uint64_t n);
	/*
	 * No byte can be sent for a while: frees ready memory that can be read again; it is not
	 * ready then. NULL: none.
	 */
	void (*rest)(struct body *b);
	/*
	 * Reports to the lender, for each reference of the source, the bytes it may still emit.
	 * False: the lender refuses, and the source can only be closed. NULL: it has no references
	 * to such memory.
	 */
	bool (*ask)(const struct body *b, struct lender *lender);
	/* emit() may put ranges: ready() is called with BODY_RANGE_MAX, if the connection takes
	 * them. */
	bool ranges;
	/* Frees the source; called exactly once, whether or not it was read to its end. NULL: it
	 * has nothing of its own. */
	void (*close)(struct body *b);
};

/* ops NULL: no content. The owner of a source type uses the members as it likes. */
struct body {
	const struct body_ops *ops;
	struct h2d_req *req; /* its request */
	uint64_t left;       /* content bytes not emitted yet; BODY_UNKNOWN until the end is seen */
	const char *p;       /* bytes in memory: the next one */
	const char *first;   /* bytes in memory: the first of all */
	struct ref *ref;     /* keeps p alive; one reference held by the body */
	void *src;           /* a file, a handler's fill */
	struct trailers *trailers; /* at the end of the content; NULL: none */
};

static inline void body_none(struct body *b)
{
	b->ops = NULL;
	b->left = 0;
	b->trailers = NULL;
}

/* Bytes in memory. With ref: borrowed, takes a reference of its own. Without: copied when sent, so
 * they need only live as long as the request. */
void body_memory(struct body *b, const void *p, size_t n, struct ref *ref);

/* Asks the source, if any (base/ref.h): a refused one fails at its next read. */
void body_ask(struct body *b, struct lender *lender);

/* Closes the source, if any; afterwards b is body_none. */
void body_close(struct body *b);
