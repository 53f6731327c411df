/*
 * conf_write: writes a conf's settings, or all of it, as text that conf_load reads back to the same
 * values (-T).
 */
#include "conf/conf.h"
#include "conf/conf_table.h"
#include "conf/conf_value.h"

/* depth: tabs before each line. */
static void indent(unsigned depth, FILE *out)
{
	while (depth-- > 0)
		putc('\t', out);
}

struct dump {
	FILE *out;
	bool all; /* defaults, too */
};

static void write_rows(
	const struct dump *d, const struct conf_section *s, const void *obj, unsigned depth)
{
	for (unsigned i = 0; i < s->nrows; i++) {
		const struct conf_row *row = &s->rows[i];

		/* Written here it would no longer follow the outer section. */
		if (conf_table_follows(obj, s, row) ||
			(!d->all && conf_member_pos(obj, row)->file == NULL))
			continue;
		indent(depth, d->out);
		fprintf(d->out, "# %s\n", row->help);
		indent(depth, d->out);
		fprintf(d->out, "%s = ", row->name);
		conf_value_write(row, obj, d->out);
		putc('\n', d->out);
	}
}

/* The recursion is as deep as the table: four levels. */
static void write_inner(
	const struct dump *d, const struct conf_section *s, const void *obj, unsigned depth);

/* A section with a title exists because it was written. */
static bool is_set(const struct conf_section *s, const void *obj)
{
	const struct conf_section *in;

	if (s->title != NULL)
		return true;
	for (unsigned i = 0; i < s->nrows; i++) {
		const struct conf_pos *at = conf_member_pos(obj, &s->rows[i]);

		if (at->file != NULL && at->outer == 0)
			return true;
	}
	for (unsigned id = 0; (in = conf_table_at(id)) != NULL; id++)
		for (unsigned i = 0; in->parent == s && i < conf_table_count(obj, in); i++)
			if (is_set(in, conf_table_peek(obj, in, i)))
				return true;
	return false;
}

static void write_section(
	const struct dump *d, const struct conf_section *s, const void *obj, unsigned depth)
{
	putc('\n', d->out);
	indent(depth, d->out);
	fprintf(d->out, "%s ", s->name);
	if (s->title != NULL) {
		/* The title is the first member. */
		conf_value_write_string(*(char *const *)obj, d->out);
		putc(' ', d->out);
	}
	fputs("{\n", d->out);
	write_rows(d, s, obj, depth + 1);
	write_inner(d, s, obj, depth + 1);
	indent(depth, d->out);
	fputs("}\n", d->out);
}

static void write_inner(
	const struct dump *d, const struct conf_section *s, const void *obj, unsigned depth)
{
	const struct conf_section *in;

	for (unsigned id = 0; (in = conf_table_at(id)) != NULL; id++)
		for (unsigned i = 0; in->parent == s && !in->alias && i < conf_table_count(obj, in);
			i++) {
			const void *inner = conf_table_peek(obj, in, i);

			if ((d->all && in->like == NULL) || is_set(in, inner))
				write_section(d, in, inner, depth);
		}
}

void conf_dump(const struct conf *conf, bool all, FILE *out)
{
	const struct conf_section *s = &conf_sections[CONF_SECTION_GLOBAL];
	const struct dump d = { out, all };

	write_rows(&d, s, conf, 0);
	write_inner(&d, s, conf, 0);
}
