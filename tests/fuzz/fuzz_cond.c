/*
 * fuzz_cond: lines of "name: value" as request fields; they go through everything that reads
 * fields. A verdict needs a condition that can lead to it.
 */
#include "driver.h"
#include "http/cond.h"

enum { FIELDS_MAX = 32, MODIFIED = 784111777, NOW = 1795255872 };

static unsigned split(struct slice rest, struct field *fields)
{
	unsigned n = 0;

	for (; rest.n > 0 && n < FIELDS_MAX; n++) {
		struct field *f = &fields[n];

		slice_cut(&rest, '\n', &f->value);
		slice_cut(&f->value, ':', &f->name);
		if (f->value.n > 0)
			slice_skip(&f->value, 1);
	}
	return n;
}

static void walk_list(struct slice value)
{
	struct slice rest = value, element;
	const char *last = value.p;

	while (field_list_next(&rest, &element)) {
		if (element.n == 0 || element.p < last || element.p + element.n > value.p + value.n)
			abort();
		if (strchr(" \t", element.p[0]) != NULL && element.p[0] != '\0')
			abort();
		last = element.p + element.n;
	}
}

/* What asks that something be there fails where nothing is. What fails asked for something. */
static void check_change(
	const struct field *fields, unsigned n, unsigned seen, const struct cond_validators *v)
{
	enum cond_result there = cond_check_change(fields, n, seen, v, NOW);
	enum cond_result missing = cond_check_change(fields, n, seen, NULL, NOW);
	unsigned asked = seen & (COND_IF_MATCH | COND_IF_NONE_MATCH | COND_IF_UNMODIFIED_SINCE);

	if (there == COND_NOT_MODIFIED || missing == COND_NOT_MODIFIED)
		abort();
	if ((seen & COND_IF_MATCH) && missing != COND_FAILED)
		abort();
	if (asked == 0 && (there != COND_PROCEED || missing != COND_PROCEED))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct cond_validators v = { SLICE_LIT("\"abc\""), MODIFIED };
	struct field fields[FIELDS_MAX];
	unsigned n = split(slice_of(data, size), fields);
	unsigned seen = cond_fields(fields, n);
	enum cond_result result = cond_check(fields, n, seen, &v, NOW);
	bool match = field_find(fields, n, SLICE("if-match")) != NULL;
	bool none_match = field_find(fields, n, SLICE("if-none-match")) != NULL;
	bool modified = field_find(fields, n, SLICE("if-modified-since")) != NULL;
	bool unmodified = field_find(fields, n, SLICE("if-unmodified-since")) != NULL;

	if (result == COND_FAILED && !match && !unmodified)
		abort();
	if (result == COND_NOT_MODIFIED && !none_match && !modified)
		abort();
	if (cond_range(fields, n, seen, &v, NOW).n > 0 && !(seen & COND_RANGE))
		abort();
	check_change(fields, n, seen, &v);
	for (unsigned i = 0; i < n; i++) {
		walk_list(fields[i].value);
		field_name_valid(fields[i].name);
		field_value_valid(fields[i].value);
	}
	return 0;
}
