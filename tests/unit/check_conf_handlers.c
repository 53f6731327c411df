/*
 * check_conf_handlers: keys of handlers: faults of their rows, each with its line, and what becomes
 * of sections of h2d.conf by the table of tests/handlers/conf.def.
 */
#include "conf_unit.h"

#include "conf/conf_handlers.h"
#include "tools/conf_page.h"
#include "tools/key_build.h"

/* --- rows ------------------------------------------------------------------------------------- */

#define ROW(line, ...) \
	{ \
		"a/conf.def", line, __VA_ARGS__ \
	}

static const struct key_row good = ROW(1, "kv", "name", "STRING", "x", 0, 0, NULL, "Help.");

static const struct {
	struct key_row row;
	const char *fault; /* behind "a/conf.def:2: "; NULL: none */
} rows[] = {
	{ ROW(2, "kv", "other", "STRING", "", 0, 0, NULL, "Help."), NULL },
	{ ROW(2, "kx", "name", "STRING", "", 0, 0, NULL, "Help."), NULL },
	{ ROW(2, "kv", "a", "SECONDS", "1h", 0, 3600, NULL, "Help."), NULL },
	{ ROW(2, "kv", "a", "LIST", "{\"a\"}", 0, 0, "a|b", "Help."), NULL },
	{ ROW(2, "kv", "name", "STRING", "", 0, 0, NULL, "Help."),
		"duplicate key \"name\" of handler kv (first at line 1)" },
	{ { "b/conf.def", 2, "kv", "a", "STRING", "", 0, 0, NULL, "Help." },
		"handler kv already has keys in a/conf.def:1: rename one directory" },
	{ ROW(2, "kv", "Data_base", "STRING", "", 0, 0, NULL, "Help."), "key \"Data_base\": use" },
	{ ROW(2, "kv", "", "STRING", "", 0, 0, NULL, "Help."), "key \"\": use the letters" },
	{ ROW(2, "kv", "-a", "STRING", "", 0, 0, NULL, "Help."), "key \"-a\": use the letters" },
	{ ROW(2, "kv", "a", "STRING", "", 0, 0, NULL, ""),
		"key \"a\" needs a help text of one line" },
	{ ROW(2, "kv", "a", "STRING", "", 0, 0, NULL, "a\nb"),
		"key \"a\" needs a help text of one line" },
	{ ROW(2, "kv", "a", "TEXT", "", 0, 0, NULL, "Help."), "unknown type TEXT" },
	{ ROW(2, "kv", "a", "NUMBER", "7", 0, 5, NULL, "Help."),
		"default: a must be a number from 0 to 5, not 7: out of range" },
	{ ROW(2, "kv", "a", "BOOL", "no", 0, 0, NULL, "Help."),
		"default: a must be true or false, not no" },
	{ ROW(2, "kv", "a", "CHOICE", "c", 0, 0, "a|b", "Help."),
		"default: a must be one of a, b, not c" },
	{ ROW(2, "kv", "a", "CHOICE", "c", 0, 0, NULL, "Help."), "CHOICE without choices \"a|b\"" },
	{ ROW(2, "kv", "a", "WRITE_PATH", "db", 0, 0, NULL, "Help."),
		"default: \"db\" is not absolute" },
};

TEST_ROWS(a_row, rows)
{
	const struct key_row two[] = { good, rows[_i].row };
	char *out = NULL, *err = NULL, want[256];
	size_t nout, nerr;
	FILE *outs = open_memstream(&out, &nout), *errs = open_memstream(&err, &nerr);
	int rc = key_build(two, 2, outs, errs);

	fclose(outs);
	fclose(errs);
	ck_assert_int_eq(rc, rows[_i].fault == NULL ? 0 : -1);
	ck_assert_int_eq(nout > 0, rows[_i].fault == NULL);
	snprintf(want, sizeof(want), "%s:2: %s", rows[_i].row.file,
		rows[_i].fault != NULL ? rows[_i].fault : "");
	if (rows[_i].fault != NULL)
		ck_assert_msg(strncmp(err, want, strlen(want)) == 0, "%s", err);
	else
		ck_assert_str_eq(err, "");
	free(out);
	free(err);
}

/* --- sections --------------------------------------------------------------------------------- */

static const char whole[] =
	"server \"_\" { root = \"www\" }\n"
	"handler \"t\" {\n\tword = \"\\${\\\"}\" file = \"a\" source = \"cert.pem\"\n"
	"\ttarget = \"www/t.db\" flag = false number = 100 size = 64K\n"
	"\tseconds = 2m choice = right list = {\"p\", \"q\"}\n}\n";

static struct key_value value(const struct conf *c, const char *key)
{
	return conf_handlers_value(c, "t", key);
}

TEST(values)
{
	struct conf *c = load_text(whole);

	no_faults("values");
	ck_assert_str_eq(value(c, "word").string, "${\"}");
	ck_assert_str_eq(value(c, "file").string, tree_path("a"));
	ck_assert_str_eq(value(c, "target").string, tree_path("www/t.db"));
	ck_assert_int_eq(value(c, "flag").kind, KEY_BOOL);
	ck_assert(!value(c, "flag").truth);
	ck_assert_uint_eq(value(c, "number").number, 100);
	ck_assert_uint_eq(value(c, "size").number, 65536);
	ck_assert_uint_eq(value(c, "seconds").number, 120);
	ck_assert_int_eq(value(c, "choice").kind, KEY_NUMBER);
	ck_assert_uint_eq(value(c, "choice").number, 0);
	ck_assert_uint_eq(value(c, "list").n, 2);
	ck_assert_str_eq(value(c, "list").items[1], "q");
	ck_assert_str_eq(conf_handlers_value(c, "user", "user").string, "nobody");
	ck_assert_str_eq(c->user, "");
	ck_assert_int_eq(value(c, "wrod").kind, KEY_NONE);
	ck_assert_int_eq(conf_handlers_value(c, "nobody", "word").kind, KEY_NONE);
	conf_free(&c);
}

static void note(void *ctx, const struct conf_row *row, const char *path, const struct conf_pos *at)
{
	char *text = ctx, file[256];

	ck_assert_uint_eq(at->line, strcmp(row->name, "source") == 0 ? 3 : 4);
	snprintf(text + strlen(text), 256, "%s %s ", row->name, path + strlen(tree));
	ck_assert(conf_handlers_folder(path, file, sizeof(file)));
	strcat(strcat(text, file + strlen(tree)), "; ");
}

TEST(paths)
{
	struct conf *c = load_text(whole);
	char text[1024] = "", small[4];

	conf_handlers_paths(c, note, text);
	ck_assert_str_eq(text, "source /cert.pem ; target /www/t.db /www; ");
	ck_assert(conf_handlers_folder("/a", small, sizeof(small)));
	ck_assert_str_eq(small, "/");
	ck_assert(conf_handlers_folder("/usr/bin", text, sizeof(text)));
	ck_assert_str_eq(text, "/usr/bin");
	ck_assert(!conf_handlers_folder("/abcde/f", small, sizeof(small)));
	conf_free(&c);
}

static char *dump(const struct conf *c)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	conf_dump(c, true, out);
	fclose(out);
	return text;
}

TEST(the_dump_reads_back)
{
	struct conf *c = load_text(whole), *again;
	char *text = dump(c), *second;

	ck_assert_ptr_nonnull(
		strstr(text, "\nhandler \"t\" {\n\t# A word, \"or\" more.\n\tword = "));
	ck_assert_ptr_nonnull(strstr(text, "\tuser = \"nobody\"\n}\n"));
	write_file("again.conf", text);
	again = load_name("again.conf");
	no_faults("dump");
	second = dump(again);
	ck_assert_str_eq(text, second);
	free(text);
	free(second);
	conf_free(&again);
	conf_free(&c);
}

TEST(the_manual_has_them)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	conf_page_manual(out);
	fclose(out);
	ck_assert_ptr_nonnull(strstr(text, ".Ss handler Qq Ar name\n"));
	ck_assert_ptr_nonnull(strstr(text, ".Ss handler Qq t\n"));
	ck_assert_ptr_nonnull(
		strstr(text, ".It Ic number\nA number.\n.br\nTakes a number from 1 to "
			     "100.\nDefault: 7.\n"));
	free(text);
}

static const struct {
	const char *text, *fault;
} wrong[] = {
	{ "handler \"t\" { nmber = 3 }",
		"h2d.conf:1: unknown key \"nmber\" in handler \"t\": did you mean number?" },
	{ "handler \"t\" { number = 101 }",
		"h2d.conf:1: number must be a number from 1 to 100, not 101: out of range" },
	{ "handler \"user\" { word = \"a\" }",
		"h2d.conf:1: word belongs in handler \"t\", not in handler \"user\"" },
	{ "handler \"usr\" { user = \"a\" }",
		"h2d.conf:1: no built-in handler \"usr\" has keys: did you mean user?" },
	{ "handler user { user = \"a\" }",
		"h2d.conf:1: put the title in quotes: handler \"user\" { ... }" },
	{ "handler { user = \"a\" }",
		"h2d.conf:1: section handler needs a title: handler \"name\" { ... }" },
	{ "handler {\"user\"} { user = \"a\" }",
		"h2d.conf:1: section handler needs a title: handler \"name\" { ... }" },
	{ "handler \"user\" { }\nhandler \"user\" { }",
		"h2d.conf:2: duplicate section handler \"user\" (first at @/h2d.conf:1)" },
	{ "handlr \"user\" { }",
		"h2d.conf:1: unknown section \"handlr\" in the top level: did you mean handler?" },
	{ "handler \"user\" { user = \"a\"",
		"h2d.conf:1: this \"{\" has no \"}\" before the file ends at line 3" },
	{ "handler \"user\"", "h2d.conf:1: missing \"{\" after handler" },
	{ "handler \"t\" { source = \"no\" }",
		"h2d.conf:1: source \"@/no\": No such file or directory" },
	{ "handler \"t\" { target = \"no/a\" }",
		"h2d.conf:1: target \"@/no/a\": directory \"@/no\": No such file or directory" },
	{ "handler \"t\" { target = \"@-beside\" }",
		"h2d.conf:1: target \"@-beside\": workers could write to all of \"/tmp\": choose a "
		"directory below it, or add \"/tmp\" to write in section sandbox" },
	{ "handler \"t\" { target = \"@-beside\" }\nsandbox { write = {\"/tmp\"} }", NULL },
	{ "handler \"t\" { target = \"/tmp\" }", NULL },
	{ "handler \"t\" { word = \"${host}\" }",
		"h2d.conf:1: word: ${host} is for root, access-log, certificate and "
		"certificate-key of a server only" },
};

/* The fault, with "@" for the folder. */
static const char *shown(const char *fault)
{
	static char text[512];
	char *at;

	snprintf(text, sizeof(text), "%s", fault);
	while ((at = strstr(text, tree)) != NULL) {
		*at = '@';
		memmove(at + 1, at + strlen(tree), strlen(at + strlen(tree)) + 1);
	}
	return text;
}

TEST_ROWS(a_fault, wrong)
{
	char text[512];
	struct conf *c;

	snprintf(text, sizeof(text), "%s\nserver \"_\" { root = \"www\" }\n", wrong[_i].text);
	c = load_text(text);
	ck_assert_int_eq(c == NULL, wrong[_i].fault != NULL);
	if (wrong[_i].fault != NULL)
		ck_assert_str_eq(shown(faults[0]), wrong[_i].fault);
	ck_assert_uint_eq(nfaults, wrong[_i].fault != NULL);
	conf_free(&c);
}
