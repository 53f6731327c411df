/*
 * fuzz_date: the input is eight bytes of now and a text. Whatever is taken for a date comes back
 * from what it is written as; so does now itself.
 */
#include "driver.h"
#include "http/date.h"

static void round_trip(time_t t, time_t now)
{
	char text[DATE_LEN + 1], again[DATE_LEN + 1];
	time_t back;

	date_format(t, text);
	if (strlen(text) != DATE_LEN || !date_parse(slice_of(text, DATE_LEN), now, &back))
		abort();
	date_format(back, again);
	if (strcmp(text, again) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int64_t now;
	time_t t;

	if (size < sizeof(now))
		return 0;
	memcpy(&now, data, sizeof(now));
	round_trip(now, now);
	if (date_parse(slice_of(data + sizeof(now), size - sizeof(now)), now, &t))
		round_trip(t, now);
	return 0;
}
