/*
 * fuzz_response: an application's bytes against the parser of responses: what is found, what is
 * taken and the fault must not depend on how they come. The first byte's bits: of HEAD, with
 * Upgrade, the connection ends behind the bytes.
 */
#include "../unit/response_unit.h"
#include "driver.h"

static char *found(const uint8_t *data, size_t size, size_t step, size_t *n, size_t *took)
{
	struct response_to to = { .head = data[0] & 1, .upgrade = data[0] & 2 };
	char *text;

	arena_init(&arena, NULL, 0, 1 << 20);
	feed((const char *)data + 1, size - 1, to, step, data[0] & 4);
	arena_reset(&arena);
	text = seen;
	seen = NULL;
	*n = nseen;
	*took = taken;
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t steps[] = { 1, 7 };
	size_t n, took;
	char *whole;

	if (size < 2)
		return 0;
	whole = found(data, size, SIZE_MAX, &n, &took);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		size_t n_i, took_i;
		char *pieces = found(data, size, steps[i], &n_i, &took_i);

		H2D_ASSERT(n_i == n && took_i == took && memcmp(pieces, whole, n) == 0);
		free(pieces);
	}
	free(whole);
	return 0;
}
