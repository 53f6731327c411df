/*
 * conf_foreign: the words are rows of conf_foreign.def; a file is recognised by the shape of its
 * lines. Called by conf_parse; never allocates, never reports.
 */
#include "conf/conf_foreign.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *key, *section, *note, *words;
} rows[] = {
#define FOREIGN(key_, section_, note_, words_) { key_, section_, note_, words_ },
#define NOT_BUILT(why_, words_)                { NULL, NULL, why_, words_ },
#include "conf/conf_foreign.def"
};

static const struct {
	const char *key, *begins, *cure;
} values[] = {
#define FOREIGN_VALUE(key_, begins_, cure_) { key_, begins_, cure_ },
#include "conf/conf_foreign.def"
};

enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

static bool has_word(struct slice words, struct slice word)
{
	struct slice one;

	while (slice_cut(&words, ' ', &one) && !slice_eq(one, word))
		;
	return slice_eq(one, word);
}

bool conf_foreign_word(const char *section, struct slice word, char *buf, size_t size)
{
	int found = NROWS;
	const char *note;

	for (int i = 0; i < NROWS; i++)
		if (has_word(slice_str(rows[i].words), word) &&
			(found == NROWS ||
				(rows[i].key != NULL && strcmp(rows[i].section, section) == 0)))
			found = i;
	if (found == NROWS)
		return false;
	note = rows[found].note;
	if (rows[found].key == NULL)
		snprintf(buf, size, "%s", note);
	else
		snprintf(buf, size, "use %s in %s%s%s%s", rows[found].key,
			rows[found].section[0] != '\0' ? rows[found].section : "the top level",
			note != NULL ? " (" : "", note != NULL ? note : "",
			note != NULL ? ")" : "");
	return true;
}

const char *conf_foreign_value(const char *key, const char *value)
{
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (strcmp(values[i].key, key) == 0 &&
			strncmp(values[i].begins, value, strlen(values[i].begins)) == 0)
			return values[i].cure;
	return NULL;
}

/* --- whole files -------------------------------------------------------------------------------
 */

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool has(struct slice s, const char *what)
{
	return memmem(s.p, s.n, what, strlen(what)) != NULL;
}

/* The first word of a line. */
static struct slice first(struct slice line)
{
	size_t n = 0;

	while (n < line.n && !is_space(line.p[n]))
		n++;
	return slice_of(line.p, n);
}

static bool is_nginx(struct slice line)
{
	return (line.p[line.n - 1] == ';' || slice_ends(line, SLICE("; }"))) &&
	       !has(first(line), "=") && !has(line, " = ");
}

static bool is_lighttpd(struct slice line)
{
	return (has(first(line), ".") && has(line, "=") && isalpha((unsigned char)line.p[0])) ||
	       slice_starts(line, SLICE("$HTTP[")) || slice_starts(line, SLICE("$SERVER["));
}

static bool is_apache(struct slice line)
{
	return line.p[0] == '<' ||
	       (line.p[0] >= 'A' && line.p[0] <= 'Z' && first(line).n < line.n && !has(line, "="));
}

/* h2o's is YAML: "key: value" and "- value". */
static bool is_h2o(struct slice line)
{
	struct slice word = first(line);

	return word.p[word.n - 1] == ':' || slice_eq(word, SLICE("-"));
}

/* Site addresses before a brace, and directives without "=" or an end. */
static bool is_caddy(struct slice line)
{
	static const char *const directives[] = { "basic_auth", "basicauth", "encode",
		"file_server", "handle", "header", "php_fastcgi", "redir", "respond",
		"reverse_proxy", "root", "tls", "try_files" };
	struct slice word = first(line);

	if (line.p[line.n - 1] == '{')
		return has(word, ".") || has(word, ":");
	if (has(line, "=") || has(line, "{") || line.p[line.n - 1] == ';')
		return false;
	for (unsigned i = 0; i < sizeof(directives) / sizeof(directives[0]); i++)
		if (slice_eq(word, slice_str(directives[i])))
			return true;
	return false;
}

static const struct {
	const char *name;
	bool (*tells)(struct slice line);
} servers[] = {
	{ "nginx", is_nginx },
	{ "lighttpd", is_lighttpd },
	{ "h2o", is_h2o },
	{ "Apache", is_apache },
	{ "Caddy", is_caddy },
};

enum { NSERVERS = sizeof(servers) / sizeof(servers[0]) };

/* Takes the next line of text, without blanks around it and the part after "#". */
static struct slice foreign_next_line(struct slice *text)
{
	struct slice whole, line;

	slice_cut(text, '\n', &whole);
	slice_cut(&whole, '#', &line);
	slice_skip_any(&line, " \t\r");
	while (line.n > 0 && is_space(line.p[line.n - 1]))
		line.n--;
	return line;
}

/* A line that opens or closes a block is alike in most languages, and proves no language. */
static bool is_brace(struct slice line)
{
	if (slice_eq(line, SLICE("}")) || slice_ends(line, SLICE("{ }")))
		return true;
	return line.p[line.n - 1] == '{' && !has(first(line), ".") && !has(first(line), ":");
}

const char *conf_foreign_file(struct slice text, unsigned *line)
{
	unsigned counts[NSERVERS] = { 0 }, where[NSERVERS] = { 0 }, all = 0, best = 0;

	for (unsigned number = 1; text.n > 0; number++) {
		struct slice s = foreign_next_line(&text);

		if (s.n == 0 || is_brace(s))
			continue;
		all++;
		for (unsigned i = 0; i < NSERVERS; i++)
			if (servers[i].tells(s) && counts[i]++ == 0)
				where[i] = number;
	}
	for (unsigned i = 1; i < NSERVERS; i++)
		if (counts[i] > counts[best])
			best = i;
	if (counts[best] < 2 || 2 * counts[best] <= all)
		return NULL;
	*line = where[best];
	return servers[best].name;
}
