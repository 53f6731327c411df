/*
 * range: reads the range header, checks it against the size of the content, and joins ranges that
 * overlap. Called per request by the file replies; never allocates.
 */
#include "http/range.h"

#include "http/field.h"

/* One range-spec; a suffix without first. */
struct spec {
	bool has_first, has_last;
	uint64_t first, last;
};

/* 1*DIGIT; without a limit (RFC 9110, 14.1.2): above 64 bits it is the largest number. */
static bool take_number(struct slice *s, uint64_t *v)
{
	size_t i = 0;

	*v = 0;
	for (; i < s->n && s->p[i] >= '0' && s->p[i] <= '9'; i++)
		if (__builtin_mul_overflow(*v, 10, v) ||
			__builtin_add_overflow(*v, (uint64_t)(s->p[i] - '0'), v))
			*v = UINT64_MAX;
	slice_skip(s, i);
	return i > 0;
}

/* int-range or suffix-range (RFC 9110, 14.1.1). */
static bool spec_parse(struct slice s, struct spec *spec)
{
	spec->has_first = take_number(&s, &spec->first);
	if (s.n == 0 || s.p[0] != '-')
		return false;
	slice_skip(&s, 1);
	spec->has_last = take_number(&s, &spec->last);
	if (s.n > 0 || !(spec->has_first || spec->has_last))
		return false;
	return !(spec->has_first && spec->has_last) || spec->first <= spec->last;
}

/* False if it contains no byte of the content. */
static bool spec_resolve(const struct spec *spec, uint64_t size, struct range *range)
{
	if (!spec->has_first) {
		range->n = spec->last < size ? spec->last : size;
		range->at = size - range->n;
		return range->n > 0;
	}
	if (spec->first >= size)
		return false;
	range->at = spec->first;
	range->n = size - spec->first;
	if (spec->has_last && spec->last - spec->first < range->n)
		range->n = spec->last - spec->first + 1;
	return true;
}

static bool touch(const struct range *a, const struct range *b)
{
	return a->at <= b->at + b->n && b->at <= a->at + a->n;
}

/* Ranges that touch become one, in the place of the first one requested. */
static void range_add(struct ranges *r, struct range new)
{
	unsigned place = r->n, i = 0;
	uint64_t end;

	while (i < r->n) {
		if (!touch(&r->v[i], &new)) {
			i++;
			continue;
		}
		end = new.at + new.n;
		if (end < r->v[i].at + r->v[i].n)
			end = r->v[i].at + r->v[i].n;
		new.at = new.at < r->v[i].at ? new.at : r->v[i].at;
		new.n = end - new.at;
		place = i < place ? i : place;
		r->n--;
		memmove(&r->v[i], &r->v[i + 1], (r->n - i) * sizeof(new));
		/* Grown, it may reach another one. */
		i = 0;
	}
	memmove(&r->v[place + 1], &r->v[place], (r->n - place) * sizeof(new));
	r->v[place] = new;
	r->n++;
}

enum range_result range_parse(struct slice value, uint64_t size, struct ranges *r)
{
	static const struct slice unit = SLICE_LIT("bytes=");
	unsigned given = 0, suffixes = 0;
	struct slice s;

	r->n = 0;
	/* Unit names ignore case (RFC 9110, 14.1). */
	if (value.n < unit.n || !slice_ieq(slice_of(value.p, unit.n), unit))
		return RANGE_IGNORED;
	slice_skip(&value, unit.n);
	while (field_list_next(&value, &s)) {
		struct range range;
		struct spec spec;

		if (++given > RANGES_MAX || !spec_parse(s, &spec))
			return RANGE_IGNORED;
		suffixes += !spec.has_first && spec.last > 0;
		if (spec_resolve(&spec, size, &range))
			range_add(r, range);
	}
	if (given == 0)
		return RANGE_IGNORED;
	/* RFC 9110, 14.1.2: a suffix can always be requested, even of empty content. */
	if (r->n == 0)
		return suffixes > 0 ? RANGE_IGNORED : RANGE_UNSATISFIABLE;
	return given > 1 && r->v[0].n == size ? RANGE_IGNORED : RANGE_PARTIAL;
}
