/*
 * human: numbers as people read them: counts in groups of three, bytes, durations. Pages and h2d
 * top call it; what programs read has plain numbers.
 */
#ifndef H2D_BASE_HUMAN_H
#define H2D_BASE_HUMAN_H

#include <stdint.h>

enum { HUMAN_SIZE = 48 };

/* Each writes to buf, which has HUMAN_SIZE bytes, and returns it. */

/* "1 234 567", gap between the groups. */
const char *human_count(char *buf, uint64_t n, const char *gap);

/* "712 B", "1.5 KiB", "15 KiB". */
const char *human_bytes(char *buf, uint64_t n);

/* "42 s", "12 min 5 s", "4 h 12 min", "3 d 4 h". */
const char *human_seconds(char *buf, uint64_t s);

/* "0.85 ms", "12.3 ms", "850 ms", "1.52 s". */
const char *human_us(char *buf, double us);

#endif
