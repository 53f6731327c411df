/*
 * fuzz_sf: the value of a field that is one item (the fields of resumable uploads are). It is of
 * one type at most, within its range, and written plainly it is read as the same.
 */
#include <inttypes.h>
#include <stdio.h>

#include "driver.h"
#include "http/sf.h"
#include "http/upload.h"

static void check_field(struct slice name, struct slice value, int64_t v)
{
	struct field field = { name, value };
	struct upload_field u;

	upload_field_parse(&field, 1, &u);
	if (u.has_offset != (v >= 0) || (u.has_offset && u.offset != (uint64_t)v))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int64_t most = 999999999999999;
	struct slice value = slice_of(data, size);
	int64_t v = -1, again;
	bool truth, is_integer = sf_integer(value, &v);
	char plain[24];
	int n;

	if (is_integer && (v > most || v < -most || sf_boolean(value, &truth)))
		abort();
	check_field(SLICE("upload-offset"), value, is_integer ? v : -1);
	upload_field_is_partial(value);
	if (!is_integer)
		return 0;
	n = snprintf(plain, sizeof(plain), "%" PRId64, v);
	if (!sf_integer(slice_of(plain, (size_t)n), &again) || again != v)
		abort();
	return 0;
}
