/*
 * parser: the grammar of h2d.conf, and its basis: the current token, faults at lines of this file,
 * values, and recovery after a fault. Called by conf_load with the text of each file; stores its
 * results through conf_value and conf_table. After a fault it continues at the next statement, so
 * that one mistake is one message and every mistake has one.
 */
#pragma once

#include <sys/types.h>

#include "base/slice.h"
#include "conf/conf_fault.h"
#include "conf/conf_value.h"

/*
 * conf_lex: cuts the text of a configuration file into tokens. Pure: an invalid token has its
 * message, and the reader decides. Tokens borrow the text. A lexer may be copied to look ahead.
 */

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

/* True if s has a byte that no token can have. */
bool conf_lex_has_control(const char *s);

static inline bool conf_tok_is(const struct conf_tok *tok, char punct)
{
	return tok->kind == CONF_TOK_PUNCT && tok->text.p[0] == punct;
}

struct block; /* a section being read, conf_parse.c's */

/* A file being read, and the chain of files that include it. */
struct conf_source {
	const char *name; /* lives as long as the conf: positions point to it */
	const struct conf_source *from;
	dev_t dev;
	ino_t ino;
	unsigned depth;
	const struct block *block; /* around the include; NULL: the top level */
	/* include("pattern") at pos in source, inside block. */
	void (*include)(struct conf *conf, const struct conf_source *source,
		const struct block *block, const struct conf_pos *pos, const char *pattern,
		struct conf_faults *faults);
};

struct parser {
	struct arena *arena; /* the conf's */
	struct conf *conf;
	struct conf_faults *faults;
	const struct conf_source *source;
	struct conf_lex lex;
	struct conf_tok tok; /* the current one, not yet consumed */
	unsigned last;       /* line of the one before */
	bool torn;           /* an unterminated string may have eaten braces: they do not count */
};

/* For "%.*s": a name of the file, of any length. */
#define PARSER_NAME(tok) (int)((tok)->text.n < 64 ? (tok)->text.n : 64), (tok)->text.p

void parser_next(struct parser *p);

/* The token after the current one. */
struct conf_tok parser_ahead(const struct parser *p);
static inline bool parser_ahead_is(const struct parser *p, char punct)
{
	struct conf_tok ahead = parser_ahead(p);

	return conf_tok_is(&ahead, punct);
}

struct conf_pos parser_pos(const struct parser *p, unsigned line);

void parser_fault(struct parser *p, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

/*
 * Reports the current token as unexpected: message at line, or if NULL a general one at the token;
 * an invalid token has its own message. Does not consume it.
 */
void parser_unexpected(struct parser *p, unsigned line, const char *message);

/* Reports that what is missing after key. */
void parser_missing(struct parser *p, const struct conf_tok *key, const char *what);

/* "The brace of this line has no end", unless that has a known cause. */
void parser_unclosed(struct parser *p, unsigned line);

/* Skips the rest of line, with whole blocks that begin in it, but no closing brace. */
void parser_skip_line(struct parser *p, unsigned line);

/* The current token is "{": skips to after its "}". */
void parser_skip_block(struct parser *p);

/*
 * The text of a STRING or WORD in the arena, without its escapes; environment variables are
 * replaced: ${NAME}, and ${NAME:default} if it is unset or empty. NULL after a fault.
 */
char *parser_string(struct parser *p, const struct conf_tok *tok);

/* The value of key, whose "=" is consumed. false: none worth storing (reported). */
bool parser_value(struct parser *p, const struct conf_tok *key, struct conf_value *v);

/* --- the grammar (conf_parse.c) --------------------------------------------------------------- */

enum { CONF_FILE_MAX = 1 << 20 }; /* bytes of one file */

void conf_parse(struct conf *conf, const struct conf_source *source, struct slice text,
	struct conf_faults *faults);

/* --- words that are not known (conf_unknown.c) ------------------------------------------------ */

/* A section's name in messages. */
const char *conf_unknown_place(const struct conf_section *section);

/* Reports a key that section does not have. */
void conf_unknown_key(
	struct parser *p, const struct conf_section *section, const struct conf_tok *key);

/* "KEY WHAT: section \"title\" { ... }", as section is written. */
void conf_unknown_form(struct parser *p, const struct conf_tok *key, const char *what,
	const struct conf_section *section);

/* Reports a section of unknown name; section is the outer one. Skips its block. */
void conf_unknown_section(
	struct parser *p, const struct conf_section *section, const struct conf_tok *key);

/* Reports a handler without keys. */
void conf_unknown_handler(struct parser *p, const struct conf_tok *key, const char *title);
