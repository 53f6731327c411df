/*
 * types: reads the lists of media types and sorts them for the look-up. It opens nothing, and never
 * changes the configuration.
 */
#include "sites/types.h"

#include <stdio.h>
#include <stdlib.h>

struct maker {
	conf_fault_fn *fault;
	void *ctx;
	unsigned faults;
};

static void fault(struct maker *m, const struct conf_pos *pos, const char *key, struct slice value,
	const char *why)
{
	char text[512];

	m->faults++;
	snprintf(text, sizeof(text), "%s \"%.*s\": %s", key, value.n < 200 ? (int)value.n : 200,
		value.p, why);
	m->fault(m->ctx, pos, text);
}

static void read_rows(struct maker *m, struct mime_types *types, struct mime *rows,
	const struct conf_list *list, const struct conf_pos *at)
{
	types->rows = rows;
	for (unsigned i = 0; i < list->n; i++) {
		const char *why = mime_parse(list->v[i], &rows[types->n]);

		if (why == NULL)
			types->n++;
		else
			fault(m, at, "types", slice_str(list->v[i]), why);
	}
	qsort(rows, types->n, sizeof(*rows), mime_order);
	for (unsigned i = 1; i < types->n; i++)
		if (mime_order(&rows[i - 1], &rows[i]) == 0)
			fault(m, at, "types", rows[i].extension, "this extension is there twice");
}

int types_make(struct mime_types *types, struct mime *rows, const struct conf_server *s,
	conf_fault_fn *fault_fn, void *ctx)
{
	struct maker m = { .fault = fault_fn, .ctx = ctx };
	const char *why = mime_parse_type(s->default_type, &types->unknown);

	if (why != NULL)
		fault(&m, &s->default_type_at, "default-type", slice_str(s->default_type), why);
	read_rows(&m, types, rows, &s->types, &s->types_at);
	return m.faults == 0 ? 0 : -1;
}
