/*
 * conf_dump: -T, a whole conf as text that conf_load reads back to the same values. Called by main;
 * changes nothing.
 */
#include "conf/conf.h"
#include "conf/conf_table.h"
#include "conf/conf_value.h"

/* depth: of tabs in front of each line. */
static void indent(unsigned depth, FILE *out)
{
	while (depth-- > 0)
		putc('\t', out);
}

/* outer: what obj lies in; NULL of the top level. */
static void write_rows(
	const struct conf_section *s, const void *obj, const void *outer, unsigned depth, FILE *out)
{
	for (unsigned i = 0; i < s->nrows; i++) {
		const struct conf_row *row = &s->rows[i];

		/* Written here it would no longer follow the section around it. */
		if (conf_table_follows(obj, s, row, outer))
			continue;
		indent(depth, out);
		fprintf(out, "# %s\n", row->help);
		indent(depth, out);
		fprintf(out, "%s = ", row->name);
		conf_value_write(row, obj, out);
		putc('\n', out);
	}
}

/* Recursion ends where the table does: it has four levels. */
static void write_inner(const struct conf_section *s, const void *obj, unsigned depth, FILE *out);

static void write_section(
	const struct conf_section *s, const void *obj, const void *outer, unsigned depth, FILE *out)
{
	putc('\n', out);
	indent(depth, out);
	fprintf(out, "%s ", s->name);
	if (s->title != NULL) {
		/* The title is the first member. */
		conf_value_write_string(*(char *const *)obj, out);
		putc(' ', out);
	}
	fputs("{\n", out);
	write_rows(s, obj, outer, depth + 1, out);
	write_inner(s, obj, depth + 1, out);
	indent(depth, out);
	fputs("}\n", out);
}

static void write_inner(const struct conf_section *s, const void *obj, unsigned depth, FILE *out)
{
	const struct conf_section *in;

	for (unsigned id = 0; (in = conf_table_at(id)) != NULL; id++)
		for (unsigned i = 0; in->parent == s && i < conf_table_count(obj, in); i++)
			write_section(in, conf_table_peek(obj, in, i), obj, depth, out);
}

void conf_dump(const struct conf *conf, FILE *out)
{
	const struct conf_section *s = &conf_sections[CONF_SECTION_GLOBAL];

	write_rows(s, conf, NULL, 0, out);
	write_inner(s, conf, 0, out);
}
