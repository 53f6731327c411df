/*
 * hpack: a ring of the newest entries, each with its bytes. A header is looked up at the entry
 * last used at its place in the block, then by a hash; a new one becomes an entry.
 */
#include "proto/hpack.h"

#include <stdlib.h>

enum {
	ENTRY = 32, /* bytes that an entry counts beside its own (RFC 7541, 4.1) */
	/* Bytes of a header beside those of its name and value: two lengths and an index. */
	FIELD = 16,
	STATIC = 61,
};

/* First bytes, with the number of their bits for a number (RFC 7541, 6). */
enum { INDEXED = 0x80, INDEXED_BITS = 7 };
enum { ADDED = 0x40, ADDED_BITS = 6 };
enum { SINGLE = 0x00, SINGLE_BITS = 4 };
enum { CODED_STRING = 0x80, STRING_BITS = 7 };

struct hpack_entry {
	uint32_t name_n, value_n;
	char bytes[]; /* name, then value */
};

/* --- numbers and strings ---------------------------------------------------------------------- */

/* RFC 7541, 5.1. */
static uint8_t *put_number(uint8_t *out, unsigned first, unsigned bits, size_t v)
{
	size_t most = (1u << bits) - 1;

	if (v < most) {
		*out++ = (uint8_t)(first | v);
		return out;
	}
	*out++ = (uint8_t)(first | most);
	for (v -= most; v >= 0x80; v >>= 7)
		*out++ = (uint8_t)(v | 0x80);
	*out++ = (uint8_t)v;
	return out;
}

/* Bits of the bytes' codes in Huffman's code (RFC 7541, appendix B). */
static const uint8_t code_bits[256] = { 13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28,
	28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8,
	11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7,
	7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
	15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11,
	14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23,
	24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22,
	24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26,
	20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21,
	21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
	26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26 };

/* The codes, in the order of their bits, then of their bytes. */
static uint32_t codes[256];

static void make_codes(void)
{
	uint32_t code = 0;

	for (unsigned bits = 5; bits <= 30; bits++, code <<= 1)
		for (unsigned c = 0; c < 256; c++)
			if (code_bits[c] == bits)
				codes[c] = code++;
}

/* Bytes of s in Huffman's code. */
static size_t coded_length(struct slice s)
{
	size_t bits = 0;

	for (size_t i = 0; i < s.n; i++)
		bits += code_bits[(unsigned char)s.p[i]];
	return (bits + 7) / 8;
}

/* RFC 7541, 5.2: ones fill the last byte. */
static uint8_t *put_coded(uint8_t *out, struct slice s)
{
	uint64_t held = 0;
	unsigned bits = 0;

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		held = held << code_bits[c] | codes[c];
		for (bits += code_bits[c]; bits >= 8; bits -= 8)
			*out++ = (uint8_t)(held >> (bits - 8));
	}
	if (bits > 0)
		*out++ = (uint8_t)(held << (8 - bits) | 0xff >> bits);
	return out;
}

static uint8_t *put_plain(uint8_t *out, struct slice s)
{
	out = put_number(out, 0, STRING_BITS, s.n);
	memcpy(out, s.p, s.n);
	return out + s.n;
}

static uint8_t *put_string(uint8_t *out, struct slice s)
{
	size_t n = coded_length(s);

	if (n >= s.n)
		return put_plain(out, s);
	return put_coded(put_number(out, CODED_STRING, STRING_BITS, n), s);
}

/* --- the table -------------------------------------------------------------------------------- */

void hpack_init(struct hpack *h)
{
	if (codes[1] == 0)
		make_codes();
	*h = (struct hpack){ .max = HPACK_TABLE };
}

static void drop_oldest(struct hpack *h)
{
	unsigned at = (h->next - h->n) % HPACK_KEPT;

	h->n--;
	h->size -= ENTRY + h->entries[at]->name_n + h->entries[at]->value_n;
	free(h->entries[at]);
	h->entries[at] = NULL;
}

void hpack_clear(struct hpack *h)
{
	while (h->n > 0)
		drop_oldest(h);
}

void hpack_resize(struct hpack *h, size_t max)
{
	hpack_clear(h);
	h->max = max < HPACK_TABLE ? max : HPACK_TABLE;
}

/* Differing bits of the eight bytes at a and b; of the four. */
static inline uint64_t eight_differ(const char *a, const char *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x ^ y;
}

static inline uint32_t four_differ(const char *a, const char *b)
{
	uint32_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x ^ y;
}

/* Compares n bytes at a and b, eight at a time; some of the last eight perhaps twice. */
static inline bool same_bytes(const char *a, const char *b, size_t n)
{
	uint64_t differ = 0;

	if (n >= 8) {
		for (size_t i = 0; i < n - 8; i += 8)
			differ |= eight_differ(a + i, b + i);
		return (differ | eight_differ(a + n - 8, b + n - 8)) == 0;
	}
	if (n >= 4)
		return (four_differ(a, b) | four_differ(a + n - 4, b + n - 4)) == 0;
	while (n > 0 && a[n - 1] == b[n - 1])
		n--;
	return n == 0;
}

static inline bool is(const struct hpack_entry *e, const struct field *f)
{
	return e->name_n == f->name.n && e->value_n == f->value.n &&
	       same_bytes(e->bytes, f->name.p, f->name.n) &&
	       same_bytes(e->bytes + e->name_n, f->value.p, f->value.n);
}

/* RFC 7541, 2.3.3: the newest entry has the first index after the static table. */
static inline uint8_t *put_index(const struct hpack *h, unsigned at, uint8_t *out)
{
	*out++ = (uint8_t)(INDEXED | (STATIC + (h->next - at) % HPACK_KEPT));
	return out;
}

static uint16_t hash_of(const struct field *f)
{
	uint64_t hash = f->name.n * 31 + f->value.n, word;
	size_t i;

	for (i = 0; i + sizeof(word) <= f->value.n; i += sizeof(word)) {
		memcpy(&word, f->value.p + i, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	}
	for (; i < f->value.n; i++)
		hash = (hash ^ (unsigned char)f->value.p[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint16_t)(hash >> 48);
}

/* The place of the header's entry; HPACK_KEPT: none. */
static unsigned hpack_find(const struct hpack *h, const struct field *f, uint16_t hash)
{
	for (unsigned i = 1; i <= h->n; i++) {
		unsigned at = (h->next - i) % HPACK_KEPT;

		if (h->hashes[at] == hash && is(h->entries[at], f))
			return at;
	}
	return HPACK_KEPT;
}

/* Adds an entry, for the peer too. False: it would take too much of the table, or memory is out. */
static bool hpack_add(struct hpack *h, const struct field *f, uint16_t hash)
{
	size_t bytes = f->name.n + f->value.n;
	struct hpack_entry *e;

	if (ENTRY + bytes > h->max / 2)
		return false;
	while (h->n == HPACK_KEPT - 1 || h->size > h->max - ENTRY - bytes)
		drop_oldest(h);
	e = malloc(sizeof(*e) + bytes);
	if (e == NULL)
		return false;
	e->name_n = (uint32_t)f->name.n;
	e->value_n = (uint32_t)f->value.n;
	memcpy(e->bytes, f->name.p, f->name.n);
	memcpy(e->bytes + f->name.n, f->value.p, f->value.n);
	h->entries[h->next % HPACK_KEPT] = e;
	h->hashes[h->next % HPACK_KEPT] = hash;
	h->next++;
	h->n++;
	h->size += ENTRY + bytes;
	return true;
}

/* --- headers ---------------------------------------------------------------------------------- */

/* The index of a name in the static table; 0: none. */
static unsigned name_index(struct slice name)
{
#define HPACK_NAME(index, text) \
	if (slice_eq(name, SLICE(text))) \
		return index;
#include "proto/hpack_name.def"
	return 0;
}

static uint8_t *put_name(
	uint8_t *out, unsigned first, unsigned bits, unsigned index, struct slice name)
{
	out = put_number(out, first, bits, index);
	return index > 0 ? out : put_string(out, name);
}

/* A header of hpack_single.def; NULL: another one. */
static inline uint8_t *put_single(uint8_t *out, const struct field *f)
{
#define PLAIN put_plain
#define CODED put_string
#define HPACK_SINGLE(index, text, how) \
	if (slice_eq(f->name, SLICE(text))) \
		return how(put_name(out, SINGLE, SINGLE_BITS, index, f->name), f->value);
#include "proto/hpack_single.def"
	return NULL;
}

/* Not inline: few headers of a connection are new. */
static __attribute__((noinline)) uint8_t *put_new(
	struct hpack *h, const struct field *f, uint16_t hash, uint8_t *out)
{
	unsigned index = name_index(f->name);

	if (hpack_add(h, f, hash))
		out = put_name(out, ADDED, ADDED_BITS, index, f->name);
	else
		out = put_name(out, SINGLE, SINGLE_BITS, index, f->name);
	return put_string(out, f->value);
}

/* The header at that place of its block differs from the last one there. */
static __attribute__((noinline)) uint8_t *put_other(
	struct hpack *h, const struct field *f, unsigned place, uint8_t *out)
{
	uint8_t *single = put_single(out, f);
	uint16_t hash;
	unsigned at;

	if (single != NULL)
		return single;
	hash = hash_of(f);
	at = hpack_find(h, f, hash);
	if (at == HPACK_KEPT) {
		at = h->next % HPACK_KEPT;
		out = put_new(h, f, hash, out);
	} else {
		out = put_index(h, at, out);
	}
	h->guesses[place] = (uint8_t)at;
	return out;
}

uint8_t *hpack_status(int status, uint8_t *out)
{
	static const struct {
		int status;
		uint8_t index;
	} known[] = { { 200, 8 }, { 304, 11 }, { 206, 10 }, { 404, 13 }, { 204, 9 }, { 400, 12 },
		{ 500, 14 } };

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].status == status) {
			*out++ = INDEXED | known[i].index;
			return out;
		}
	*out++ = SINGLE | 8; /* the name, with another value */
	*out++ = 3;
	*out++ = (uint8_t)('0' + status / 100);
	*out++ = (uint8_t)('0' + status / 10 % 10);
	*out++ = (uint8_t)('0' + status % 10);
	return out;
}

uint8_t *hpack_fields(
	struct hpack *h, const struct field *fields, unsigned n, uint8_t *out, const uint8_t *end)
{
	for (unsigned i = 0; i < n; i++) {
		const struct field *f = &fields[i];
		unsigned place = i % HPACK_GUESSES, at = h->guesses[place];

		if (f->name.n + f->value.n + FIELD > (size_t)(end - out)) {
			/* The peer never gets the entries of the headers before. */
			hpack_clear(h);
			return NULL;
		}
		if (h->entries[at] != NULL && is(h->entries[at], f))
			out = put_index(h, at, out);
		else
			out = put_other(h, f, place, out);
	}
	return out;
}
