/*
 * param: walks parameters. Called per upload, for the content-type of its request and for the
 * fields of its parts; a quoted-pair is skipped here and undone by who knows what it means there.
 */
#include "http/param.h"

#include "http/field.h"

static void param_cut(struct slice *s, size_t n)
{
	s->p += n;
	s->n -= n;
}

static void skip_blanks(struct slice *s)
{
	while (s->n > 0 && (s->p[0] == ' ' || s->p[0] == '\t'))
		param_cut(s, 1);
}

static struct slice cut_token(struct slice *s)
{
	size_t n = 0;
	struct slice token;

	while (n < s->n && field_is_tchar((unsigned char)s->p[n]))
		n++;
	token = slice_of(s->p, n);
	param_cut(s, n);
	return token;
}

/* *s begins with a quotation mark. False: there is no second one. */
static bool cut_quoted(struct slice *s, struct slice *inside)
{
	for (size_t i = 1; i < s->n; i++) {
		if (s->p[i] == '\\') {
			i++;
		} else if (s->p[i] == '"') {
			*inside = slice_of(s->p + 1, i - 1);
			param_cut(s, i + 1);
			return true;
		}
	}
	return false;
}

static bool cut_value(struct slice *s, struct param *p)
{
	p->quoted = s->n > 0 && s->p[0] == '"';
	if (p->quoted)
		return cut_quoted(s, &p->value);
	p->value = cut_token(s);
	return p->value.n > 0;
}

enum param_result param_next(struct slice *rest, struct param *p)
{
	bool semicolon = false;

	for (;;) {
		skip_blanks(rest);
		if (rest->n == 0)
			return PARAM_NONE;
		if (rest->p[0] != ';')
			break;
		semicolon = true;
		param_cut(rest, 1);
	}
	p->name = cut_token(rest);
	if (!semicolon || p->name.n == 0 || rest->n == 0 || rest->p[0] != '=')
		return PARAM_BAD;
	param_cut(rest, 1);
	return cut_value(rest, p) ? PARAM_FOUND : PARAM_BAD;
}
