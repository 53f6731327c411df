/*
 * base64: bytes as text (RFC 4648, 4), for passwords and digests. Pure.
 */
#pragma once

#include <sys/types.h>

#include "base/slice.h"

/* Most bytes from n digits, padding included; digits from n bytes. */
#define BASE64_DECODED_MAX(n) (((n) + 3) / 4 * 3)
#define BASE64_ENCODED(n)     (((n) + 2) / 3 * 4)

/*
 * Decodes text into out, which has room for BASE64_DECODED_MAX(text.n); the number of bytes, or -1.
 * Padding is complete or absent; unused bits are zero (RFC 4648, 3.5).
 */
ssize_t base64_decode(struct slice text, void *out);

/* Writes BASE64_ENCODED(n) digits to out, with padding and without a NUL. */
void base64_encode(const void *bytes, size_t n, char *out);
