/* top_human: counts in groups of three, and durations, for people. */
#pragma once

#include "base/human.h"

/* Each writes to buf, which has HUMAN_SIZE bytes, and returns it. */

/* "1 234 567". */
const char *top_human_count(char *buf, uint64_t n);

/* "42 s", "12 min 5 s", "4 h 12 min", "3 d 4 h". */
const char *top_human_seconds(char *buf, uint64_t s);

/* "0.85 ms", "12.3 ms", "850 ms", "1.52 s". */
const char *top_human_us(char *buf, double us);
