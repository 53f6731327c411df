/*
 * dav_if: reads the header from left to right and evaluates it on the way. Called by the store
 * before it changes a drive; borrows, and never allocates.
 */
#include "http/dav_if.h"

/* Takes text, ignoring case, and the space before it. */
static bool take(struct slice *rest, struct slice text)
{
	slice_skip_any(rest, " \t");
	if (rest->n < text.n || !slice_ieq(slice_of(rest->p, text.n), text))
		return false;
	slice_skip(rest, text.n);
	return true;
}

/* Reads a condition after its "Not": '["tag"]' or "<token>". False: it is malformed. */
static bool take_condition(struct slice *rest, struct slice etag, bool *matches)
{
	bool tag = take(rest, SLICE("["));
	struct slice text;

	if ((!tag && !take(rest, SLICE("<"))) || !slice_cut(rest, tag ? ']' : '>', &text))
		return false;
	*matches = tag && etag.n > 0 && slice_eq(text, etag);
	return text.n > 0;
}

/* Reads a list after its parenthesis. False: it is malformed. */
static bool take_list(struct slice *rest, struct slice etag, bool *holds)
{
	*holds = true;
	do {
		bool negated = take(rest, SLICE("not")), matches;

		if (!take_condition(rest, etag, &matches))
			return false;
		*holds = *holds && matches != negated;
	} while (!take(rest, SLICE(")")));
	return true;
}

/* The path of a URL. */
static struct slice path_of(struct slice url)
{
	struct slice head, rest = url;

	if (slice_starts(url, SLICE("/")) || !slice_cut(&rest, ':', &head) ||
		!slice_starts(rest, SLICE("//")))
		return url;
	slice_skip(&rest, 2);
	return slice_cut(&rest, '/', &head) ? slice_of(rest.p - 1, rest.n + 1) : SLICE("/");
}

bool dav_if_holds(struct slice value, struct slice target, struct slice etag)
{
	bool tagged = take(&value, SLICE("<")), any = false, holds;

	/* Lists with the URL of a resource do not mix with lists without. */
	do {
		struct slice url = target;

		if (tagged && !slice_cut(&value, '>', &url))
			return false;
		if (!take(&value, SLICE("(")))
			return false;
		do {
			if (!take_list(&value, etag, &holds))
				return false;
			any |= holds && slice_eq(path_of(url), target);
		} while (take(&value, SLICE("(")));
	} while (tagged && take(&value, SLICE("<")));
	slice_skip_any(&value, " \t");
	return value.n == 0 && any;
}
