/*
 * cond: see cond.h. Called per request by the file replies. Entity tags are read here and not by
 * field_list_next(): a backslash in them is a byte like any other (RFC 9110, 8.8.3).
 */
#include "http/cond.h"

#include "http/date.h"

enum { IF_MATCH = 1, IF_NONE_MATCH = 2, IF_MODIFIED_SINCE = 4, IF_UNMODIFIED_SINCE = 8 };

/* Which condition a field carries; almost always none. */
static unsigned kind_of(const struct field *f)
{
	if (f->name.n < 8 || memcmp(f->name.p, "if-", 3) != 0)
		return 0;
	if (slice_eq(f->name, SLICE("if-none-match")))
		return IF_NONE_MATCH;
	if (slice_eq(f->name, SLICE("if-modified-since")))
		return IF_MODIFIED_SINCE;
	if (slice_eq(f->name, SLICE("if-match")))
		return IF_MATCH;
	if (slice_eq(f->name, SLICE("if-unmodified-since")))
		return IF_UNMODIFIED_SINCE;
	return 0;
}

static void skip(struct slice *s, const char *bytes)
{
	while (s->n > 0 && *s->p != '\0' && strchr(bytes, *s->p) != NULL) {
		s->p++;
		s->n--;
	}
}

/* Cuts the next entity tag off *s: *tag with its quotes. False at the end or at what is no tag. */
static bool next_tag(struct slice *s, struct slice *tag, bool *weak)
{
	const char *close;

	skip(s, " \t,");
	*weak = slice_starts(*s, SLICE("W/"));
	if (*weak) {
		s->p += 2;
		s->n -= 2;
	}
	if (s->n < 2 || s->p[0] != '"')
		return false;
	close = memchr(s->p + 1, '"', s->n - 1);
	if (close == NULL)
		return false;
	*tag = slice_of(s->p, (size_t)(close + 1 - s->p));
	s->p += tag->n;
	s->n -= tag->n;
	skip(s, " \t");
	return s->n == 0 || *s->p == ',';
}

/* Does any field of that kind name etag? Strong comparison: a weak tag never does (8.8.3.2). */
static bool tag_listed(const struct field *fields, unsigned n, unsigned kind, struct slice etag,
	bool strong)
{
	for (unsigned i = 0; i < n; i++) {
		struct slice rest = fields[i].value, tag;
		bool weak;

		if (kind_of(&fields[i]) != kind)
			continue;
		if (slice_eq(rest, SLICE("*")))
			return true;
		while (next_tag(&rest, &tag, &weak))
			if (slice_eq(tag, etag) && !(strong && weak))
				return true;
	}
	return false;
}

/* The date of the only field of that kind; false (ignore it) for several or for no date at all. */
static bool date_of(const struct field *fields, unsigned n, unsigned kind, time_t now, time_t *t)
{
	const struct field *found = NULL;

	for (unsigned i = 0; i < n; i++) {
		if (kind_of(&fields[i]) != kind)
			continue;
		if (found != NULL)
			return false;
		found = &fields[i];
	}
	return found != NULL && date_parse(found->value, now, t);
}

/* The steps of RFC 9110, 13.2.2; its step 5, If-Range, belongs to ranges. */
enum cond_result cond_check(const struct field *fields, unsigned n, const struct cond_validators *v,
	time_t now)
{
	unsigned seen = 0;
	time_t t;

	for (unsigned i = 0; i < n; i++)
		seen |= kind_of(&fields[i]);
	if (seen == 0)
		return COND_PROCEED;

	if (seen & IF_MATCH) {
		if (!tag_listed(fields, n, IF_MATCH, v->etag, true))
			return COND_FAILED;
	} else if ((seen & IF_UNMODIFIED_SINCE) &&
		   date_of(fields, n, IF_UNMODIFIED_SINCE, now, &t) && v->last_modified > t) {
		return COND_FAILED;
	}

	if (seen & IF_NONE_MATCH) {
		if (tag_listed(fields, n, IF_NONE_MATCH, v->etag, false))
			return COND_NOT_MODIFIED;
	} else if ((seen & IF_MODIFIED_SINCE) &&
		   date_of(fields, n, IF_MODIFIED_SINCE, now, &t) && v->last_modified <= t) {
		return COND_NOT_MODIFIED;
	}
	return COND_PROCEED;
}
