/*
 * coding_memo: a small table from accept-encoding values to codings. Called by reply_file.c on a
 * worker's loop; what it remembers is never more than what coding_choose() said of the same bytes.
 */
#include "files/files.h"

/* The only accept-encoding field; NULL for none or several. */
static const struct field *only(const struct field *fields, unsigned n)
{
	const struct field *found = field_find(fields, n, SLICE("accept-encoding"));

	if (found == NULL)
		return NULL;
	n -= (unsigned)(found + 1 - fields);
	return field_find(found + 1, n, SLICE("accept-encoding")) == NULL ? found : NULL;
}

static struct coding_memo_entry *entry_of(struct coding_memo *m, struct slice value)
{
	unsigned hash = (unsigned)value.n + (unsigned char)value.p[0] * 3u +
			(unsigned char)value.p[value.n / 2] * 5u +
			(unsigned char)value.p[value.n - 1] * 7u;
	struct coding_memo_entry *e = &m->entries[hash % CODING_MEMO_ENTRIES];

	if (e->n != value.n || memcmp(e->value, value.p, value.n) != 0) {
		memset(e, 0, sizeof(*e));
		e->n = (uint8_t)value.n;
		memcpy(e->value, value.p, value.n);
	}
	return e;
}

enum coding coding_memo_choose(
	struct coding_memo *m, const struct field *fields, unsigned n, unsigned available)
{
	const struct field *f = only(fields, n);
	struct coding_memo_entry *e;

	available &= (1u << CODINGS) - 1;
	if (f == NULL || f->value.n == 0 || f->value.n > CODING_MEMO_VALUE)
		return coding_choose(fields, n, available);
	e = entry_of(m, f->value);
	if (e->choice[available] == 0)
		e->choice[available] = (uint8_t)(coding_choose(f, 1, available) + 1);
	return (enum coding)(e->choice[available] - 1);
}
