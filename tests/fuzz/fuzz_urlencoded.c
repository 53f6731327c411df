/*
 * fuzz_urlencoded: bytes as a form. As many pairs are decoded as were counted, in memory of no more
 * than that; each lies in it behind the one before, ends in NUL, and is found as it was once it is
 * encoded and decoded again.
 */
#include "driver.h"
#include "http/urlencoded.h"

static char *encode(char *out, struct slice s)
{
	static const char hex[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		*out++ = '%';
		*out++ = hex[c >> 4];
		*out++ = hex[c & 15];
	}
	return out;
}

static struct field *decoded(char *p, size_t n, size_t count)
{
	struct field *pairs = malloc(count * sizeof(*pairs) + 1);

	if (pairs == NULL || urlencoded_count(slice_of(p, n)) != count)
		abort();
	urlencoded_decode(p, n, pairs);
	return pairs;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t count = urlencoded_count(slice_of(data, size));
	char *p = malloc(size + 1), *again = malloc(3 * size + 2 * count + 1), *end = again;
	const char *at = p;
	struct field *pairs, *same;

	if (p == NULL || again == NULL)
		abort();
	if (size > 0)
		memcpy(p, data, size);
	pairs = decoded(p, size, count);
	for (size_t i = 0; i < count; i++) {
		struct field f = pairs[i];

		if (f.name.p < at || f.name.p + f.name.n > f.value.p ||
			f.value.p + f.value.n > p + size || f.name.p[f.name.n] != '\0' ||
			f.value.p[f.value.n] != '\0')
			abort();
		at = f.value.p + f.value.n;
		end = encode(end, f.name);
		*end++ = '=';
		end = encode(end, f.value);
		*end++ = '&';
	}
	same = decoded(again, (size_t)(end - again), count);
	for (size_t i = 0; i < count; i++)
		if (!slice_eq(same[i].name, pairs[i].name) ||
			!slice_eq(same[i].value, pairs[i].value))
			abort();
	free(pairs);
	free(same);
	free(again);
	free(p);
	return 0;
}
