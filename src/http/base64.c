/*
 * base64: decodes the texts that an encoder of RFC 4648, 4 writes and refuses others, so that no
 * two texts mean the same bytes. OpenSSL's decoder alone skips white space and ignores unused bits.
 */
#include "http/base64.h"

#include <openssl/evp.h>

enum { DIGITS = 4, BYTES = 3 }; /* of a group */

/* The digits of up to three bytes, padded. */
static void encode_group(const uint8_t *bytes, size_t n, char digits[DIGITS])
{
	uint8_t text[DIGITS + 1] = { 0 };

	EVP_EncodeBlock(text, bytes, (int)n);
	memcpy(digits, text, DIGITS);
}

ssize_t base64_decode(struct slice text, void *out)
{
	uint8_t *o = out;

	if (text.n % DIGITS == 0)
		for (int i = 0; i < 2 && text.n > 0 && text.p[text.n - 1] == '='; i++)
			text.n--;
	while (text.n > 0) {
		size_t n = text.n < DIGITS ? text.n : DIGITS;
		char digits[DIGITS] = "====", again[DIGITS];
		uint8_t bytes[BYTES] = { 0 };

		memcpy(digits, text.p, n);
		EVP_DecodeBlock(bytes, (uint8_t *)digits, DIGITS);
		encode_group(bytes, n - 1, again);
		if (memcmp(digits, again, DIGITS) != 0)
			return -1;
		memcpy(o, bytes, n - 1);
		o += n - 1;
		slice_skip(&text, n);
	}
	return o - (uint8_t *)out;
}

void base64_encode(const void *bytes, size_t n, char *out)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < n; i += BYTES, out += DIGITS)
		encode_group(p + i, n - i < BYTES ? n - i : BYTES, out);
}
