/*
 * kit_text: the test kit's clients' bytes, and the headers that they have read. Called by kit_h1.c
 * and kit_h2.c.
 */
#include "base/assert.h"
#include "kit/kit.h"

void kit_say(struct h2d_test *t, const void *data, size_t n)
{
	strbuf_add(&t->unsent, slice_of(data, n));
	H2D_ASSERT(!t->unsent.failed);
}

void kit_field(struct h2d_test *t, struct slice name, struct slice value)
{
	strbuf_add(&t->fields, name);
	strbuf_add(&t->fields, SLICE("\0"));
	strbuf_add(&t->fields, value);
	strbuf_add(&t->fields, SLICE("\0"));
	H2D_ASSERT(!t->fields.failed);
}

const char *kit_find(const struct h2d_test *t, const char *name)
{
	const char *p = t->fields.p, *end = p + t->fields.n;

	while (p != end) {
		const char *value = p + strlen(p) + 1;

		if (strcmp(p, name) == 0)
			return value;
		p = value + strlen(value) + 1;
	}
	return NULL;
}
