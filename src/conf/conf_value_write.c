/*
 * conf_value_write: values and their descriptions as text: for -T, messages, the example file and
 * the manual. The reader reads the text back to the same value.
 */
#include <inttypes.h>

#include "conf/conf_value.h"

static void format_size(char *buf, size_t size, uint64_t v)
{
	static const char suffixes[] = "KMG";
	int i = -1;

	for (; v != 0 && v % 1024 == 0 && i < 2; i++)
		v /= 1024;
	snprintf(buf, size, "%" PRIu64 "%.*s", v, i >= 0, i >= 0 ? suffixes + i : "");
}

/* "a, b", each between quotes. */
static void format_choices(
	char *buf, size_t size, const struct conf_choice *choices, const char *quote)
{
	size_t n = 0;

	for (const struct conf_choice *c = choices; c->word != NULL && n < size; c++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s%s%s", c > choices ? ", " : "", quote,
			c->word, quote);
}

void conf_value_describe(const struct conf_row *row, char *buf, size_t size)
{
	char list[256], min[32], max[32];

	if (row->choices != NULL)
		format_choices(
			list, sizeof(list), row->choices, row->type == CONF_TYPE_LIST ? "\"" : "");
	format_size(min, sizeof(min), row->min);
	format_size(max, sizeof(max), row->max);
	switch (row->type) {
	case CONF_TYPE_STRING:
		snprintf(buf, size, "a string");
		break;
	case CONF_TYPE_PATH:
		snprintf(buf, size, "a path");
		break;
	case CONF_TYPE_PATHS:
		snprintf(buf, size, "a path, or a list of paths in braces");
		break;
	case CONF_TYPE_BOOL:
		snprintf(buf, size, "true or false");
		break;
	case CONF_TYPE_NUMBER:
		snprintf(buf, size, "a number from %" PRIu64 " to %" PRIu64, row->min, row->max);
		break;
	case CONF_TYPE_AUTO:
		snprintf(buf, size, "auto or a number from %" PRIu64 " to %" PRIu64, row->min,
			row->max);
		break;
	case CONF_TYPE_SIZE:
		snprintf(buf, size, "a size in bytes from %s to %s, with or without K, M, G", min,
			max);
		break;
	case CONF_TYPE_SECONDS:
		snprintf(buf, size,
			"a number of seconds from %" PRIu64 " to %" PRIu64
			", with or without s, m, h, d",
			row->min, row->max);
		break;
	case CONF_TYPE_CHOICE:
		snprintf(buf, size, "%s%s", row->choices[1].word != NULL ? "one of " : "", list);
		break;
	case CONF_TYPE_MODE:
		snprintf(buf, size, "an octal file mode of three or four digits up to \"%04o\"",
			(unsigned)row->max);
		break;
	case CONF_TYPE_LIST:
		snprintf(buf, size, "a list of %s in braces, or one alone",
			row->choices != NULL ? list : "strings");
		break;
	}
}

void conf_value_write_string(const char *s, FILE *out)
{
	putc('"', out);
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\' ||
			(strncmp(s, "${", 2) == 0 && strncmp(s, CONF_HOST, 7) != 0))
			putc('\\', out);
		putc(*s, out);
	}
	putc('"', out);
}

static void write_list(const struct conf_list *list, FILE *out)
{
	putc('{', out);
	for (unsigned i = 0; i < list->n; i++) {
		if (i > 0)
			fputs(", ", out);
		conf_value_write_string(list->v[i], out);
	}
	putc('}', out);
}

void conf_value_write(const struct conf_row *row, const void *obj, FILE *out)
{
	const void *member = (const char *)obj + row->member;
	const struct conf_list *list = member;
	char buf[32];

	switch (row->type) {
	case CONF_TYPE_STRING:
	case CONF_TYPE_PATH:
		conf_value_write_string(*(char *const *)member, out);
		break;
	case CONF_TYPE_BOOL:
		fputs(*(const bool *)member ? "true" : "false", out);
		break;
	case CONF_TYPE_AUTO:
		if (*(const uint64_t *)member == 0) {
			fputs("auto", out);
			break;
		}
		__attribute__((fallthrough));
	case CONF_TYPE_NUMBER:
	case CONF_TYPE_SECONDS:
		fprintf(out, "%" PRIu64, *(const uint64_t *)member);
		break;
	case CONF_TYPE_SIZE:
		format_size(buf, sizeof(buf), *(const uint64_t *)member);
		fputs(buf, out);
		break;
	case CONF_TYPE_CHOICE:
		fputs(conf_table_word(row, *(const int *)member), out);
		break;
	case CONF_TYPE_MODE:
		fprintf(out, "\"%04o\"", *(const unsigned *)member);
		break;
	case CONF_TYPE_PATHS:
		/* A single one in the syntax before there were lists. */
		if (list->n > 1)
			write_list(list, out);
		else
			conf_value_write_string(list->n > 0 ? list->v[0] : "", out);
		break;
	case CONF_TYPE_LIST:
		write_list(list, out);
		break;
	}
}
