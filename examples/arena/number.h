/*
 * number: a decimal number that comes in pieces, as request bodies do: "20" may come as "2" and
 * "0". White space around it is skipped; what is no number is 0.
 */
#ifndef ARENA_NUMBER_H
#define ARENA_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins zeroed. */
struct number {
	uint64_t digits; /* the number without its sign, modulo 2^64 */
	bool negative, begun, ended, bad;
};

/* The next len bytes. */
static inline void number_add(struct number *n, const char *p, size_t len)
{
	for (const char *end = p + len; p < end; p++) {
		bool space = *p == ' ' || *p == '\t' || *p == '\r' || *p == '\n';

		if (space) {
			n->ended = n->begun;
		} else if (*p >= '0' && *p <= '9' && !n->ended) {
			n->digits = 10 * n->digits + (uint64_t)(*p - '0');
			n->begun = true;
		} else if ((*p == '-' || *p == '+') && !n->begun) {
			n->negative = *p == '-';
			n->begun = true;
		} else {
			n->bad = true;
		}
	}
}

/* What came, in two's complement. */
static inline uint64_t number_value(const struct number *n)
{
	if (n->bad)
		return 0;
	return n->negative ? -n->digits : n->digits;
}

#endif
