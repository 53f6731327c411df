/*
 * body_queue: bytes of a request body that nobody takes for now, in the order in which they came.
 * A request has one: req_body.c puts bytes in, and takes them out unless a hook does. No credit is
 * given for bytes in it, so the peer's window bounds it. Bytes that come one by one share memory:
 * what they cost is at most about twice what they are.
 */
#ifndef H2D_REQUEST_BODY_QUEUE_H
#define H2D_REQUEST_BODY_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Bytes of the largest pieces. Pieces end where the body has a multiple of it, so that a body that
 * is written as it is begins each piece on a page of the file: across two, it costs twice as much.
 */
enum { BODY_PIECE = 64 << 10 };

struct body_piece {
	struct body_piece *next;
	size_t n, cap;
	bool pooled;
	char bytes[];
};

/* Zeroed, it is empty. */
struct body_queue {
	struct body_piece *first, *last;
	size_t n;       /* bytes in it */
	size_t cost;    /* memory that its pieces take */
	size_t batch;   /* bytes that were in it when all were taken: as many may come again */
	uint64_t total; /* bytes that were put in, ever */
	bool ended;     /* the end of the body came, too */
};

/* Copies bytes to the end. How many: all of them, unless memory is out. */
size_t body_queue_put(struct body_queue *q, const void *data, size_t n);

/* The first piece, which is the caller's to free from now on; NULL if there is none. */
struct body_piece *body_queue_take(struct body_queue *q);

/* All pieces, a list that is the caller's to free from now on; *n: bytes in them. */
struct body_piece *body_queue_take_all(struct body_queue *q, size_t *n);

/* Frees such a list, or a piece. On the loop's thread. */
void body_pieces_free(struct body_piece *pieces);

/* Frees all pieces. How many bytes they held: that much credit was not given. */
size_t body_queue_clear(struct body_queue *q);

/* Gives kept memory back; at a worker's end. */
void body_queue_trim(void);
void body_queue_fini(void);

#endif
