/*
 * upload: reads the headers of uploads, and checks names from peers: valid ones go to openat(2),
 * listings and location headers. Called once per upload; must never allocate.
 */
#include "http/upload.h"

#include "base/utf8.h"
#include "http/base64.h"
#include "http/field.h"
#include "http/sf.h"

/* RFC 9651, 4.2: several lines are one value joined by commas, which no item has. */
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
	struct field_param p;
	enum field_param_result result;

	if (s.n < type.n || !slice_ieq(slice_of(s.p, type.n), type))
		return false;
	s = slice_of(s.p + type.n, s.n - type.n);
	while ((result = field_param_next(&s, &p)) == FIELD_PARAM_FOUND)
		;
	return result == FIELD_PARAM_NONE;
}

/* --- digests ---------------------------------------------------------------------------------- */

static const struct {
	struct slice key;
	size_t size;
} algorithms[DIGEST_ALGORITHMS] = {
	[DIGEST_SHA_256] = { SLICE_LIT("sha-256"), 32 },
	[DIGEST_SHA_512] = { SLICE_LIT("sha-512"), 64 },
};

/* DIGEST_ALGORITHMS: another one. */
static enum digest_algorithm algorithm_of(struct slice key)
{
	enum digest_algorithm a = 0;

	while (a < DIGEST_ALGORITHMS && !slice_eq(key, algorithms[a].key))
		a++;
	return a;
}

/* *s is behind "sha-256=". */
static bool cut_hash(struct slice *s, enum digest_algorithm a, struct digest_field *d)
{
	unsigned char hash[BASE64_DECODED_MAX(BASE64_ENCODED(DIGEST_SIZE_MAX))];
	struct slice text;

	if (!sf_cut_bytes(s, &text) || text.n > BASE64_ENCODED(algorithms[a].size) ||
		base64_decode(text, hash) != (ssize_t)algorithms[a].size)
		return false;
	memcpy(d->hash[a], hash, algorithms[a].size);
	d->given[a] = true;
	return true;
}

static bool cut_member(struct slice *s, struct digest_field *d)
{
	enum digest_algorithm a;
	struct slice key;

	/* A key without a value is true (RFC 9651, 3.2), and no digest. */
	if (!sf_cut_key(s, &key) || !sf_take(s, '='))
		return false;
	a = algorithm_of(key);
	return (a < DIGEST_ALGORITHMS ? cut_hash(s, a, d) : sf_skip_item(s)) &&
	       sf_skip_parameters(s);
}

/* One line; several are parts of one dictionary (RFC 9651, 4.2). */
static bool parse_line(struct slice s, struct digest_field *d)
{
	slice_skip_any(&s, " ");
	while (s.n > 0) {
		if (!cut_member(&s, d))
			return false;
		slice_skip_any(&s, " \t");
		if (s.n == 0)
			return true;
		if (!sf_take(&s, ','))
			return false;
		slice_skip_any(&s, " \t");
		if (s.n == 0)
			return false;
	}
	return true;
}

const struct err *digest_field_parse(
	const struct field *fields, unsigned n, struct slice name, struct digest_field *d)
{
	memset(d, 0, sizeof(*d));
	for (unsigned i = 0; i < n; i++) {
		if (slice_eq(fields[i].name, name) && !parse_line(fields[i].value, d)) {
			memset(d, 0, sizeof(*d));
			return ERR_DIGEST_FIELD;
		}
	}
	return NULL;
}

/* *s is behind a key; without a value it is true (RFC 9651, 3.2), and no weight. */
static bool cut_weight(struct slice *s, int64_t *weight)
{
	struct slice item;

	*weight = 0;
	if (!sf_take(s, '='))
		return sf_skip_parameters(s);
	item = *s;
	if (!sf_skip_item(s))
		return false;
	item.n = (size_t)(s->p - item.p);
	if (!sf_integer(item, weight))
		*weight = 0;
	return sf_skip_parameters(s);
}

static bool line_wants(struct slice s)
{
	struct slice key;
	int64_t weight;
	bool wants = false;

	do {
		slice_skip_any(&s, " \t");
		if (!sf_cut_key(&s, &key) || !cut_weight(&s, &weight))
			return false;
		wants |= algorithm_of(key) < DIGEST_ALGORITHMS && weight > 0;
		slice_skip_any(&s, " \t");
	} while (sf_take(&s, ','));
	return wants && s.n == 0;
}

bool digest_field_wanted(const struct field *fields, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (slice_eq(fields[i].name, SLICE("want-repr-digest")) &&
			line_wants(fields[i].value))
			return true;
	return false;
}

bool digest_field_any(const struct digest_field *d)
{
	return d->given[DIGEST_SHA_256] || d->given[DIGEST_SHA_512];
}

const struct err *digest_field_compare(
	const struct digest_field *d, enum digest_algorithm a, const unsigned char *hash)
{
	if (!d->given[a] || memcmp(d->hash[a], hash, algorithms[a].size) == 0)
		return NULL;
	return ERR_DIGEST_WRONG;
}

size_t digest_field_write(
	char out[DIGEST_FIELD_MAX], enum digest_algorithm a, const unsigned char *hash)
{
	const struct slice key = algorithms[a].key;
	const size_t size = algorithms[a].size;
	char *o = out;

	o = mempcpy(o, key.p, key.n);
	o = mempcpy(o, "=:", 2);
	base64_encode(hash, size, o);
	o += BASE64_ENCODED(size);
	*o++ = ':';
	return (size_t)(o - out);
}

/* --- its name --------------------------------------------------------------------------------- */

struct slice file_name_last(struct slice name)
{
	size_t i = name.n;

	while (i > 0 && name.p[i - 1] != '/' && name.p[i - 1] != '\\')
		i--;
	return slice_of(name.p + i, name.n - i);
}

static const struct err *check_characters(struct slice name)
{
	const struct err *err = NULL;

	for (size_t i = 0, n; i < name.n; i += n) {
		uint32_t c;

		n = utf8_sequence(slice_of(name.p + i, name.n - i));
		if (n == 0)
			return ERR_FILE_NAME_UTF8;
		c = utf8_number(name.p + i, n);
		if (utf8_is_control(c))
			err = ERR_FILE_NAME_CONTROL;
		else if (utf8_is_direction(c) && err == NULL)
			err = ERR_FILE_NAME_DIRECTION;
	}
	return err;
}

const struct err *file_name_check(struct slice name)
{
	if (name.n == 0)
		return ERR_FILE_NAME_EMPTY;
	if (name.n > FILE_NAME_LEN_MAX)
		return ERR_FILE_NAME_LONG;
	if (name.p[0] == '.')
		return ERR_FILE_NAME_DOT;
	if (memchr(name.p, '/', name.n) != NULL || memchr(name.p, '\\', name.n) != NULL)
		return ERR_FILE_NAME_SLASH;
	return check_characters(name);
}
