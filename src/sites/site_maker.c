/*
 * site_maker: memory, faults and media types for what makes sites. Called by sites.c,
 * site_locations.c and trees.c while a generation is built; keeps nothing.
 */
#include "sites/site_maker.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "http/field.h"

void site_maker_fault(struct site_maker *m, const struct conf_pos *pos, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	m->faults++;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!conf_said(&m->said, pos, text))
		m->fault(m->ctx, pos, text);
}

void *site_maker_room(struct site_maker *m, size_t n, size_t size)
{
	void *p = arena_zalloc(m->a, (n + 1) * size);

	m->oom |= p == NULL;
	return p;
}

struct slice site_maker_lower(struct site_maker *m, struct slice s)
{
	char *p = site_maker_room(m, s.n, 1);

	for (size_t i = 0; p != NULL && i < s.n; i++)
		p[i] = (char)tolower((unsigned char)s.p[i]);
	return slice_of(p, p != NULL ? s.n : 0);
}

void site_maker_check_value(
	struct site_maker *m, const char *key, const char *value, const struct conf_pos *at)
{
	if (!field_value_valid(slice_str(value)))
		site_maker_fault(m, at, "%s \"%.200s\" cannot be the value of a field", key, value);
}

static void type_fault(
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
			type_fault(m, at, slice_str(list->v[i]), why);
	}
	qsort(rows, types->n, sizeof(*rows), mime_order);
	for (unsigned i = 1; i < types->n; i++)
		if (mime_order(&rows[i - 1], &rows[i]) == 0)
			type_fault(m, at, rows[i].extension, "this extension is there twice");
}

void site_maker_types(struct site_maker *m, struct mime_types *types, struct mime *rows,
	const struct conf_server *s)
{
	const char *why = mime_parse_type(s->default_type, &types->unknown);

	if (why != NULL)
		site_maker_fault(m, &s->default_type_at, "default-type \"%.200s\": %s",
			s->default_type, why);
	read_rows(m, types, rows, &s->types, &s->types_at);
}
