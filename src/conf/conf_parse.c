/*
 * conf_parse: statements and blocks, on top of parser.c. Called by conf_load. Never interprets a
 * value, and never stops at a fault.
 */
#include "conf/parser.h"

#include "conf/conf_foreign.h"

enum { NESTED_MAX = 8 };

/* A section being read. */
struct block {
	const struct conf_section *section;
	const struct block *parent; /* its parent in the text; NULL for the top level */
	const struct block *owner; /* the block whose struct contains it: parent, or an outer one */
	void *scratch;             /* not NULL: refused as a whole, read for its faults */
	unsigned index;            /* otherwise: its index */
	unsigned line;             /* of its opening brace */
	unsigned depth;
	bool whole;             /* ended by the file, not a brace */
	struct conf_tok nested; /* the first section inside it; none if its line is 0 */
};

static void parse_block(struct parser *p, struct block *b);

/* Never stored: a later block may move it. */
static void *block_obj(const struct parser *p, const struct block *b)
{
	if (b->scratch != NULL)
		return b->scratch;
	if (b->owner == NULL)
		return p->conf;
	return conf_table_get(block_obj(p, b->owner), b->section, b->index);
}

static void assignment(struct parser *p, const struct block *b, const struct conf_tok *key)
{
	const struct conf_row *row = conf_table_row(b->section, key->text);
	const struct conf_pos pos = parser_pos(p, key->line);
	const struct conf_pos *first;
	struct conf_value v;
	void *obj;

	if (row == NULL)
		conf_unknown_key(p, b->section, key);
	if (!parser_value(p, key, &v) || row == NULL)
		return;
	obj = block_obj(p, b);
	first = conf_member_at(obj, row);
	if (first->file != NULL)
		conf_fault(p->faults, &pos, "duplicate %s (first at %s:%u)", row->name, first->file,
			first->line);
	else
		conf_value_set(&p->conf->arena, row, obj, &v, &pos, p->faults);
}

static void include(struct parser *p, const struct block *b, const struct conf_tok *key)
{
	const struct conf_pos pos = parser_pos(p, key->line);
	struct conf_tok pattern;
	char *text;

	if (conf_tok_is(&p->tok, '('))
		parser_next(p);
	pattern = p->tok;
	if (pattern.kind == CONF_TOK_STRING)
		parser_next(p);
	if (pattern.kind != CONF_TOK_STRING || !conf_tok_is(&p->tok, ')')) {
		parser_unexpected(p, key->line, "write include as include(\"PATTERN\")");
		parser_skip_line(p, key->line);
		return;
	}
	parser_next(p);
	text = parser_string(p, &pattern);
	if (text == NULL)
		return;
	p->source->include(p->conf, p->source, b, &pos, text, p->faults);
}

static struct conf_pos *position(void *obj, const struct conf_section *s)
{
	return (struct conf_pos *)(void *)((char *)obj + s->at);
}

/* True: owner cannot have another section s, which was reported. */
static bool refuse_one_too_many(
	struct parser *p, const struct conf_section *s, void *owner, const struct conf_pos *pos)
{
	const struct conf_pos *first;

	if (s->title != NULL && (s->max == 0 || conf_table_count(owner, s) < s->max))
		return false;
	first = position(conf_table_get(owner, s, 0), s);
	if (s->title != NULL)
		conf_fault(p->faults, pos, "more than %u %s sections", s->max, s->name);
	else if (first->file != NULL)
		conf_fault(p->faults, pos, "duplicate section %s (first at %s:%u)", s->name,
			first->file, first->line);
	else
		return false;
	return true;
}

/* Finds the memory of the new section: b->index or b->scratch. */
static bool block_open(struct parser *p, struct block *b, unsigned line)
{
	const struct conf_section *s = b->section;
	const struct conf_pos pos = parser_pos(p, line);
	void *owner = b->owner != NULL ? block_obj(p, b->owner) : NULL, *obj;

	if (owner == NULL || refuse_one_too_many(p, s, owner, &pos)) {
		obj = b->scratch = arena_zalloc(&p->conf->arena, s->size);
	} else if (s->title != NULL) {
		b->index = conf_table_count(owner, s);
		obj = conf_table_add(&p->conf->arena, owner, s);
	} else {
		obj = conf_table_get(owner, s, 0);
	}
	if (obj == NULL) {
		conf_fault_oom(p->faults, &pos);
		return false;
	}
	*position(obj, s) = pos;
	return true;
}

/*
 * The section of that name, and its block: parent, or, as its brace may be missing, the nearest
 * outer block that can have one, or none.
 */
static const struct conf_section *find_section(
	const struct block *parent, struct slice name, const struct block **owner)
{
	const struct conf_section *s = NULL;

	for (*owner = parent; *owner != NULL; *owner = (*owner)->parent) {
		s = conf_table_section((*owner)->section, name);
		if (s != NULL)
			return s;
	}
	return conf_table_section(NULL, name);
}

/* True: a word without quotes is in the place of a title, which was reported. */
static bool refuse_unquoted(struct parser *p, const struct conf_section *s)
{
	if (p->tok.kind != CONF_TOK_WORD || !parser_ahead_is(p, '{'))
		return false;
	parser_fault(p, p->tok.line, "put the title in quotes: %s \"%.*s\" { ... }", s->name,
		PARSER_NAME(&p->tok));
	return true;
}

static void refuse_untitled(struct parser *p, const struct conf_section *s, unsigned line)
{
	parser_fault(
		p, line, "section %s needs a title: %s \"%s\" { ... }", s->name, s->name, s->title);
}

/* A list of titles, if allowed. False: none, or none worth storing (reported). */
static bool read_titles(struct parser *p, const struct conf_section *s, const struct conf_tok *key,
	struct conf_list *titles)
{
	struct conf_value v;

	if (s->title == NULL || !conf_tok_is(&p->tok, '{') ||
		parser_ahead(p).kind != CONF_TOK_STRING || !parser_value(p, key, &v))
		return false;
	*titles = v.list;
	if (!s->titles)
		parser_fault(p, key->line, "section %s takes one title, not a list: %s", s->name,
			strcmp(s->name, "server") == 0 ? "write the other names in aliases"
						       : "write a section for each");
	return true;
}

/* Repeats the section for the further titles. */
static void repeat(
	struct parser *p, const struct block *b, unsigned line, const struct conf_list *titles)
{
	for (unsigned i = 1; b->scratch == NULL && b->section->titles && i < titles->n; i++) {
		struct block more = *b;
		char **obj;

		if (!block_open(p, &more, line) || more.scratch != NULL)
			return;
		obj = block_obj(p, &more);
		memcpy(obj, block_obj(p, b), b->section->size);
		*obj = titles->v[i];
	}
}

/* The title and the block of b, after its name. */
static void section_of(
	struct parser *p, struct block *parent, struct block b, const struct conf_tok *key)
{
	struct conf_tok title = p->tok;
	bool has_title = title.kind == CONF_TOK_STRING, bad = title.kind == CONF_TOK_BAD;
	bool one = false; /* SECTION "TITLE" = VALUE: a section of one key, without its braces */
	struct conf_list titles = { 0 };

	if (read_titles(p, b.section, key, &titles))
		has_title = false;
	else if (refuse_unquoted(p, b.section))
		bad = true;
	else if (bad)
		parser_unexpected(p, key->line, NULL);
	if (bad || has_title)
		parser_next(p);
	if (b.section->nrows == 1 && conf_tok_is(&p->tok, '=')) {
		one = true;
		parser_next(p);
	} else if (conf_tok_is(&p->tok, '{')) {
		b.line = p->tok.line;
		if (b.depth > NESTED_MAX) {
			parser_skip_block(p);
			return;
		}
		parser_next(p);
	} else {
		if (!bad && p->tok.kind == CONF_TOK_WORD && p->tok.line == key->line) {
			p->faults->lost = true;
			conf_unknown_form(p, key, "takes only a title before its \"{\"", b.section);
		} else if (!bad)
			parser_missing(p, key, "{");
		/* Only the brace is missing if the next token could follow it. */
		if (p->tok.kind != CONF_TOK_WORD || b.depth > NESTED_MAX ||
			conf_table_row(b.section, p->tok.text) == NULL) {
			parser_skip_line(p, key->line);
			return;
		}
	}
	if (b.owner == NULL)
		parser_fault(p, key->line, "section %s belongs in %s, not in %s", b.section->name,
			conf_unknown_place(b.section->parent), conf_unknown_place(parent->section));
	else if (b.owner != parent && parent->nested.line == 0)
		parent->nested = *key;
	if (b.section->title == NULL && has_title)
		parser_fault(p, title.line, "section %s takes no title", b.section->name);
	if (b.section->title != NULL && !has_title && titles.n == 0 && !bad)
		refuse_untitled(p, b.section, key->line);
	if (!block_open(p, &b, key->line))
		return;
	/* NULL, like everywhere: reported already. */
	if (b.section->title != NULL)
		*(char **)block_obj(p, &b) = has_title      ? parser_string(p, &title)
					     : titles.n > 0 ? titles.v[0]
							    : NULL;
	if (one) {
		struct conf_tok only = *key;

		only.text = slice_str(b.section->rows[0].name);
		assignment(p, &b, &only);
	} else {
		parse_block(p, &b);
	}
	repeat(p, &b, key->line, &titles);
}

/* Chooses b's section of handlers by its title. False: there is none (reported). */
static bool choose_handler(struct parser *p, struct block *b, const struct conf_tok *key)
{
	const char *title;

	if (refuse_unquoted(p, b->section))
		return false;
	if (p->tok.kind != CONF_TOK_STRING) {
		refuse_untitled(p, b->section, key->line);
		return false;
	}
	title = parser_string(p, &p->tok);
	parser_next(p);
	b->section = title != NULL ? conf_table_handler(slice_str(title)) : NULL;
	if (b->section == NULL && title != NULL)
		conf_unknown_handler(p, key, title);
	return b->section != NULL;
}

/* key is the name of a section, the current token follows it. */
static void section(struct parser *p, struct block *parent, const struct conf_tok *key)
{
	struct block b = { .parent = parent, .line = key->line, .depth = parent->depth + 1 };

	b.section = find_section(parent, key->text, &b.owner);
	if (b.section != &conf_sections[CONF_SECTION_HANDLER] || choose_handler(p, &b, key)) {
		section_of(p, parent, b, key);
		return;
	}
	p->faults->lost = true;
	while (p->tok.kind == CONF_TOK_WORD && p->tok.line == key->line)
		parser_next(p);
	/* Two after a list of titles. */
	while (conf_tok_is(&p->tok, '{'))
		parser_skip_block(p);
}

/* The current token is its first word. */
static void statement(struct parser *p, struct block *b)
{
	struct conf_tok key = p->tok;
	bool opens;

	parser_next(p);
	opens = p->tok.kind == CONF_TOK_STRING ? parser_ahead_is(p, '{')
					       : conf_tok_is(&p->tok, '{');
	if (conf_tok_is(&p->tok, '=')) {
		parser_next(p);
		assignment(p, b, &key);
	} else if (slice_eq(key.text, SLICE("include"))) {
		include(p, b, &key);
	} else if (conf_table_section(NULL, key.text) != NULL &&
		   (opens || conf_table_row(b->section, key.text) == NULL)) {
		section(p, b, &key);
	} else if (conf_table_row(b->section, key.text) != NULL) {
		parser_missing(p, &key, "=");
		if (opens && p->tok.kind == CONF_TOK_STRING)
			parser_next(p);
		if (opens)
			parser_skip_block(p);
		else
			parser_skip_line(p, key.line);
	} else if (opens) {
		conf_unknown_section(p, b->section, &key);
	} else {
		conf_unknown_key(p, b->section, &key);
		parser_skip_line(p, key.line);
	}
}

static void refuse_nested(struct parser *p, const struct block *b)
{
	char homes[128] = "";

	for (unsigned i = CONF_SECTION_GLOBAL + 1; b->nested.line != 0 && i < CONF_SECTIONS; i++)
		if (slice_eq(b->nested.text, slice_str(conf_sections[i].name)))
			snprintf(homes + strlen(homes), sizeof(homes) - strlen(homes), "%s%s",
				*homes != '\0' ? " or " : "",
				conf_unknown_place(conf_sections[i].parent));
	if (b->nested.line != 0)
		parser_fault(p, b->nested.line, "section %.*s cannot be inside %s: write it in %s",
			SLICE_ARG(b->nested.text), b->section->name, homes);
}

/* Parses up to the brace that closes b, or to the end of the file. */
static void parse_block(struct parser *p, struct block *b)
{
	while (!p->faults->oom) {
		struct conf_tok tok = p->tok;

		if (tok.kind == CONF_TOK_END) {
			if (!b->whole)
				parser_unclosed(p, b->line);
			else
				refuse_nested(p, b);
			return;
		}
		if (tok.kind == CONF_TOK_WORD) {
			statement(p, b);
			continue;
		}
		if (conf_tok_is(&tok, '}') && !b->whole) {
			parser_next(p);
			/* Reported only now: a missing brace would be the cause. */
			refuse_nested(p, b);
			return;
		}
		if (conf_tok_is(&tok, '{')) {
			parser_fault(p, tok.line, "\"{\" without a section name");
			p->faults->lost = true;
			parser_skip_block(p);
			continue;
		}
		if (conf_tok_is(&tok, '}')) {
			if (!p->torn)
				parser_fault(p, tok.line, "unmatched \"}\"");
			parser_next(p);
			continue;
		}
		parser_unexpected(p, tok.line, conf_tok_is(&tok, ';') ? "remove the \";\"" : NULL);
		parser_next(p);
		parser_skip_line(p, tok.line);
	}
}

/* One fault is enough: all others would be of the same kind. */
static bool refuse_foreign(struct parser *p, struct slice text)
{
	unsigned line;
	const char *server = conf_foreign_file(text, &line);

	if (server == NULL)
		return false;
	parser_fault(p, line,
		"this is a configuration of %s: h2d.conf uses key = value and section \"title\" { "
		"... } (h2d -T prints an example)",
		server);
	p->faults->lost = true;
	return true;
}

void conf_parse(struct conf *conf, const struct conf_source *source, struct slice text,
	struct conf_faults *faults)
{
	struct parser p = {
		.arena = &conf->arena, .conf = conf, .faults = faults, .source = source
	};
	/* Outer sections are found through its parent and owner, which stay. */
	struct block top =
		source->block != NULL
			? *source->block
			: (struct block){ .section = &conf_sections[CONF_SECTION_GLOBAL] };

	top.whole = true;
	top.nested = (struct conf_tok){ 0 };
	if (refuse_foreign(&p, text))
		return;
	conf_lex_init(&p.lex, text);
	parser_next(&p);
	parse_block(&p, &top);
}
