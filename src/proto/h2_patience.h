/*
 * h2_patience: how long a peer has held something up, an HTTP/2 stream or what a whole connection
 * sends: the sum of the times that were its doing. Progress at the least rate ends the sum; bytes
 * below it and pauses that are not the peer's doing do not. Kept by h2_look.c.
 */
#ifndef H2D_PROTO_H2_PATIENCE_H
#define H2D_PROTO_H2_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

enum h2_patience_for { H2_PATIENCE_NONE, H2_PATIENCE_SEND, H2_PATIENCE_BODY };

struct h2_patience {
	enum h2_patience_for for_what;
	uint64_t held_ms;
	uint64_t from; /* bytes when held_ms began */
};

/*
 * A look: bytes have passed so far, and the peer has held the rest up for ms since the last look.
 * True: that makes limit_ms without progress.
 */
bool h2_patience_ends(struct h2_patience *p, enum h2_patience_for for_what, uint64_t bytes,
	uint64_t ms, uint64_t limit_ms);

#endif
