/*
 * parser: tokens, values and recovery for conf_parse.c. Every loop in here consumes a token or
 * ends, and none recurses, so that no text can hold it up.
 */
#include "conf/parser.h"

#include <stdarg.h>

#include "conf/conf_env.h"

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
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	conf_fault(p->faults, &pos, "%s", text);
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
		parser_fault(p, tok->line, "a string does not belong here");
	} else {
		parser_fault(p, tok->line, "\"%.*s\" does not belong here", PARSER_NAME(tok));
	}
}

void parser_missing(struct parser *p, const struct conf_tok *key, const char *what)
{
	char message[128];

	snprintf(
		message, sizeof(message), "there is no \"%s\" behind %.*s", what, PARSER_NAME(key));
	parser_unexpected(p, key->line, message);
}

void parser_unclosed(struct parser *p, unsigned line)
{
	if (!p->torn)
		parser_fault(p, line,
			"the \"{\" of this line has no \"}\": the file ends at line %u",
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

char *parser_string(struct parser *p, const struct conf_tok *tok)
{
	const struct conf_pos pos = parser_pos(p, tok->line);

	return conf_env_expand(
		&p->conf->arena, tok->text, tok->kind == CONF_TOK_STRING, &pos, p->faults);
}

/* Whether a statement begins here, which no list can hold. */
static bool at_statement(const struct parser *p)
{
	struct conf_tok ahead;

	if (p->tok.kind != CONF_TOK_WORD)
		return false;
	ahead = parser_ahead(p);
	return conf_tok_is(&ahead, '=') || conf_tok_is(&ahead, '{');
}

/* Behind a fault in a list: to behind its end, or to where it must have been meant to end. */
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
			parser_fault(p, line, "%.*s: the list of this line has no \"}\"",
				PARSER_NAME(key));
			return false;
		}
		if (comma && p->tok.kind == CONF_TOK_STRING) {
			text = parser_string(p, &p->tok);
			if (text == NULL && p->faults->oom)
				return false;
			whole &= text != NULL;
			if (!conf_value_append(&p->conf->arena, &v->list, text)) {
				const struct conf_pos pos = parser_pos(p, line);

				conf_fault_oom(p->faults, &pos);
				return false;
			}
			comma = false;
		} else if (!comma && conf_tok_is(&p->tok, ',')) {
			comma = true;
		} else {
			snprintf(message, sizeof(message),
				"%.*s: a list holds strings in double quotes, with commas between",
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

/* "256 M", "10 s": the unit is taken, so that it is not a statement of its own. */
static void refuse_unit(struct parser *p, const char *number)
{
	if (p->tok.kind != CONF_TOK_WORD || p->tok.line != p->last || p->tok.text.n > 3 ||
		memchr("kKmMgGshd", p->tok.text.p[0], 9) == NULL ||
		strspn(number, "0123456789") != strlen(number))
		return;
	parser_fault(p, p->tok.line, "there is no space in a size or a time: %s%.*s", number,
		PARSER_NAME(&p->tok));
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
	/* A word of the next line begins a statement. */
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
