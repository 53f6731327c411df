/*
 * conf_value: stores values in the members that conf.def gives them, with every check that needs
 * only the value and its row. Writing them is conf_value_write.c.
 */
#include "conf/conf_value.h"

#include <limits.h>
#include <unistd.h>

#include "base/assert.h"
#include "conf/conf_foreign.h"
#include "conf/parser.h"

char conf_none[1];

const char *conf_value_number(const char *text, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	if (text[0] == '-' || text[0] == '+')
		return "no sign is allowed";
	if (text[0] == '\0')
		return "no number given";
	for (const char *p = text; *p != '\0'; p++)
		if (*p < '0' || *p > '9')
			return "not a decimal number";
	if (text[0] == '0' && text[1] != '\0')
		return "remove the leading zeros";
	for (const char *p = text; *p != '\0'; p++) {
		unsigned digit = (unsigned)(*p - '0');

		if (digit > max || v > (max - digit) / 10)
			return "out of range";
		v = 10 * v + digit;
	}
	*out = v;
	return NULL;
}

/* The digits before a unit; NULL, or why they are no number. */
static const char *digits_number(const char *text, size_t n, uint64_t max, uint64_t *out)
{
	char digits[32];

	if (n >= sizeof(digits))
		return "out of range";
	memcpy(digits, text, n);
	digits[n] = '\0';
	return conf_value_number(digits, max, out);
}

/* 256M, 256m, 256MB and 256MiB are the same: 256 times 1024 times 1024. */
static const char *size_number(const char *text, uint64_t max, uint64_t *out)
{
	static const char suffixes[] = "kmg";
	struct slice s = slice_str(text);
	const char *suffix = NULL;
	unsigned shift = 0;
	const char *why;

	if (slice_ends(s, SLICE("B")))
		s.n -= slice_ends(s, SLICE("iB")) ? 2 : 1;
	if (s.n > 0)
		suffix = strchr(suffixes, s.p[s.n - 1] | 0x20);
	if (suffix != NULL && *suffix != '\0') {
		shift = 10 * (unsigned)(suffix - suffixes + 1);
		s.n--;
	} else if (s.p[s.n] == 'i') {
		return "not a size";
	}
	why = digits_number(s.p, s.n, max >> shift, out);
	*out <<= shift;
	return why;
}

/* Seconds, or a number with a unit: 90s, 10m, 1h, 7d. */
static const char *seconds_number(const char *text, uint64_t max, uint64_t *out)
{
	static const struct {
		char unit;
		unsigned seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	size_t n = strlen(text);
	unsigned seconds = 1;
	const char *why;

	if (n > 2 && strcmp(text + n - 2, "ms") == 0)
		return "write whole seconds";
	for (unsigned i = 0; n > 0 && i < sizeof(units) / sizeof(units[0]); i++) {
		if (text[n - 1] != units[i].unit)
			continue;
		seconds = units[i].seconds;
		n--;
		break;
	}
	why = digits_number(text, n, max / seconds, out);
	*out *= seconds;
	return why;
}

static const char *file_mode(const char *text, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;
	size_t n = strlen(text);

	if (n < 3 || n > 4 || strspn(text, "01234567") != n)
		return "not an octal file mode";
	for (const char *p = text; *p != '\0'; p++)
		v = 8 * v + (uint64_t)(*p - '0');
	*out = v;
	return v <= max ? NULL : "out of range";
}

char *conf_value_resolve(struct arena *arena, const struct conf_pos *pos, const char *path)
{
	const char *file = pos->file != NULL && pos->line > 0 ? pos->file : "";
	const char *slash = strrchr(file, '/');
	int dir = slash != NULL ? (int)(slash - file + 1) : 0;
	char cwd[PATH_MAX];
	size_t n;

	if (path[0] == '/' || path[0] == '\0')
		return arena_strdup(arena, path);
	while (path[0] == '.' && path[1] == '/')
		path += 2 + strspn(path + 2, "/");
	if (strcmp(path, ".") == 0)
		path = "";
	if (file[0] == '/')
		return arena_printf(arena, "%.*s%s", dir, file, path);
	/* Without a working directory the text is the best path. */
	if (getcwd(cwd, sizeof(cwd)) == NULL || cwd[0] != '/')
		return arena_printf(arena, "%.*s%s", dir, file, path);
	n = strlen(cwd);
	return arena_printf(
		arena, "%s%s%.*s%s", cwd, cwd[n - 1] == '/' ? "" : "/", dir, file, path);
}

/* why: "" if the row's description is enough; for a list with choices, the wrong item. */
static void value_refuse(const struct conf_row *row, const struct conf_value *v, const char *why,
	const struct conf_pos *pos, struct conf_faults *faults)
{
	const char *quote = v->kind == CONF_VALUE_STRING ? "\"" : "";
	const char *got = v->kind == CONF_VALUE_LIST ? "a list" : v->text;
	const char *cure = conf_foreign_value(row->name, got);
	char want[512];

	why = cure != NULL ? cure : why;
	conf_value_describe(row, want, sizeof(want));
	if (row->type == CONF_TYPE_LIST && v->kind == CONF_VALUE_LIST)
		conf_fault(faults, pos, "%s must be %s, not \"%.200s\"", row->name, want, why);
	else
		conf_fault(faults, pos, "%s must be %s, not %s%.200s%s%s%s", row->name, want, quote,
			got, quote, *why != '\0' ? ": " : "", why);
}

/* The types that become a number; out is set even with a message. */
static const char *numeric(const struct conf_row *row, const struct conf_value *v, uint64_t *out)
{
	const char *why = NULL;
	bool is_auto = row->type == CONF_TYPE_AUTO && strcmp(v->text, "auto") == 0;

	*out = 0;
	switch (row->type) {
	case CONF_TYPE_SIZE:
		why = size_number(v->text, row->max, out);
		break;
	case CONF_TYPE_MODE:
		why = file_mode(v->text, row->max, out);
		break;
	case CONF_TYPE_SECONDS:
		why = seconds_number(v->text, row->max, out);
		break;
	default:
		if (!is_auto)
			why = conf_value_number(v->text, row->max, out);
		break;
	}
	if (why == NULL && !is_auto && *out < row->min)
		why = "out of range";
	return why;
}

/* The first element of a list with choices that is none of them; NULL: no fault. */
static const char *stranger(const struct conf_row *row, const struct conf_list *list)
{
	for (unsigned i = 0; row->choices != NULL && i < list->n; i++)
		if (conf_table_choice(row, list->v[i]) == NULL)
			return list->v[i];
	return NULL;
}

static bool kind_fits(const struct conf_row *row, enum conf_value_kind kind)
{
	switch (row->type) {
	case CONF_TYPE_STRING:
	case CONF_TYPE_PATH:
	case CONF_TYPE_MODE:
		return kind == CONF_VALUE_STRING;
	case CONF_TYPE_PATHS:
	case CONF_TYPE_LIST:
		return kind != CONF_VALUE_WORD;
	case CONF_TYPE_SIZE:
	case CONF_TYPE_CHOICE:
		return kind != CONF_VALUE_LIST;
	default:
		return kind == CONF_VALUE_WORD;
	}
}

static char *no_items[1];

/* A single path is a list, too; a single empty one is none. */
static bool store_paths(struct arena *arena, struct conf_list *list, const struct conf_value *v,
	const struct conf_pos *pos)
{
	bool is_list = v->kind == CONF_VALUE_LIST;
	unsigned n = is_list ? v->list.n : *v->text != '\0';

	*list = (struct conf_list){ .v = no_items };
	for (unsigned i = 0; i < n; i++) {
		char *path = conf_value_resolve(arena, pos, is_list ? v->list.v[i] : v->text);

		if (path == NULL || !conf_value_append(arena, list, path))
			return false;
	}
	return true;
}

/* A string, or a list, that has words of its own: one needs no quotes. */
static bool is_word_of(const struct conf_row *row, const struct conf_value *v)
{
	return (row->type == CONF_TYPE_STRING || row->type == CONF_TYPE_LIST) &&
	       row->choices != NULL && v->kind == CONF_VALUE_WORD &&
	       conf_table_choice(row, v->text) != NULL;
}

/*
 * Stores v. *why: NULL, or the fault, "" if the description of the row is enough. false when memory
 * is out.
 */
static bool store(struct arena *arena, const struct conf_row *row, void *obj,
	const struct conf_value *v, const struct conf_pos *pos, const char **why)
{
	void *member = conf_member(obj, row);
	const struct conf_choice *choice;
	struct conf_list list;
	uint64_t number;

	*why = NULL;
	if (!kind_fits(row, v->kind) && !is_word_of(row, v)) {
		*why = "";
		if (v->kind == CONF_VALUE_WORD && kind_fits(row, CONF_VALUE_STRING))
			*why = "write double quotes";
		else if (v->kind == CONF_VALUE_STRING && kind_fits(row, CONF_VALUE_WORD))
			*why = "remove the quotes";
		return true;
	}
	switch (row->type) {
	case CONF_TYPE_STRING:
		*(char **)member = v->text;
		return true;
	case CONF_TYPE_PATH:
		*(char **)member = conf_value_resolve(arena, pos, v->text);
		return *(char **)member != NULL;
	case CONF_TYPE_PATHS:
		return store_paths(arena, member, v, pos);
	case CONF_TYPE_BOOL:
		*(bool *)member = conf_is_word(v->text, true);
		if (!*(bool *)member && !conf_is_word(v->text, false))
			*why = "";
		return true;
	case CONF_TYPE_CHOICE:
		choice = conf_table_choice(row, v->text);
		*(int *)member = choice != NULL ? choice->value : row->choices->value;
		if (choice == NULL)
			*why = "";
		return true;
	case CONF_TYPE_LIST:
		list = v->list;
		if (v->kind != CONF_VALUE_LIST && !conf_value_append(arena, &list, v->text))
			return false;
		if (list.n == 0)
			list.v = no_items;
		*(struct conf_list *)member = list;
		*why = stranger(row, &list);
		return true;
	case CONF_TYPE_MODE:
		*why = numeric(row, v, &number);
		*(unsigned *)member = (unsigned)number;
		return true;
	default:
		*why = numeric(row, v, &number);
		*(uint64_t *)member = number;
		return true;
	}
}

/* The host of a request is known only in a request. */
static bool holds_host(const struct conf_row *row, const struct conf_value *v)
{
	bool any = v->text != NULL && strstr(v->text, CONF_HOST) != NULL;

	for (unsigned i = 0; i < v->list.n; i++)
		any |= strstr(v->list.v[i], CONF_HOST) != NULL;
	return any && !(row->hosts && row->of_server);
}

static void set_null(const struct conf_row *row, void *obj)
{
	if (row->type == CONF_TYPE_STRING || row->type == CONF_TYPE_PATH)
		*(char **)conf_member(obj, row) = NULL;
	else if (row->type == CONF_TYPE_LIST || row->type == CONF_TYPE_PATHS)
		*(struct conf_list *)conf_member(obj, row) = (struct conf_list){ 0 };
}

void conf_value_set(struct arena *arena, const struct conf_row *row, void *obj,
	const struct conf_value *v, const struct conf_pos *pos, struct conf_faults *faults)
{
	const char *why;

	*conf_member_at(obj, row) = *pos;
	if (holds_host(row, v)) {
		conf_fault(faults, pos,
			"%s: " CONF_HOST " is for root, access-log, certificate and "
			"certificate-key of a server only",
			row->name);
		set_null(row, obj);
	} else if (!store(arena, row, obj, v, pos, &why)) {
		conf_fault_oom(faults, pos);
	} else if (why != NULL) {
		value_refuse(row, v, why, pos, faults);
		set_null(row, obj);
	}
}

/* Parses "text" for the row: only a list, which is a default, has a syntax of its own. */
static bool from_text(
	struct arena *arena, const struct conf_row *row, const char *text, struct conf_value *v)
{
	if (row->type == CONF_TYPE_LIST) {
		const struct conf_source source = { .name = row->name };
		const struct conf_tok key = { .text = slice_str(row->name) };
		struct conf_faults none = { 0 };
		struct parser p = { .arena = arena, .faults = &none, .source = &source };

		conf_lex_init(&p.lex, slice_str(text));
		parser_next(&p);
		return parser_value(&p, &key, v);
	}
	*v = (struct conf_value){ .kind = CONF_VALUE_WORD };
	if (!kind_fits(row, CONF_VALUE_WORD))
		v->kind = CONF_VALUE_STRING;
	v->text = arena_strdup(arena, text);
	return v->text != NULL;
}

void conf_value_set_text(struct arena *arena, const struct conf_row *row, void *obj,
	const char *text, const struct conf_pos *pos, struct conf_faults *faults)
{
	struct conf_value v;

	if (!from_text(arena, row, text, &v))
		conf_fault_oom(faults, pos);
	else
		conf_value_set(arena, row, obj, &v, pos, faults);
}

bool conf_value_default(struct arena *arena, const struct conf_row *row, void *obj)
{
	const struct conf_pos nowhere = { 0 };
	struct conf_value v;
	const char *why;

	if (!from_text(arena, row, row->dflt, &v) || !store(arena, row, obj, &v, &nowhere, &why))
		return false;
	H2D_ASSERT(why == NULL);
	*conf_member_at(obj, row) = nowhere;
	return true;
}
