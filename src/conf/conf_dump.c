/*
 * conf_dump: -T, a whole conf as text that conf_load reads back to the same values. Called by main;
 * changes nothing.
 */
#include "conf/conf.h"
#include "conf/conf_table.h"
#include "conf/conf_value.h"

static void write_rows(const struct conf_section *s, const void *obj, const char *indent, FILE *out)
{
	for (unsigned i = 0; i < s->nrows; i++) {
		fprintf(out, "%s# %s\n%s%s = ", indent, s->rows[i].help, indent, s->rows[i].name);
		conf_value_write(&s->rows[i], obj, out);
		putc('\n', out);
	}
}

static void write_section(const struct conf_section *s, const void *obj, FILE *out)
{
	fprintf(out, "\n%s ", s->name);
	if (s->title != NULL) {
		/* The title is the first member. */
		conf_value_write_string(*(char *const *)obj, out);
		putc(' ', out);
	}
	fputs("{\n", out);
	write_rows(s, obj, "\t", out);
	fputs("}\n", out);
}

void conf_dump(const struct conf *conf, FILE *out)
{
	const struct conf_section *s = &conf_sections[CONF_SECTION_GLOBAL];

	write_rows(s, conf, "", out);
	for (s++; s < conf_sections + CONF_SECTIONS; s++)
		for (unsigned i = 0; i < conf_table_count(conf, s); i++)
			write_section(s, conf_table_peek(conf, s, i), out);
}
