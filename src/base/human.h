/*
 * human: bytes as people read them. For pages, log lines and h2d-top; output for programs has plain
 * numbers.
 */
#pragma once

#include <stdint.h>

enum { HUMAN_SIZE = 48 };

/* "712 B", "1.5 KiB", "15 KiB". Writes to buf, which has HUMAN_SIZE bytes, and returns it. */
const char *human_bytes(char *buf, uint64_t n);

/* human_bytes() with that unit behind the prefix: "B" in short lines. */
const char *human_size(char *buf, uint64_t n, const char *of_1024);
