/*
 * key_build: checks rows by the rules of h2d.conf's reader for defaults, and writes the table that
 * src/conf/conf_table.h declares. Called by key_gen and by tests; opens no file.
 */
#include "tools/key_build.h"

#include <inttypes.h>
#include <string.h>

#include "conf/conf_table.h"
#include "conf/conf_value.h"
#include "tools/row_gen.h"

enum { NAME_MAX_BYTES = 64, MEMORY = 1 << 20 };

static const struct {
	const char *name, *base; /* in conf.def of handlers; in conf/conf.h */
	enum conf_type type;
	size_t size;
	enum conf_access access;
} types[] = {
#define TYPE(name, of, access) \
	{ #name, #of, CONF_TYPE_##of, sizeof(CONF_C_##of), CONF_ACCESS_##access },
	TYPE(STRING, STRING, NONE) TYPE(PATH, PATH, NONE) TYPE(READ_PATH, PATH, READ)
		TYPE(WRITE_PATH, PATH, WRITE) TYPE(BOOL, BOOL, NONE) TYPE(NUMBER, NUMBER, NONE)
			TYPE(SIZE, SIZE, NONE) TYPE(SECONDS, SECONDS, NONE)
				TYPE(CHOICE, CHOICE, NONE) TYPE(LIST, LIST, NONE)
#undef TYPE
};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

static const char *const accesses[] = { "NONE", "READ", "WRITE" };

struct build {
	const struct key_row *rows;
	unsigned n;
	struct row_faults faults;
};

#define FAULT(b, row, ...) row_fault(&(b)->faults, (row)->file, (row)->line, __VA_ARGS__)

/* --- checks ----------------------------------------------------------------------------------- */

/* The index of the type; TYPES: unknown. */
static unsigned type_of(const struct key_row *row)
{
	unsigned i = 0;

	while (i < TYPES && strcmp(types[i].name, row->type) != 0)
		i++;
	return i;
}

static bool is_name(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n < NAME_MAX_BYTES && name[0] != '-' && name[n - 1] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

/* Rows of a handler are in one file, without duplicate keys. */
static void check_alone(struct build *b, const struct key_row *row)
{
	for (const struct key_row *r = b->rows; r < row; r++) {
		if (strcmp(r->handler, row->handler) != 0)
			continue;
		if (strcmp(r->file, row->file) != 0)
			FAULT(b, row, "handler %s already has keys in %s:%d: rename one directory",
				row->handler, r->file, r->line);
		else if (strcmp(r->name, row->name) == 0)
			FAULT(b, row, "duplicate key \"%s\" of handler %s (first at line %d)",
				row->name, row->handler, r->line);
		else
			continue;
		return;
	}
}

struct told {
	struct build *build;
	const struct key_row *row;
};

static void key_build_tell(void *ctx, const struct conf_pos *pos, const char *message)
{
	const struct told *t = ctx;

	(void)pos;
	FAULT(t->build, t->row, "default: %s", message);
}

/* A member of any type, and its place. */
struct slot {
	union {
		CONF_C_STRING string;
		CONF_C_BOOL truth;
		CONF_C_NUMBER number;
		CONF_C_LIST list;
	} member;
	struct conf_pos at;
};

/* "a|b" in the table's form, in arena; the words are cut in place. NULL: any. */
static const struct conf_choice *choices_of(struct arena *arena, const char *text)
{
	char *word = text != NULL ? arena_strdup(arena, text) : NULL;
	struct conf_choice *v = word != NULL ? arena_zalloc(arena, strlen(word) * 16 + 16) : NULL;

	for (int i = 0; v != NULL && (v[i].word = strsep(&word, "|")) != NULL; i++)
		v[i].value = i;
	return v;
}

/* The default is read like a value of the file. */
static void check_default(struct build *b, const struct key_row *row, unsigned type)
{
	struct conf_row as = { .name = row->name,
		.type = types[type].type,
		.member = offsetof(struct slot, member),
		.at = offsetof(struct slot, at),
		.min = row->min,
		.max = row->max };
	struct told told = { b, row };
	struct conf_faults faults = { .fn = key_build_tell, .ctx = &told };
	const struct conf_pos pos = { .file = row->file, .line = (unsigned)row->line };
	struct arena arena;
	struct slot slot;

	arena_init(&arena, NULL, 0, MEMORY);
	as.choices = choices_of(&arena, row->choices);
	conf_value_set_text(&arena, &as, &slot, row->dflt, &pos, &faults);
	arena_reset(&arena);
}

static void key_build_check(struct build *b, const struct key_row *row)
{
	unsigned type = type_of(row);

	check_alone(b, row);
	if (!is_name(row->name))
		FAULT(b, row, "key \"%s\": use the letters a to z, digits and inner \"-\"",
			row->name);
	if (row->help == NULL || row->help[0] == '\0' || strchr(row->help, '\n') != NULL)
		FAULT(b, row, "key \"%s\" needs a help text of one line", row->name);
	if (type == TYPES)
		FAULT(b, row, "unknown type %s", row->type);
	else if (types[type].type == CONF_TYPE_CHOICE && row->choices == NULL)
		FAULT(b, row, "CHOICE without choices \"a|b\"");
	else if (types[type].type == CONF_TYPE_PATH && row->dflt[0] != '/' && row->dflt[0] != '\0')
		FAULT(b, row, "default: \"%s\" is not absolute", row->dflt);
	else
		check_default(b, row, type);
}

/* --- the table -------------------------------------------------------------------------------- */

/* True if row is the first of its handler's. */
static bool is_first(const struct build *b, const struct key_row *row)
{
	for (const struct key_row *r = b->rows; r < row; r++)
		if (strcmp(r->handler, row->handler) == 0)
			return false;
	return true;
}

typedef void write_fn(const struct build *b, const struct key_row *row, FILE *out);

/* Calls fn for each row of the handler of first. */
static void each(const struct build *b, const struct key_row *first, write_fn *fn, FILE *out)
{
	for (const struct key_row *r = first; r < b->rows + b->n; r++)
		if (strcmp(r->handler, first->handler) == 0)
			fn(b, r, out);
}

static void write_member(const struct build *b, const struct key_row *row, FILE *out)
{
	fprintf(out, "\t\tCONF_C_%s k%u;\n\t\tstruct conf_pos k%u_at;\n", types[type_of(row)].base,
		(unsigned)(row - b->rows), (unsigned)(row - b->rows));
}

static void write_struct(const struct build *b, const struct key_row *first, FILE *out)
{
	fputs("\tstruct {\n\t\tstruct conf_pos at;\n", out);
	each(b, first, write_member, out);
	fprintf(out, "\t} of_%s;\n", first->handler);
}

static void write_choices(const char *choices, FILE *out)
{
	size_t n;

	if (choices == NULL) {
		fputs("NULL", out);
		return;
	}
	fputs("CHOICES(", out);
	for (int i = 0; *choices != '\0'; i++, choices += n + (choices[n] != '\0')) {
		n = strcspn(choices, "|");
		fprintf(out, "%s{ \"%.*s\", %d }", i > 0 ? ", " : "", (int)n, choices, i);
	}
	putc(')', out);
}

static void write_row(const struct build *b, const struct key_row *row, FILE *out)
{
	unsigned i = (unsigned)(row - b->rows), type = type_of(row);

	fputs("\t{ .name = ", out);
	row_write_string(row->name, out);
	fprintf(out,
		", .type = CONF_TYPE_%s, .access = CONF_ACCESS_%s, .size = sizeof(CONF_C_%s),\n",
		types[type].base, accesses[types[type].access], types[type].base);
	fprintf(out, "\t\t.member = IN(%s, k%u), .at = IN(%s, k%u_at),\n\t\t.dflt = ", row->handler,
		i, row->handler, i);
	row_write_string(row->dflt, out);
	fprintf(out, ", .min = %" PRIu64 "U, .max = %" PRIu64 "U, .choices = ", row->min, row->max);
	write_choices(row->choices, out);
	fputs(",\n\t\t.help = ", out);
	row_write_string(row->help, out);
	fputs(" },\n", out);
}

static void write_rows(const struct build *b, const struct key_row *first, FILE *out)
{
	fprintf(out, "static const struct conf_row rows_%s[] = {\n", first->handler);
	each(b, first, write_row, out);
	fputs("};\n\n", out);
}

static void write_section(const struct build *b, const struct key_row *first, FILE *out)
{
	const char *h = first->handler;

	(void)b;
	fprintf(out,
		"\t{ .name = \"handler \\\"%s\\\"\", .handler = \"%s\",\n"
		"\t\t.help = \"Keys of the handler %s.\",\n"
		"\t\t.parent = &conf_sections[CONF_SECTION_GLOBAL],\n"
		"\t\t.size = sizeof(((struct keys *)0)->of_%s),\n"
		"\t\t.where = offsetof(struct keys, of_%s), .at = IN(%s, at),\n"
		"\t\t.rows = rows_%s, .nrows = sizeof(rows_%s) / sizeof(rows_%s[0]) },\n",
		h, h, h, h, h, h, h, h, h);
}

static void each_handler(const struct build *b, write_fn *fn, FILE *out)
{
	for (const struct key_row *r = b->rows; r < b->rows + b->n; r++)
		if (is_first(b, r))
			fn(b, r, out);
}

static void write_table(const struct build *b, FILE *out)
{
	fputs("/* Made by key_gen from the conf.def of handlers. */\n"
	      "#include \"conf/conf_table.h\"\n\n"
	      "struct keys {\n\tstruct conf conf;\n",
		out);
	each_handler(b, write_struct, out);
	fputs("};\n\n"
	      "#define IN(of, member) (offsetof(struct keys, of_##of.member) - "
	      "offsetof(struct keys, of_##of))\n\n",
		out);
	each_handler(b, write_rows, out);
	fputs("static const struct conf_section sections[] = {\n", out);
	each_handler(b, write_section, out);
	fprintf(out,
		"%s};\n\n"
		"const struct conf_handlers conf_table_handlers = {\n"
		"\tsections, %ssizeof(sections) / sizeof(sections[0]), sizeof(struct keys)\n};\n",
		b->n == 0 ? "\t{ .name = NULL },\n" : "", b->n == 0 ? "0 * " : "");
}

int key_build(const struct key_row *rows, unsigned n, FILE *out, FILE *err)
{
	struct build b = { .rows = rows, .n = n, .faults.err = err };

	for (unsigned i = 0; i < n; i++)
		key_build_check(&b, &rows[i]);
	if (!b.faults.any)
		write_table(&b, out);
	return b.faults.any ? -1 : 0;
}
