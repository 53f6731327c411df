/*
 * conf_page: makes the example file and the option list of h2d.conf(5) from conf.def. Called by
 * conf_doc at build time; no server has it.
 */
#include "tools/conf_page.h"

#include <string.h>

#include "conf/conf_table.h"
#include "conf/conf_value.h"

enum { RELATED_MAX = 9 };

/* Keys that the example sets; all others are comments, with their defaults. */
static const struct {
	enum conf_section_id section;
	const char *key, *value;
} example[] = {
	{ CONF_SECTION_GLOBAL, "user", "\"h2d\"" },
	{ CONF_SECTION_GLOBAL, "pid-file", "\"/run/h2d/h2d.pid\"" },
	{ CONF_SECTION_SERVER, "root", "\"/srv/www\"" },
};

static bool needs_quotes(const struct conf_row *row)
{
	return row->type == CONF_TYPE_STRING || row->type == CONF_TYPE_PATH ||
	       row->type == CONF_TYPE_PATHS || row->type == CONF_TYPE_MODE;
}

/* Writes a default or an example in the file's syntax: conf.def has strings without quotes. */
static void write_text(const struct conf_row *row, const char *text, FILE *out)
{
	if (needs_quotes(row) && *text != '{')
		conf_value_write_string(text, out);
	else
		fputs(text, out);
}

/* A comment, wrapped at 100 columns. */
static void write_comment(const char *indent, const char *text, FILE *out)
{
	size_t column = 0;

	while (*text != '\0') {
		size_t n = strcspn(text, " ");

		if (column == 0 || column + 1 + n > 100) {
			fprintf(out, "%s%s#", column > 0 ? "\n" : "", indent);
			column = 8 * strlen(indent) + 1;
		}
		fprintf(out, " %.*s", (int)n, text);
		column += 1 + n;
		text += n + (text[n] == ' ');
	}
	putc('\n', out);
}

static void write_example_row(
	enum conf_section_id id, const struct conf_row *row, const char *indent, FILE *out)
{
	const char *value = NULL;

	for (unsigned i = 0; i < sizeof(example) / sizeof(example[0]); i++)
		if (example[i].section == id && strcmp(example[i].key, row->name) == 0)
			value = example[i].value;
	write_comment(indent, row->help, out);
	if (row->example != NULL) {
		fprintf(out, "%s# Example: %s = ", indent, row->name);
		write_text(row, row->example, out);
		putc('\n', out);
	}
	fprintf(out, "%s#%s = ", indent, row->name);
	write_text(row, row->dflt, out);
	putc('\n', out);
	if (value != NULL)
		fprintf(out, "%s%s = %s\n", indent, row->name, value);
}

/* The i-th key that a section describes itself, basic ones first; NULL: no more. */
static const struct conf_row *own_row(const struct conf_section *s, unsigned i)
{
	for (int basic = 1; basic >= 0; basic--)
		for (unsigned k = 0; k < s->nrows; k++)
			if (conf_table_home(s, &s->rows[k]) == s && s->rows[k].basic == basic &&
				i-- == 0)
				return &s->rows[k];
	return NULL;
}

/* True if the expert keys of s begin with row, behind basic ones. */
static bool begins_expert(const struct conf_section *s, const struct conf_row *row, unsigned i)
{
	return i > 0 && !row->basic && own_row(s, i - 1)->basic;
}

static void write_example_rows(enum conf_section_id id, const char *indent, FILE *out)
{
	const struct conf_section *s = &conf_sections[id];
	const struct conf_row *row;

	for (unsigned i = 0; (row = own_row(s, i)) != NULL; i++) {
		if (begins_expert(s, row, i))
			fprintf(out, "\n%s# Expert keys:\n\n", indent);
		write_example_row(id, row, indent, out);
	}
}

static void write_example_listens(FILE *out)
{
	fputs("listen \"127.0.0.1:8080\" {\n", out);
	write_example_rows(CONF_SECTION_LISTEN, "\t", out);
	fputs("}\n"
	      "listen \"[::1]:8080\" {}\n"
	      "#listen \":443\" { tls = true }\n"
	      "#listen \":80\" { redirect-to-https = true }\n"
	      "#listen \"unix:/run/h2d/admin.sock\" { admin = true  socket-mode = \"0660\" }\n",
		out);
}

/* Sections in a server, and a second server; all of it commented out. */
static const struct {
	enum conf_section_id section;
	const char *text;
} inner[] = {
	{ CONF_SECTION_SERVER_TLS, "#tls {\n"
				   "\t#\tcertificate     = \"/etc/h2d/tls/server.crt\"\n"
				   "\t#\tcertificate-key = \"/etc/h2d/tls/server.key\"\n"
				   "\t#}" },
	{ CONF_SECTION_ERROR_PAGE, "#error-page \"404\" { file = \"/404.html\" }" },
	{ CONF_SECTION_SERVER_FILES, "#files \"*.woff2\" { add-header = "
				     "{\"access-control-allow-origin: *\"} }" },
	{ CONF_SECTION_LOCATION, "#location \"/assets/\" { cache-control = \"public, "
				 "max-age=31536000, immutable\" }" },
};

static void write_example_inner(FILE *out)
{
	for (unsigned i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
		putc('\n', out);
		write_comment("\t", conf_sections[inner[i].section].help, out);
		fprintf(out, "\t%s\n", inner[i].text);
	}
}

static void write_example_server(FILE *out)
{
	fputs("#server \"www.example.com\" {\n"
	      "#\taliases = {\"example.com\", \"*.example.net\"}\n"
	      "#\troot = \"/srv/www.example.com\"\n"
	      "#}\n",
		out);
}

void conf_page_example(FILE *out)
{
	fputs("# Configuration of h2d, see h2d.conf(5). A key after \"#\" shows its default.\n"
	      "# \"h2d -t\" checks this file, \"h2d -T\" shows the effective values.\n\n",
		out);
	write_example_rows(CONF_SECTION_GLOBAL, "", out);
	fputs("\n# More files, relative to this one, in alphabetical order.\n"
	      "#include(\"conf.d/*.conf\")\n",
		out);
	for (unsigned id = CONF_SECTION_GLOBAL + 1; id < CONF_SECTIONS; id++) {
		const struct conf_section *s = &conf_sections[id];

		if (s->parent != &conf_sections[CONF_SECTION_GLOBAL])
			continue;
		putc('\n', out);
		write_comment("", s->help, out);
		if (id == CONF_SECTION_LISTEN) {
			write_example_listens(out);
			continue;
		}
		if (id == CONF_SECTION_HANDLER) {
			fputs("# handler \"kv\" { database = \"/var/lib/h2d/kv.sqlite\" }\n", out);
			continue;
		}
		fprintf(out, "%s %s{\n", s->name, s->title != NULL ? "\"_\" " : "");
		write_example_rows(id, "\t", out);
		if (id == CONF_SECTION_SERVER)
			write_example_inner(out);
		fputs("}\n", out);
		if (id == CONF_SECTION_SERVER)
			write_example_server(out);
	}
}

/* Running text of mdoc(7): what would be a macro or an escape there is not one. */
static void write_mdoc(const char *text, FILE *out)
{
	const char *s = text;

	if (*s == '.' || *s == '\'')
		fputs("\\&", out);
	for (; *s != '\0'; s++) {
		switch (*s) {
		case '\\':
			fputs("\\e", out);
			break;
		case '"':
			fputs("\\(dq", out);
			break;
		case '-':
			fputs("\\-", out);
			break;
		case ' ':
			/* A sentence begins on its own line. */
			putc(s > text && s[-1] == '.' ? '\n' : ' ', out);
			break;
		default:
			putc(*s, out);
		}
	}
}

/* Keys to read about together. */
static const char *const related[][RELATED_MAX + 1] = {
#define RELATED(...) { __VA_ARGS__ },
#include "tools/conf_related.def"
};

static bool names(const char *const *keys, const char *key)
{
	while (*keys != NULL && strcmp(*keys, key) != 0)
		keys++;
	return *keys != NULL;
}

static void write_manual_related(const char *key, FILE *out)
{
	const char *before = "See also\n.Ic ";

	for (unsigned i = 0; i < sizeof(related) / sizeof(related[0]); i++)
		for (const char *const *k = related[i]; names(related[i], key) && *k != NULL; k++)
			if (strcmp(*k, key) != 0) {
				fputs(before, out);
				write_mdoc(*k, out);
				before = " ,\n.Ic ";
			}
	if (*before == ' ')
		fputs(" .\n", out);
}

static void write_manual_value(const struct conf_row *row, const char *text, FILE *out)
{
	const char *quote = needs_quotes(row) && *text != '{' ? "\\(dq" : "";

	fputs(quote, out);
	write_mdoc(text, out);
	fputs(quote, out);
}

static void write_manual_row(const struct conf_section *s, const struct conf_row *row, FILE *out)
{
	char want[512];

	conf_value_describe(row, want, sizeof(want));
	fprintf(out, ".Tg %s\n.It Ic ", row->name);
	write_mdoc(row->name, out);
	putc('\n', out);
	write_mdoc(row->help, out);
	fputs("\n.br\nTakes ", out);
	write_mdoc(want, out);
	fputs(".\nDefault: ", out);
	write_manual_value(row, row->dflt, out);
	fputs(".\n", out);
	if (s->handler == NULL)
		write_manual_related(row->name, out);
	if (row->example == NULL)
		return;
	fputs(".br\nExample: ", out);
	write_mdoc(row->name, out);
	fputs(" = ", out);
	write_manual_value(row, row->example, out);
	putc('\n', out);
}

static void write_manual_own(const struct conf_section *s, FILE *out)
{
	const struct conf_row *row;
	unsigned i;

	for (i = 0; (row = own_row(s, i)) != NULL; i++) {
		if (begins_expert(s, row, i))
			fputs(".El\n.Pp\nExpert keys:\n", out);
		if (i == 0 || begins_expert(s, row, i))
			fputs(".Bl -tag -width Ds\n", out);
		write_manual_row(s, row, out);
	}
	if (i > 0)
		fputs(".El\n", out);
}

static void write_manual_shared_head(const struct conf_section *s, FILE *out)
{
	if (s->parent == NULL)
		fputs(".Pp\nIt accepts these keys of\n.Ic server ,\nfor all servers that do not "
		      "set them:\n",
			out);
	else if (*conf_table_outer(s)->name != '\0')
		fprintf(out, ".Pp\nIt accepts these keys of\n.Ic %s :\n",
			conf_table_outer(s)->name);
	else
		fputs(".Pp\nIt accepts these keys of the top level:\n", out);
}

/* Keys that a section shares with an outer or inner one, which describes them. */
static void write_manual_shared(const struct conf_section *s, FILE *out)
{
	bool any = false;

	for (unsigned i = 0; i < s->nrows; i++) {
		if (conf_table_home(s, &s->rows[i]) == s)
			continue;
		if (any)
			fputs(" ,\n", out);
		else
			write_manual_shared_head(s, out);
		fputs(".Ic ", out);
		write_mdoc(s->rows[i].name, out);
		any = true;
	}
	if (any)
		fputs(s->parent != NULL ? " .\nIt inherits the keys that it does not set.\n"
					: " .\n",
			out);
}

void conf_page_manual(FILE *out)
{
	const struct conf_section *s;

	for (unsigned id = 0; (s = conf_table_at(id)) != NULL; id++) {
		const char *in = s->parent != NULL ? s->parent->name : "";

		if (id == CONF_SECTION_GLOBAL)
			fputs(".Ss Top level", out);
		else if (s->handler != NULL)
			fprintf(out, ".Ss handler Qq %s", s->handler);
		else
			fprintf(out, ".Ss %s%s%s", in, *in != '\0' ? ": " : "", s->name);
		if (s->title != NULL)
			fprintf(out, " Qq Ar %s", s->title);
		putc('\n', out);
		write_mdoc(s->help, out);
		putc('\n', out);
		write_manual_own(s, out);
		write_manual_shared(s, out);
	}
}
