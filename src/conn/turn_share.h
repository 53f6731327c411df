/*
 * turn_share: limits a connection's output in a turn of its worker's loop. Alone it makes
 * PIECE_MOST. Beside short answers of other connections, which wait until the turn is over, the
 * long ones share TURN_BYTES: eight downloads would otherwise be 2 MiB to encrypt and to copy
 * before each short answer. The worker's stream_env owns one; stream_turn reports each write.
 */
#ifndef H2D_CONN_TURN_SHARE_H
#define H2D_CONN_TURN_SHARE_H

#include <stddef.h>
#include <stdint.h>

enum {
	PIECE_MOST = 256 * 1024,     /* bytes of one connection, before one write */
	PIECE_LEAST = 16 * 1024,     /* bytes: a frame, or a TLS record */
	TURN_BYTES = 384 * 1024,     /* bytes of all connections with long output, beside short
				      * ones */
	TURN_BYTES_TLS = 256 * 1024, /* bytes; the same, to be encrypted */
};

/* Writes of two turns: this one's are unknown before it is over. */
struct turn_share {
	uint64_t turn; /* of the last call, as loop->turns counts */
	struct {
		unsigned brief, lengthy;
	} now, before; /* in that turn, and in the one before */
};

/* A connection has written in this turn: a whole short answer; or a piece of PIECE_LEAST and
 * more. */
void turn_share_brief(struct turn_share *s, uint64_t turn);
void turn_share_lengthy(struct turn_share *s, uint64_t turn);

/* Bytes that a connection makes in a turn, PIECE_LEAST to PIECE_MOST; most: of all of its kind,
 * TURN_BYTES or TURN_BYTES_TLS. */
size_t turn_share_piece(struct turn_share *s, uint64_t turn, size_t most);

#endif
