/*
 * body_queue: a list of copied pieces. Called by req_body.c and the uploads of store/, for requests
 * that wait for a password check, for a handler or for the disk; never for bodies that are taken as
 * they arrive.
 */
#include "request/body_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/pool.h"

enum {
	PIECE_LEAST = 256,
	PIECES_KEPT = 32, /* of the largest: freeing and faulting them in again costs more than the
			   * copies */
};

static struct pool pool = { .size = sizeof(struct body_piece) + BODY_PIECE, .keep = PIECES_KEPT };

void body_queue_trim(void)
{
	pool_trim(&pool);
}

void body_queue_fini(void)
{
	pool_fini(&pool);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t most(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Adds an empty piece for n bytes or some of them; as large as their number. */
static struct body_piece *body_queue_add(struct body_queue *q, size_t n)
{
	size_t cap = BODY_PIECE - q->total % BODY_PIECE;
	size_t want = most(most(n, PIECE_LEAST), most(q->n, q->batch));
	bool pooled = want >= BODY_PIECE;
	struct body_piece *piece;

	if (!pooled)
		cap = least(cap, want);
	piece = pooled ? pool_get(&pool) : malloc(sizeof(*piece) + cap);
	if (piece == NULL)
		return NULL;
	*piece = (struct body_piece){ .cap = cap, .pooled = pooled };
	if (q->last != NULL)
		q->last->next = piece;
	else
		q->first = piece;
	q->last = piece;
	q->cost += sizeof(*piece) + (pooled ? BODY_PIECE : cap);
	return piece;
}

size_t body_queue_put(struct body_queue *q, const void *data, size_t n)
{
	size_t done = 0;

	while (done < n) {
		struct body_piece *piece = q->last;
		size_t some;

		if (piece == NULL || piece->n == piece->cap)
			piece = body_queue_add(q, n - done);
		if (piece == NULL)
			break;
		some = least(n - done, piece->cap - piece->n);
		memcpy(piece->bytes + piece->n, (const char *)data + done, some);
		piece->n += some;
		q->n += some;
		q->total += some;
		done += some;
	}
	return done;
}

struct body_piece *body_queue_take(struct body_queue *q)
{
	struct body_piece *piece = q->first;

	if (piece == NULL)
		return NULL;
	q->first = piece->next;
	if (q->first == NULL)
		q->last = NULL;
	piece->next = NULL;
	q->cost -= sizeof(*piece) + (piece->pooled ? BODY_PIECE : piece->cap);
	q->n -= piece->n;
	return piece;
}

struct body_piece *body_queue_take_all(struct body_queue *q, size_t *n)
{
	struct body_piece *pieces = q->first;

	*n = q->batch = q->n;
	q->first = q->last = NULL;
	q->n = q->cost = 0;
	return pieces;
}

void body_pieces_free(struct body_piece *pieces)
{
	while (pieces != NULL) {
		struct body_piece *next = pieces->next;

		if (pieces->pooled)
			pool_put(&pool, pieces);
		else
			free(pieces);
		pieces = next;
	}
}

size_t body_queue_clear(struct body_queue *q)
{
	size_t n;

	body_pieces_free(body_queue_take_all(q, &n));
	return n;
}
