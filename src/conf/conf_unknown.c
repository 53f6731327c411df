/*
 * conf_unknown: reports unknown or misplaced keys and sections, with the word that was probably
 * meant. Called by conf_parse.c; it reads further text only to skip a section.
 */
#include "conf/parser.h"

#include "base/assert.h"
#include "conf/conf_foreign.h"

const char *conf_unknown_place(const struct conf_section *section)
{
	return section->name[0] != '\0' ? section->name : "the top level";
}

/* --- the nearest known name ------------------------------------------------------------------- */

/* Levenshtein's distance; words longer than any name are cut, being far from all anyway. */
static unsigned distance(struct slice a, struct slice b)
{
	unsigned row[65];

	if (a.n > 64)
		a.n = 64;
	H2D_ASSERT(b.n <= 64);
	for (unsigned j = 0; j <= b.n; j++)
		row[j] = j;
	for (unsigned i = 1; i <= a.n; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= b.n; j++) {
			unsigned best = diagonal + (a.p[i - 1] != b.p[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[b.n];
}

/* The best match for a misspelt name. */
struct near {
	struct slice name;
	const char *best; /* NULL: none yet */
	unsigned distance;
};

static void near_compare(struct near *near, const char *known)
{
	unsigned d = distance(near->name, slice_str(known));

	if (near->best == NULL || d < near->distance) {
		near->best = known;
		near->distance = d;
	}
}

/* A third of the letters may be wrong, two in any case: beyond that it is another word. */
static const char *near_enough(const struct near *near)
{
	return near->distance <= (near->name.n > 6 ? near->name.n / 3 : 2) ? near->best : NULL;
}

/* handlers: names of handlers, instead of sections. */
static const char *near_section(struct slice name, bool handlers)
{
	struct near near = { .name = name };
	const struct conf_section *s;

	for (unsigned i = CONF_SECTION_GLOBAL + 1; (s = conf_table_at(i)) != NULL; i++)
		if ((s->handler != NULL) == handlers)
			near_compare(&near, handlers ? s->handler : s->name);
	return near_enough(&near);
}

/* --- messages --------------------------------------------------------------------------------- */

/* near: the known word probably meant, or NULL. */
static void unknown_word(struct parser *p, const struct conf_tok *key, const char *what,
	const char *where, const char *near)
{
	parser_fault(p, key->line, "unknown %s \"%.*s\" in %s%s%s%s", what, PARSER_NAME(key), where,
		near != NULL ? ": did you mean " : "", near != NULL ? near : "",
		near != NULL ? "?" : "");
}

/* False: it is no word of another server. home: the section with that word in another meaning. */
static bool foreign_word(struct parser *p, const struct conf_tok *key, const char *what,
	const struct conf_section *where, const struct conf_section *home)
{
	char hint[192];

	if (!conf_foreign_word(where->name, key->text, hint, sizeof(hint)))
		return false;
	parser_fault(p, key->line, "unknown %s \"%.*s\" in %s: %s%s%s", what, PARSER_NAME(key),
		conf_unknown_place(where), hint, home != NULL ? "; the name is also a key of " : "",
		home != NULL ? conf_unknown_place(home) : "");
	return true;
}

/* The section with such a key, or NULL. */
static const struct conf_section *home_of(struct slice key)
{
	const struct conf_section *s;
	const struct conf_row *row;

	for (unsigned i = 0; (s = conf_table_at(i)) != NULL; i++)
		if ((row = conf_table_row(s, key)) != NULL)
			return conf_table_home(s, row);
	return NULL;
}

void conf_unknown_form(struct parser *p, const struct conf_tok *key, const char *what,
	const struct conf_section *s)
{
	const char *quote = s->title != NULL ? "\"" : "";

	parser_fault(p, key->line, "%.*s %s: %s %s%s%s%s{ ... }", PARSER_NAME(key), what, s->name,
		quote, s->title != NULL ? s->title : "", quote, s->title != NULL ? " " : "");
}

/* There are two sections tls: the outer section distinguishes them. */
static void not_here(struct parser *p, const struct conf_tok *key, const struct conf_section *home,
	const struct conf_section *here)
{
	bool twins = home != here && strcmp(home->name, here->name) == 0;

	parser_fault(p, key->line, "%.*s belongs in %s%s%s, not in %s%s%s", PARSER_NAME(key),
		conf_unknown_place(home), twins ? " of " : "",
		twins ? conf_unknown_place(home->parent) : "", conf_unknown_place(here),
		twins ? " of " : "", twins ? conf_unknown_place(here->parent) : "");
}

void conf_unknown_key(struct parser *p, const struct conf_section *s, const struct conf_tok *key)
{
	const struct conf_section *home = home_of(key->text);
	struct near near = { .name = key->text };
	const char *best;

	/* A misspelt key must not be reported as missing too. */
	p->faults->lost |= home != NULL || s == &conf_sections[CONF_SECTION_SERVER] ||
			   s == &conf_sections[CONF_SECTION_TLS] ||
			   s->parent == &conf_sections[CONF_SECTION_SERVER];
	if (foreign_word(p, key, "key", s, home))
		return;
	if (home != NULL) {
		not_here(p, key, home, s);
		return;
	}
	if (conf_table_section(NULL, key->text) != NULL) {
		conf_unknown_form(p, key, "is a section: write braces, not \"=\"",
			conf_table_section(NULL, key->text));
		return;
	}
	for (unsigned i = 0; i < s->nrows; i++)
		near_compare(&near, s->rows[i].name);
	best = near_enough(&near);
	unknown_word(p, key, "key", conf_unknown_place(s),
		best != NULL ? best : near_section(key->text, false));
}

void conf_unknown_section(
	struct parser *p, const struct conf_section *in, const struct conf_tok *key)
{
	if (!foreign_word(p, key, "section", in, NULL))
		unknown_word(
			p, key, "section", conf_unknown_place(in), near_section(key->text, false));
	p->faults->lost = true;
	if (p->tok.kind == CONF_TOK_STRING)
		parser_next(p);
	parser_skip_block(p);
}

void conf_unknown_handler(struct parser *p, const struct conf_tok *key, const char *title)
{
	const char *near = near_section(slice_str(title), true);

	parser_fault(p, key->line, "no built-in handler \"%.64s\" has keys%s%s%s", title,
		near != NULL ? ": did you mean " : "", near != NULL ? near : "",
		near != NULL ? "?" : "");
}
