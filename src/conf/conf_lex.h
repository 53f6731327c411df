/*
 * conf_lex: cuts the text of a configuration file into tokens. Pure: an invalid token has its
 * message, and the reader decides. Tokens borrow the text. A lexer may be copied to look ahead.
 */
#pragma once

#include "base/slice.h"

enum conf_tok_kind {
	CONF_TOK_END,    /* of the text, again and again */
	CONF_TOK_WORD,   /* bare: name, number, choice */
	CONF_TOK_STRING, /* text between the quotes, with its escapes */
	CONF_TOK_PUNCT,  /* text is one of { } ( ) = , ; */
	CONF_TOK_BAD,    /* why has the fault; reading can continue after it */
};

struct conf_tok {
	enum conf_tok_kind kind;
	struct slice text;
	unsigned line; /* where it begins */
	const char *why;
	bool torn; /* BAD: an unterminated string, which may have eaten braces */
};

struct conf_lex {
	const char *p, *end;
	unsigned line;
};

void conf_lex_init(struct conf_lex *lex, struct slice text);
struct conf_tok conf_lex_next(struct conf_lex *lex);

/* Writes text (of a STRING) with its escapes resolved and a NUL; out has text.n + 1 bytes. */
void conf_lex_unescape(struct slice text, char *out);

/* True if s has a byte that no token can have. */
bool conf_lex_has_control(const char *s);

static inline bool conf_tok_is(const struct conf_tok *tok, char punct)
{
	return tok->kind == CONF_TOK_PUNCT && tok->text.p[0] == punct;
}
