/*
 * body_queue: bytes of a request body that are not taken yet, in order. A request has one:
 * req_body.c puts bytes in, and takes them out unless a hook does. No credit is given for bytes in
 * it, so the peer's window bounds it. Single bytes share memory: they cost at most about twice
 * their number.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Bytes of the largest pieces. Pieces end at multiples of it in the body, so that a body written
 * unchanged begins each piece on a page of the file: across two, it costs twice as much.
 */
enum { BODY_PIECE = 64 << 10 };

struct body_piece {
	struct body_piece *next;
	size_t n, cap;
	bool pooled;
	char bytes[];
};

/* Empty when zeroed. */
struct body_queue {
	struct body_piece *first, *last;
	size_t n;       /* bytes in it */
	size_t cost;    /* memory of its pieces */
	size_t batch;   /* bytes in it when all were taken: as many may come again */
	uint64_t total; /* bytes put in so far */
	bool ended;     /* the end of the body came, too */
};

/* Appends a copy of bytes. Returns how many: all, unless memory is out. */
size_t body_queue_put(struct body_queue *q, const void *data, size_t n);

/* Takes the first piece, for the caller to free; NULL: none. */
struct body_piece *body_queue_take(struct body_queue *q);

/* Takes all pieces, a list for the caller to free; *n: bytes in them. */
struct body_piece *body_queue_take_all(struct body_queue *q, size_t *n);

/* Frees such a list, or a piece. On the loop's thread. */
void body_pieces_free(struct body_piece *pieces);

/* Frees all pieces. Returns their bytes: that much credit was not given. */
size_t body_queue_clear(struct body_queue *q);

/* Gives kept memory back; at a worker's end. */
void body_queue_trim(void);
void body_queue_fini(void);
