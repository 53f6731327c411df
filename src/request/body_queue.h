/*
 * body_queue: pieces of a request body that nobody takes for now, in the order in which they came.
 * A request has one and is the only one to put pieces in or take them out. No credit is given for
 * what is in it, so the peer's window bounds it, and BODY_QUEUE_MAX in any case.
 */
#ifndef H2D_REQUEST_BODY_QUEUE_H
#define H2D_REQUEST_BODY_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

/* Of memory, that of the bookkeeping included: the smallest pieces cost more than they hold. */
enum { BODY_QUEUE_MAX = 4 << 20 };

struct body_piece {
	struct body_piece *next;
	size_t n;
	char bytes[];
};

/* Zeroed, it is empty. */
struct body_queue {
	struct body_piece *first, *last;
	size_t cost; /* memory that the pieces take */
	bool ended;  /* the end of the body came, too */
};

/* Copies a piece to the end. 0, or -1 when memory or the limit is out: q is as it was. */
int body_queue_put(struct body_queue *q, const void *data, size_t n);

/* The first piece, which is the caller's to free() from now on; NULL if there is none. */
struct body_piece *body_queue_take(struct body_queue *q);

/* All pieces, a list that is the caller's to free() from now on; *n: bytes in them. */
struct body_piece *body_queue_take_all(struct body_queue *q, size_t *n);

/* Frees such a list. */
void body_pieces_free(struct body_piece *pieces);

/* Frees all pieces. How many bytes they held: that much credit was not given. */
size_t body_queue_clear(struct body_queue *q);

#endif
