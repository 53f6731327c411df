/*
 * conf_lex: the tokens of h2d.conf. Called by the reader and by conf_value (list defaults). Never
 * allocates, never reports, never reads beyond lex->end; the text need not end in NUL.
 */
#include "conf/conf_lex.h"

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

void conf_lex_unescape(struct slice text, char *out)
{
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\\' && i + 1 < text.n)
			i++;
		*out++ = text.p[i];
	}
	*out = '\0';
}
