/*
 * site_maker: memory and faults for what makes sites. Called by sites.c and site_locations.c while
 * a generation is built; keeps nothing.
 */
#include "sites/site_maker.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "http/field.h"

void site_maker_fault(struct site_maker *m, const struct conf_pos *pos, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	m->faults++;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
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
