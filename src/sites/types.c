/*
 * types: reads the lists of media types and sorts them for the look-up. It opens nothing, and never
 * changes the configuration.
 */
#include "sites/types.h"

#include <stdlib.h>

static void fault(
	struct site_maker *m, const struct conf_pos *pos, struct slice value, const char *why)
{
	site_maker_fault(
		m, pos, "types \"%.*s\": %s", value.n < 200 ? (int)value.n : 200, value.p, why);
}

static void read_rows(struct site_maker *m, struct mime_types *types, struct mime *rows,
	const struct conf_list *list, const struct conf_pos *at)
{
	types->rows = rows;
	for (unsigned i = 0; i < list->n; i++) {
		const char *why = mime_parse(list->v[i], &rows[types->n]);

		if (why == NULL)
			types->n++;
		else
			fault(m, at, slice_str(list->v[i]), why);
	}
	qsort(rows, types->n, sizeof(*rows), mime_order);
	for (unsigned i = 1; i < types->n; i++)
		if (mime_order(&rows[i - 1], &rows[i]) == 0)
			fault(m, at, rows[i].extension, "this extension is there twice");
}

void types_make(struct site_maker *m, struct mime_types *types, struct mime *rows,
	const struct conf_server *s)
{
	const char *why = mime_parse_type(s->default_type, &types->unknown);

	if (why != NULL)
		site_maker_fault(m, &s->default_type_at, "default-type \"%.200s\": %s",
			s->default_type, why);
	read_rows(m, types, rows, &s->types, &s->types_at);
}
