/*
 * fuzz_coding: lines as accept-encoding fields, and as accept fields. What is chosen is to be had,
 * 406 needs a weight of zero, and neither case nor an unknown name at either end changes the
 * choice.
 */
#include <ctype.h>

#include "driver.h"
#include "http/coding.h"

enum { FIELDS_MAX = 32 };

static unsigned split(struct slice rest, struct field *fields)
{
	unsigned n = 0;

	for (; rest.n > 0 && n < FIELDS_MAX; n++) {
		fields[n].name = SLICE("accept-encoding");
		slice_cut(&rest, '\n', &fields[n].value);
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct field fields[FIELDS_MAX + 2] = { { SLICE_LIT("accept-encoding"), SLICE_LIT("zz") } };
	unsigned n = split(slice_of(data, size), fields + 1);
	char *upper = malloc(size + 1);

	if (upper == NULL)
		return 0;
	for (size_t i = 0; i < size; i++)
		upper[i] = (char)toupper(data[i]);
	fields[n + 1] = fields[0];
	for (unsigned available = 0; available < 1 << CODINGS; available++) {
		enum coding c = coding_choose(fields + 1, n, available);

		if (c < CODINGS && !(available >> c & 1))
			abort();
		if (c == CODING_NONE && memchr(data, '0', size) == NULL)
			abort();
		if (n > 0 && coding_choose(fields, n + 2, available) != c)
			abort();
	}
	for (unsigned available = 0; available < 1 << CODINGS; available++) {
		struct field shouted[FIELDS_MAX];
		unsigned m = split(slice_of(upper, size), shouted);

		if (coding_choose(shouted, m, available) != coding_choose(fields + 1, n, available))
			abort();
	}
	free(upper);
	for (unsigned i = 0; i <= n + 1; i++)
		fields[i].name = SLICE("accept");
	if (n > 0) {
		int weight = accept_weight(fields + 1, n, SLICE("text/html"));

		if (weight < 0 || weight > ACCEPT_MAX ||
			accept_weight(fields, n + 2, SLICE("text/html")) != weight)
			abort();
	}
	return 0;
}
