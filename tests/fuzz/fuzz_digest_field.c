/*
 * fuzz_digest_field: the value of a digest field. What is taken and written again is taken again,
 * as the same; nothing is given after an error.
 */
#include "driver.h"
#include "http/upload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct field field = { SLICE_LIT("repr-digest"), slice_of(data, size) };
	struct digest_field d, again;
	bool bad = digest_field_parse(&field, 1, field.name, &d) != NULL;
	char out[DIGEST_FIELD_MAX];

	for (enum digest_algorithm a = 0; a < DIGEST_ALGORITHMS; a++) {
		if (!d.given[a])
			continue;
		field.value = slice_of(out, digest_field_write(out, a, d.hash[a]));
		if (bad || digest_field_parse(&field, 1, field.name, &again) != NULL ||
			digest_field_compare(&again, a, d.hash[a]) != NULL || !again.given[a])
			abort();
	}
	return 0;
}
