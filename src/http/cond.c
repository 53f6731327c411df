/*
 * cond: entity tags are read here and not by field_list_next(): a backslash in them is an ordinary
 * byte (RFC 9110, 8.8.3).
 */
#include "http/cond.h"

#include "http/date.h"

/* The kind of a header; usually none. */
static unsigned kind_of(const struct field *f)
{
	if (f->name.n < 5)
		return 0;
	switch (f->name.p[0]) {
	case 'a':
		return slice_eq(f->name, SLICE("accept-encoding")) ? COND_ACCEPT_ENCODING : 0;
	case 'r':
		return slice_eq(f->name, SLICE("range")) ? COND_RANGE : 0;
	case 'i':
		break;
	default:
		return 0;
	}
	if (slice_eq(f->name, SLICE("if-none-match")))
		return COND_IF_NONE_MATCH;
	if (slice_eq(f->name, SLICE("if-modified-since")))
		return COND_IF_MODIFIED_SINCE;
	if (slice_eq(f->name, SLICE("if-match")))
		return COND_IF_MATCH;
	if (slice_eq(f->name, SLICE("if-unmodified-since")))
		return COND_IF_UNMODIFIED_SINCE;
	if (slice_eq(f->name, SLICE("if-range")))
		return COND_IF_RANGE;
	return 0;
}

unsigned cond_fields(const struct field *fields, unsigned n)
{
	unsigned seen = 0;

	for (unsigned i = 0; i < n; i++)
		seen |= kind_of(&fields[i]);
	return seen;
}

/*
 * Cuts the next entity tag off *s: *tag with its quotes. False at the end, or next to bytes that
 * are no tag: then *s is not empty.
 */
static bool next_tag(struct slice *s, struct slice *tag, bool *weak)
{
	const char *close;
	struct slice t;

	slice_skip_any(s, " \t,");
	*weak = slice_starts(*s, SLICE("W/"));
	t = *weak ? slice_of(s->p + 2, s->n - 2) : *s;
	if (t.n < 2 || t.p[0] != '"')
		return false;
	close = memchr(t.p + 1, '"', t.n - 1);
	if (close == NULL)
		return false;
	*tag = slice_of(t.p, (size_t)(close + 1 - t.p));
	*s = slice_of(close + 1, t.n - tag->n);
	slice_skip_any(s, " \t");
	return s->n == 0 || *s->p == ',';
}

/* True if any header of that kind names etag. Strong comparison: a weak tag never matches
 * (8.8.3.2). */
static bool tag_listed(
	const struct field *fields, unsigned n, unsigned kind, struct slice etag, bool strong)
{
	bool is_weak = slice_starts(etag, SLICE("W/"));

	if (is_weak)
		etag = slice_of(etag.p + 2, etag.n - 2);
	for (unsigned i = 0; i < n; i++) {
		struct slice rest = fields[i].value, tag;
		bool weak;

		if (kind_of(&fields[i]) != kind)
			continue;
		if (slice_eq(rest, SLICE("*")))
			return true;
		while (next_tag(&rest, &tag, &weak))
			if (slice_eq(tag, etag) && !(strong && (weak || is_weak)))
				return true;
	}
	return false;
}

/* The only header of that kind; NULL (ignore it) for several or none. */
static const struct field *only(const struct field *fields, unsigned n, unsigned kind)
{
	const struct field *found = NULL;

	for (unsigned i = 0; i < n; i++) {
		if (kind_of(&fields[i]) != kind)
			continue;
		if (found != NULL)
			return NULL;
		found = &fields[i];
	}
	return found;
}

/* The header's date; false (ignore it) if it has none. */
static bool date_of(const struct field *fields, unsigned n, unsigned kind, time_t now, time_t *t)
{
	const struct field *f = only(fields, n, kind);

	return f != NULL && date_parse(f->value, now, t);
}

/* Steps 1 and 2: the content is the one that the client knows. v NULL: there is none. */
static bool is_as_known(const struct field *fields, unsigned n, unsigned seen,
	const struct cond_validators *v, time_t now)
{
	time_t t;

	if (seen & COND_IF_MATCH)
		return v != NULL && tag_listed(fields, n, COND_IF_MATCH, v->etag, true);
	return !(seen & COND_IF_UNMODIFIED_SINCE) || v == NULL ||
	       !date_of(fields, n, COND_IF_UNMODIFIED_SINCE, now, &t) || v->last_modified <= t;
}

/* The steps of RFC 9110, 13.2.2; its step 5, If-Range, is cond_range(). */
enum cond_result cond_check(const struct field *fields, unsigned n, unsigned seen,
	const struct cond_validators *v, time_t now)
{
	time_t t;

	if (!is_as_known(fields, n, seen, v, now))
		return COND_FAILED;
	if (seen & COND_IF_NONE_MATCH) {
		if (tag_listed(fields, n, COND_IF_NONE_MATCH, v->etag, false))
			return COND_NOT_MODIFIED;
	} else if ((seen & COND_IF_MODIFIED_SINCE) &&
		   date_of(fields, n, COND_IF_MODIFIED_SINCE, now, &t) && v->last_modified <= t) {
		return COND_NOT_MODIFIED;
	}
	return COND_PROCEED;
}

/* True if headers of that kind contain only "*" or entity tags, and at least one. */
static bool tags_valid(const struct field *fields, unsigned n, unsigned kind)
{
	bool any = false;

	for (unsigned i = 0; i < n; i++) {
		struct slice rest = fields[i].value, tag;
		bool weak;

		if (kind_of(&fields[i]) != kind)
			continue;
		if (slice_eq(rest, SLICE("*"))) {
			any = true;
			continue;
		}
		while (next_tag(&rest, &tag, &weak))
			any = true;
		if (rest.n > 0)
			return false;
	}
	return any;
}

enum cond_result cond_check_change(const struct field *fields, unsigned n, unsigned seen,
	const struct cond_validators *v, time_t now)
{
	if (!is_as_known(fields, n, seen, v, now))
		return COND_FAILED;
	if (!(seen & COND_IF_NONE_MATCH))
		return COND_PROCEED;
	if (!tags_valid(fields, n, COND_IF_NONE_MATCH))
		return COND_FAILED;
	if (v != NULL && tag_listed(fields, n, COND_IF_NONE_MATCH, v->etag, false))
		return COND_FAILED;
	return COND_PROCEED;
}

/* A strong entity tag, or a strong date: a file modified in this second may change again in it (RFC
 * 9110, 8.8.2.2). */
static bool if_range_holds(const struct field *f, const struct cond_validators *v, time_t now)
{
	struct slice rest = f->value, tag;
	bool weak;
	time_t t;

	if (next_tag(&rest, &tag, &weak))
		return !weak && tag.n == f->value.n && slice_eq(tag, v->etag);
	return date_parse(f->value, now, &t) && t == v->last_modified && t < now;
}

struct slice cond_range(const struct field *fields, unsigned n, unsigned seen,
	const struct cond_validators *v, time_t now)
{
	const struct slice none = { 0 };
	const struct field *range, *condition;

	range = only(fields, n, COND_RANGE);
	if (range == NULL)
		return none;
	if (seen & COND_IF_RANGE) {
		condition = only(fields, n, COND_IF_RANGE);
		if (condition == NULL || !if_range_holds(condition, v, now))
			return none;
	}
	return range->value;
}
