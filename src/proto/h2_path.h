/*
 * h2_path: the path from a client that uploads: how long it is, and how much is on the way at the
 * rate at which bytes come and are taken. Bytes and times go in, bytes come out. h2_window.c sends
 * the PINGs, and calls it for whatever comes.
 */
#ifndef H2D_PROTO_H2_PATH_H
#define H2D_PROTO_H2_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed, nothing is known of it. */
struct h2_path {
	bool asked;           /* a PING is under way */
	uint64_t asked_ms;    /* since then */
	uint64_t asked_came;  /* what had come by then */
	uint64_t rtt_ms;      /* the least round trip */
	unsigned trips;       /* that were measured */
	uint64_t since_ms;    /* when the stretch that is measured began */
	uint64_t since_taken; /* bytes that were taken by then, ever */
	uint64_t came_ms;     /* when the last ones came */
};

/* Whether a PING would tell something now: came bytes, ever, with a window of size. */
bool h2_path_may_ask(const struct h2_path *p, uint64_t came, uint32_t size, uint64_t now_ms);
/* A PING goes out; its answer is there. */
void h2_path_asked(struct h2_path *p, uint64_t came, uint64_t now_ms);
void h2_path_answered(struct h2_path *p, uint64_t now_ms);

/* n bytes came, and so many have, ever; of those some are held, which nobody has taken. */
void h2_path_came(struct h2_path *p, size_t n, uint64_t came, size_t held, uint64_t now_ms);

/* Bytes on the way, if there is enough to tell that by; 0: there is not, or the path is so short
 * that it does not matter. */
uint64_t h2_path_load(
	const struct h2_path *p, uint64_t came, size_t held, uint32_t size, uint64_t now_ms);

#endif
