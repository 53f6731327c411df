/*
 * catalog_sidecar: what lies beside a file and may be its variant, and what is known of it: it is
 * used once a thread found that it decodes to the file. See catalog.h; it never reads a file.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "keeper/catalog.h"

bool catalog_codes(const struct catalog_file *f)
{
	return f->type != NULL && f->type->mime->compressible;
}

/* The file beside f in coding, if both are known and it is not older. */
static struct catalog_file *candidate(
	const struct catalog *c, const struct catalog_file *f, enum coding coding)
{
	struct catalog_file *s = NULL;

	if (f->fresh && catalog_codes(f) && (f->beside & 1U << coding) != 0)
		s = catalog_beside(c, f, coding);
	return s != NULL && s->fresh && s->file_id.mtime_ns >= f->file_id.mtime_ns ? s : NULL;
}

/* The verdict on s as f's variant; NULL: there is none yet. */
static const struct catalog_verdict *verdict(
	const struct catalog_file *f, const struct catalog_file *s, enum coding coding)
{
	const struct catalog_verdict *v = f->verdicts != NULL ? &f->verdicts[coding] : NULL;

	return v != NULL && memcmp(v->etag, s->body->etag, IMAGE_ETAG) == 0 ? v : NULL;
}

struct catalog_file *catalog_sidecar(
	const struct catalog *c, const struct catalog_file *f, enum coding coding)
{
	struct catalog_file *s = candidate(c, f, coding);
	const struct catalog_verdict *v = s != NULL ? verdict(f, s, coding) : NULL;

	return v != NULL && v->good ? s : NULL;
}

bool catalog_sidecar_unread(const struct catalog *c, const struct catalog_file *f)
{
	if (f->beside == 0 || !catalog_codes(f))
		return false;
	for (enum coding i = 0; i < CODINGS; i++) {
		const struct catalog_file *s =
			(f->beside & 1U << i) != 0 ? catalog_beside(c, f, i) : NULL;

		if (s != NULL && !s->fresh)
			return true;
	}
	return false;
}

unsigned catalog_sidecar_unchecked(const struct catalog *c, const struct catalog_file *f)
{
	unsigned set = 0;

	for (enum coding i = 0; f->beside != 0 && i < CODINGS; i++) {
		const struct catalog_file *s = candidate(c, f, i);

		if (s != NULL && verdict(f, s, i) == NULL)
			set |= 1U << i;
	}
	return set;
}

int catalog_sidecar_decide(
	struct catalog_file *f, enum coding coding, const char etag[IMAGE_ETAG], bool good)
{
	H2D_ASSERT(f->body != NULL);
	if (f->verdicts == NULL)
		f->verdicts = calloc(CODINGS, sizeof(*f->verdicts));
	if (f->verdicts == NULL)
		return -ENOMEM;
	f->verdicts[coding].good = good;
	memcpy(f->verdicts[coding].etag, etag, IMAGE_ETAG);
	return 0;
}

/* Whether f's sidecar in coding is used, or may be once it was checked. */
static bool leaves_it(const struct catalog *c, const struct catalog_file *f, enum coding coding)
{
	const struct catalog_file *s =
		(f->beside & 1U << coding) != 0 ? catalog_beside(c, f, coding) : NULL;
	const struct catalog_verdict *v;

	if (s == NULL)
		return false;
	if (!s->fresh)
		return true;
	v = verdict(f, s, coding);
	return s->file_id.mtime_ns >= f->file_id.mtime_ns && (v == NULL || v->good);
}

unsigned catalog_wants(const struct catalog *c, const struct catalog_file *f, unsigned codings)
{
	unsigned wants = 0;

	if (!f->fresh || !catalog_codes(f) || f->body->n == 0)
		return 0;
	for (enum coding i = 0; i < CODINGS; i++)
		if ((codings & 1U << i) != 0 && f->variants[i] == NULL &&
			(f->tried & 1U << i) == 0 && !leaves_it(c, f, i))
			wants |= 1U << i;
	return wants;
}
