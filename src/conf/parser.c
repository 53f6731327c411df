/*
 * parser: tokens, values and recovery for conf_parse.c. Every loop consumes a token or ends, and
 * none recurses, so that no text can stall it. The lexer never reads beyond its end; the text need
 * not end in NUL. The content of an environment variable is not parsed again: it is only a value.
 */
#include "conf/parser.h"

#include <stdarg.h>
#include <stdlib.h>

/* --- tokens ----------------------------------------------------------------------------------- */

void conf_lex_init(struct conf_lex *lex, struct slice text)
{
	lex->p = text.p;
	lex->end = text.n > 0 ? text.p + text.n : text.p;
	lex->line = 1;
}

static bool lex_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static bool lex_is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

bool conf_lex_has_control(const char *s)
{
	while (*s != '\0' && !lex_is_control(*s))
		s++;
	return *s != '\0';
}

static bool is_punct(char c)
{
	return c != '\0' && strchr("{}()=,;", c) != NULL;
}

static bool is_line_end(const struct conf_lex *lex, const char *p)
{
	return *p == '\n' || (*p == '\r' && p + 1 < lex->end && p[1] == '\n');
}

static struct conf_tok token(
	enum conf_tok_kind kind, const char *from, const char *to, unsigned line)
{
	return (struct conf_tok){
		.kind = kind, .text = slice_of(from, (size_t)(to - from)), .line = line
	};
}

static struct conf_tok bad(const struct conf_lex *lex, const char *from, const char *why)
{
	struct conf_tok tok = token(CONF_TOK_BAD, from, lex->p, lex->line);

	tok.why = why;
	return tok;
}

/* lex->p is after the opening quote. A string ends in its line: a missing quote costs one line. */
static struct conf_tok string(struct conf_lex *lex)
{
	const char *from = lex->p, *why = NULL;
	struct conf_tok tok;

	for (; lex->p < lex->end && !is_line_end(lex, lex->p); lex->p++) {
		char c = *lex->p;

		if (c == '"') {
			tok = token(CONF_TOK_STRING, from, lex->p++, lex->line);
			return why == NULL ? tok : bad(lex, from, why);
		}
		if (c == '\\') {
			if (lex->p + 1 == lex->end || is_line_end(lex, lex->p + 1))
				continue;
			c = *++lex->p;
			if (c != '"' && c != '\\' && c != '$' && why == NULL)
				why = "unknown escape in a string: write a backslash as \\\\, a "
				      "quote as \\\", a \"$\" as \\$";
		}
		if (lex_is_control(c))
			why = "a control byte in a string";
	}
	tok = bad(lex, from, "this string has no closing quote");
	tok.torn = true;
	return tok;
}

/* True for quotes of word processors and web pages, in UTF-8. */
static bool has_typographic_quote(struct slice word)
{
	static const char *const quotes[] = { "\u201c", "\u201d", "\u201e", "\u2018", "\u2019",
		"\u201a", "\u00ab", "\u00bb" };

	for (unsigned i = 0; i < sizeof(quotes) / sizeof(quotes[0]); i++)
		if (memmem(word.p, word.n, quotes[i], strlen(quotes[i])) != NULL)
			return true;
	return false;
}

static struct conf_tok word(const struct conf_lex *lex, const char *from)
{
	struct conf_tok tok = token(CONF_TOK_WORD, from, lex->p, lex->line);

	if (*from == '\'')
		return bad(lex, from, "write strings in double quotes: \"...\"");
	if (has_typographic_quote(tok.text))
		return bad(lex, from,
			"typographic quotation marks: write strings in plain ones, \"...\"");
	return tok;
}

static bool in_word(const struct conf_lex *lex)
{
	return lex->p < lex->end && !lex_is_blank(*lex->p) && !lex_is_control(*lex->p) &&
	       !is_punct(*lex->p) && *lex->p != '"' && *lex->p != '#';
}

/* The length of ${NAME:default} at this place of a word, or 1: it ends in its line. */
static size_t variable(const struct conf_lex *lex)
{
	struct slice rest = slice_of(lex->p, (size_t)(lex->end - lex->p));
	const char *end;

	if (!slice_starts(rest, SLICE("${")))
		return 1;
	for (end = lex->p; end < lex->end && !lex_is_control(*end); end++)
		if (*end == '}')
			return (size_t)(end - lex->p) + 1;
	return 1;
}

struct conf_tok conf_lex_next(struct conf_lex *lex)
{
	bool comment = false;
	const char *from;

	for (; lex->p < lex->end; lex->p++) {
		char c = *lex->p;

		if (c == '\n') {
			lex->line++;
			comment = false;
		} else if (is_line_end(lex, lex->p) || lex_is_blank(c)) {
			continue;
		} else if (lex_is_control(c)) {
			/* A run of them is one mistake, and so is all of a comment. */
			for (from = lex->p++; lex->p < lex->end && !is_line_end(lex, lex->p);
				lex->p++)
				if (!comment && !lex_is_control(*lex->p))
					break;
			return bad(lex, from, "a control byte");
		} else if (c == '#') {
			comment = true;
		} else if (!comment) {
			break;
		}
	}
	from = lex->p;
	if (lex->p == lex->end)
		return token(CONF_TOK_END, from, from, lex->line);
	if (*from == '"') {
		lex->p++;
		return string(lex);
	}
	if (is_punct(*from))
		return token(CONF_TOK_PUNCT, from, ++lex->p, lex->line);
	while (in_word(lex))
		lex->p += variable(lex);
	return word(lex, from);
}

/* --- the current token ------------------------------------------------------------------------ */

void parser_next(struct parser *p)
{
	p->last = p->tok.line;
	p->tok = conf_lex_next(&p->lex);
}

struct conf_tok parser_ahead(const struct parser *p)
{
	struct conf_lex lex = p->lex;

	return conf_lex_next(&lex);
}

struct conf_pos parser_pos(const struct parser *p, unsigned line)
{
	return (struct conf_pos){ .file = p->source->name, .line = line };
}

void parser_fault(struct parser *p, unsigned line, const char *fmt, ...)
{
	const struct conf_pos pos = parser_pos(p, line);
	va_list ap;

	va_start(ap, fmt);
	conf_vfault(p->faults, &pos, fmt, ap);
	va_end(ap);
}

void parser_unexpected(struct parser *p, unsigned line, const char *message)
{
	const struct conf_tok *tok = &p->tok;

	p->faults->lost = true;
	if (tok->kind == CONF_TOK_BAD && (message == NULL || tok->line == line)) {
		parser_fault(p, tok->line, "%s", tok->why);
		p->torn |= tok->torn;
	} else if (message != NULL) {
		parser_fault(p, line, "%s", message);
	} else if (tok->kind == CONF_TOK_STRING) {
		parser_fault(p, tok->line, "unexpected string");
	} else {
		parser_fault(p, tok->line, "unexpected \"%.*s\"", PARSER_NAME(tok));
	}
}

void parser_missing(struct parser *p, const struct conf_tok *key, const char *what)
{
	char message[128];

	snprintf(message, sizeof(message), "missing \"%s\" after %.*s", what, PARSER_NAME(key));
	parser_unexpected(p, key->line, message);
}

void parser_unclosed(struct parser *p, unsigned line)
{
	if (!p->torn)
		parser_fault(p, line, "this \"{\" has no \"}\" before the file ends at line %u",
			p->lex.line);
	p->faults->lost = true;
}

void parser_skip_block(struct parser *p)
{
	unsigned depth = 0, line = p->tok.line;

	do {
		if (p->tok.kind == CONF_TOK_END) {
			parser_unclosed(p, line);
			return;
		}
		if (conf_tok_is(&p->tok, '{'))
			depth++;
		else if (conf_tok_is(&p->tok, '}'))
			depth--;
		p->torn |= p->tok.torn;
		parser_next(p);
	} while (depth > 0);
}

void parser_skip_line(struct parser *p, unsigned line)
{
	while (p->tok.kind != CONF_TOK_END && p->tok.line == line && !conf_tok_is(&p->tok, '}')) {
		if (conf_tok_is(&p->tok, '{')) {
			parser_skip_block(p);
			continue;
		}
		p->torn |= p->tok.torn;
		parser_next(p);
	}
}

/* --- variables of the environment ------------------------------------------------------------- */

#define WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

enum { NAME_SIZE = 128 };

/* A text is copied in two passes: its length, with to NULL, and its bytes. */
struct copy {
	struct slice rest;
	char *to;
	size_t n;
	const char *why; /* a fault, NULL: none */
	char name[NAME_SIZE];
};

static void env_put(struct copy *c, const char *p, size_t n)
{
	if (c->to != NULL)
		memcpy(c->to + c->n, p, n);
	c->n += n;
}

/* inner: the text between the braces. */
static void env_variable(struct copy *c, struct slice inner)
{
	const char *colon = memchr(inner.p, ':', inner.n), *value;
	size_t n = colon != NULL ? (size_t)(colon - inner.p) : inner.n;

	if (n == 0 || n >= NAME_SIZE) {
		c->why = "write a variable as ${NAME} or ${NAME:default}, \"${\" itself as \\${";
		return;
	}
	memcpy(c->name, inner.p, n);
	c->name[n] = '\0';
	value = getenv(c->name);
	if (strspn(c->name, WORD) != n)
		c->why = "is not a variable name: write \"${\" itself as \\${";
	else if (colon != NULL && (value == NULL || *value == '\0'))
		env_put(c, colon + 1, inner.n - n - 1);
	else if (value == NULL)
		c->why = "is not set in the environment: set it or write ${NAME:default}";
	else if (conf_lex_has_control(value))
		c->why = "contains a control byte";
	else
		env_put(c, value, strlen(value));
}

/* The rest begins with "${". */
static void env_dollar(struct copy *c)
{
	const char *end = memchr(c->rest.p, '}', c->rest.n);
	size_t n = end != NULL ? (size_t)(end - c->rest.p) + 1 : 0;

	c->name[0] = '\0';
	if (slice_starts(c->rest, SLICE(CONF_HOST)))
		env_put(c, c->rest.p, n);
	else if (end == NULL)
		c->why = "this \"${\" has no \"}\"";
	else
		env_variable(c, slice_of(c->rest.p + 2, n - 3));
	slice_skip(&c->rest, n);
}

static void env_go(struct copy *c, bool is_string)
{
	while (c->rest.n > 0 && c->why == NULL) {
		if (slice_starts(c->rest, SLICE("${"))) {
			env_dollar(c);
			continue;
		}
		if (is_string && c->rest.p[0] == '\\' && c->rest.n > 1)
			slice_skip(&c->rest, 1);
		env_put(c, c->rest.p, 1);
		slice_skip(&c->rest, 1);
	}
}

char *parser_string(struct parser *p, const struct conf_tok *tok)
{
	const struct conf_pos pos = parser_pos(p, tok->line);
	bool is_string = tok->kind == CONF_TOK_STRING;
	struct copy c = { .rest = tok->text };
	char *out;

	env_go(&c, is_string);
	if (c.why != NULL) {
		/* The text may have been a key, or a section, that would be missed. */
		p->faults->lost = true;
		conf_fault(p->faults, &pos, "%s%s%s%s", c.name[0] != '\0' ? "${" : "", c.name,
			c.name[0] != '\0' ? "} " : "", c.why);
		return NULL;
	}
	out = arena_alloc(p->arena, c.n + 1);
	if (out == NULL) {
		conf_fault_oom(p->faults, &pos);
		return NULL;
	}
	c = (struct copy){ .rest = tok->text, .to = out };
	env_go(&c, is_string);
	out[c.n] = '\0';
	return out;
}

/* --- values ----------------------------------------------------------------------------------- */

/* True if a statement begins here, which no list can contain. */
static bool at_statement(const struct parser *p)
{
	return p->tok.kind == CONF_TOK_WORD && (parser_ahead_is(p, '=') || parser_ahead_is(p, '{'));
}

/* After a fault in a list: skips to after its end, or its probable end. */
static void skip_list(struct parser *p)
{
	unsigned depth = 1;

	while (depth > 0 && p->tok.kind != CONF_TOK_END && !at_statement(p)) {
		if (conf_tok_is(&p->tok, '{'))
			depth++;
		else if (conf_tok_is(&p->tok, '}'))
			depth--;
		p->torn |= p->tok.torn;
		parser_next(p);
	}
}

static bool list(struct parser *p, const struct conf_tok *key, struct conf_value *v)
{
	char message[192];
	unsigned line = p->tok.line;
	bool comma = true; /* an item may follow */
	bool whole = true; /* each has its text */
	char *text;

	parser_next(p);
	while (!conf_tok_is(&p->tok, '}')) {
		if (p->tok.kind == CONF_TOK_END) {
			parser_unclosed(p, line);
			return false;
		}
		if (at_statement(p)) {
			p->faults->lost = true;
			parser_fault(p, line, "%.*s: the list has no \"}\"", PARSER_NAME(key));
			return false;
		}
		if (comma && p->tok.kind == CONF_TOK_STRING) {
			text = parser_string(p, &p->tok);
			if (text == NULL && p->faults->oom)
				return false;
			whole &= text != NULL;
			if (!conf_value_append(p->arena, &v->list, text)) {
				const struct conf_pos pos = parser_pos(p, line);

				conf_fault_oom(p->faults, &pos);
				return false;
			}
			comma = false;
		} else if (!comma && conf_tok_is(&p->tok, ',')) {
			comma = true;
		} else {
			snprintf(message, sizeof(message),
				"%.*s: write a list of strings with commas: {\"a\", \"b\"}",
				PARSER_NAME(key));
			parser_unexpected(p, p->tok.line, message);
			skip_list(p);
			return false;
		}
		parser_next(p);
	}
	parser_next(p);
	return whole;
}

/* "256 M", "10 s": takes the unit, so that it is not a statement of its own. */
static void refuse_unit(struct parser *p, const char *number)
{
	if (p->tok.kind != CONF_TOK_WORD || p->tok.line != p->last || p->tok.text.n > 3 ||
		memchr("kKmMgGshd", p->tok.text.p[0], 9) == NULL ||
		strspn(number, "0123456789") != strlen(number))
		return;
	parser_fault(p, p->tok.line, "remove the space: %s%.*s", number, PARSER_NAME(&p->tok));
	parser_next(p);
}

bool parser_value(struct parser *p, const struct conf_tok *key, struct conf_value *v)
{
	char message[128];

	*v = (struct conf_value){ .kind = CONF_VALUE_WORD };
	if (conf_tok_is(&p->tok, '{')) {
		v->kind = CONF_VALUE_LIST;
		return list(p, key, v);
	}
	if (p->tok.kind == CONF_TOK_STRING) {
		v->kind = CONF_VALUE_STRING;
		v->text = parser_string(p, &p->tok);
		parser_next(p);
		return v->text != NULL;
	}
	/* A word on the next line begins a statement. */
	if (p->tok.kind == CONF_TOK_WORD && p->tok.line == p->last) {
		v->text = parser_string(p, &p->tok);
		parser_next(p);
		if (v->text != NULL)
			refuse_unit(p, v->text);
		return v->text != NULL;
	}
	snprintf(message, sizeof(message), "%.*s has no value", PARSER_NAME(key));
	parser_unexpected(p, p->last, message);
	parser_skip_line(p, p->last);
	return false;
}
