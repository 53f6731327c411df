/* upload_field: see upload_field.h. Called once per request; never allocates. */
#include "http/upload_field.h"

#include "http/param.h"
#include "http/sf.h"

/* RFC 9651, 4.2: several lines are one value with commas between, which no item is. */
static bool upload_field_find(
	const struct field *fields, unsigned n, struct slice name, struct slice *value)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++)
		if (slice_eq(fields[i].name, name)) {
			*value = fields[i].value;
			found++;
		}
	return found == 1;
}

static bool size(const struct field *fields, unsigned n, struct slice name, uint64_t *v)
{
	struct slice value;
	int64_t i;

	if (!upload_field_find(fields, n, name, &value) || !sf_integer(value, &i) || i < 0)
		return false;
	*v = (uint64_t)i;
	return true;
}

void upload_field_parse(const struct field *fields, unsigned n, struct upload_field *u)
{
	struct slice value;
	uint64_t version;

	*u = (struct upload_field){ 0 };
	if (upload_field_find(fields, n, SLICE("upload-complete"), &value))
		u->has_complete = sf_boolean(value, &u->complete);
	u->has_offset = size(fields, n, SLICE("upload-offset"), &u->offset);
	u->has_length = size(fields, n, SLICE("upload-length"), &u->length);
	u->takes_104 = size(fields, n, SLICE("upload-draft-interop-version"), &version) &&
		       version == UPLOAD_INTEROP_VERSION;
}

bool upload_field_is_partial(struct slice s)
{
	static const struct slice type = SLICE_LIT(UPLOAD_MEDIA_TYPE);
	struct param p;
	enum param_result result;

	if (s.n < type.n || !slice_ieq(slice_of(s.p, type.n), type))
		return false;
	s = slice_of(s.p + type.n, s.n - type.n);
	while ((result = param_next(&s, &p)) == PARAM_FOUND)
		;
	return result == PARAM_NONE;
}
