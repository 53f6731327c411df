/*
 * reply_coding: the form of a cached file that a client gets. Called by reply_file.c for each reply
 * from the image; pure except for the memo of choices.
 */
#include "files/reply_file.h"

#include <stdio.h>

#include "request/trace.h"

static void tell_coding(struct h2d_req *req, enum coding coding, unsigned available)
{
	char list[32] = "";

	for (unsigned c = 0; c < CODINGS; c++)
		if (available >> c & 1)
			sprintf(list + strlen(list), " %s", coding_names[c].p);
	if (coding < CODINGS)
		TRACE_STEP(req, CODING, NULL, "%s; available:%s", coding_names[coding].p, list);
	else if (available == 0)
		TRACE_STEP(req, CODING, NULL, "none: the cache has no compressed form");
	else
		TRACE_STEP(req, CODING, NULL, "none: the client accepts none of%s", list);
}

/* The codings of e that are files beside it. */
static unsigned sidecars_of(const struct image_entry *e)
{
	return e->flags / IMAGE_SIDECAR & ((1u << CODINGS) - 1);
}

bool reply_coding_varies(
	const struct files *f, const struct location *location, const struct image_entry *e)
{
	return (e->flags & IMAGE_VARIES) != 0 &&
	       (site_codings(location, f->codings) != 0 ||
		       (location->precompressed && sidecars_of(e) != 0));
}

enum coding reply_coding_choose(
	struct files *f, struct h2d_req *req, const struct image_entry *e, int page_status)
{
	unsigned available = 0, sidecars = sidecars_of(e);
	enum coding coding;

	for (unsigned c = 0; c < CODINGS; c++)
		available |= (unsigned)(e->variants[c].n > 0) << c;
	if (!req->location->precompressed)
		available &= ~sidecars;
	available &= sidecars | ~req->location->refused_codings;
	coding = coding_memo_choose(&f->memo, req->fields, req->nfields, available);
	if (__builtin_expect(req->env->conf.traced, false))
		tell_coding(req, coding, available);
	return coding == CODING_NONE && page_status != 0 ? CODING_IDENTITY : coding;
}
