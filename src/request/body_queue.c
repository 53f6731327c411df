/*
 * body_queue: a list of copied pieces. Called by req.c only, for requests that wait for a password
 * check or for a handler; never by those whose body is taken as it arrives.
 */
#include "request/body_queue.h"

#include <stdlib.h>
#include <string.h>

int body_queue_put(struct body_queue *q, const void *data, size_t n)
{
	struct body_piece *piece;

	if (n > BODY_QUEUE_MAX || q->cost + sizeof(*piece) + n > BODY_QUEUE_MAX)
		return -1;
	piece = malloc(sizeof(*piece) + n);
	if (piece == NULL)
		return -1;
	piece->next = NULL;
	piece->n = n;
	memcpy(piece->bytes, data, n);
	if (q->last != NULL)
		q->last->next = piece;
	else
		q->first = piece;
	q->last = piece;
	q->cost += sizeof(*piece) + n;
	return 0;
}

struct body_piece *body_queue_take(struct body_queue *q)
{
	struct body_piece *piece = q->first;

	if (piece == NULL)
		return NULL;
	q->first = piece->next;
	if (q->first == NULL)
		q->last = NULL;
	q->cost -= sizeof(*piece) + piece->n;
	return piece;
}

struct body_piece *body_queue_take_all(struct body_queue *q, size_t *n)
{
	struct body_piece *pieces = q->first;

	*n = 0;
	for (const struct body_piece *p = pieces; p != NULL; p = p->next)
		*n += p->n;
	q->first = q->last = NULL;
	q->cost = 0;
	return pieces;
}

void body_pieces_free(struct body_piece *pieces)
{
	while (pieces != NULL) {
		struct body_piece *next = pieces->next;

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
