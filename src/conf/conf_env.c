/*
 * conf_env: a text is gone through twice, for its length and for its bytes. Called by parser.c for
 * each string and word; what a variable holds is not looked at again, so that it cannot be more
 * than a value.
 */
#include "conf/conf_env.h"

#include <stdlib.h>

#define WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

enum { NAME_SIZE = 128 };

/* Text that goes on, and where it goes to; to NULL: it is counted. */
struct copy {
	struct slice rest;
	char *to;
	size_t n;
	const char *why; /* a fault, NULL for none */
	char name[NAME_SIZE];
};

static void env_put(struct copy *c, const char *p, size_t n)
{
	if (c->to != NULL)
		memcpy(c->to + c->n, p, n);
	c->n += n;
}

static void skip(struct copy *c, size_t n)
{
	c->rest = slice_of(c->rest.p + n, c->rest.n - n);
}

static bool has_control(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

/* inner: what stands between the braces. */
static void variable(struct copy *c, struct slice inner)
{
	const char *colon = memchr(inner.p, ':', inner.n), *value;
	size_t n = colon != NULL ? (size_t)(colon - inner.p) : inner.n;

	if (n == 0 || n >= NAME_SIZE) {
		c->why = "a variable is written ${NAME} or ${NAME:default}, a \"${\" itself \\${";
		return;
	}
	memcpy(c->name, inner.p, n);
	c->name[n] = '\0';
	value = getenv(c->name);
	if (strspn(c->name, WORD) != n)
		c->why = "is no name of a variable; a \"${\" itself is written \\${";
	else if (colon != NULL && (value == NULL || *value == '\0'))
		env_put(c, colon + 1, inner.n - n - 1);
	else if (value == NULL)
		c->why = "is not set in the environment; ${NAME:default} would have a default";
	else if (has_control(value))
		c->why = "holds a control byte";
	else
		env_put(c, value, strlen(value));
}

/* The rest begins with "${". */
static void dollar(struct copy *c)
{
	const char *end = memchr(c->rest.p, '}', c->rest.n);
	size_t n = end != NULL ? (size_t)(end - c->rest.p) + 1 : 0;

	c->name[0] = '\0';
	if (slice_starts(c->rest, SLICE(CONF_ENV_HOST)))
		env_put(c, c->rest.p, n);
	else if (end == NULL)
		c->why = "this \"${\" has no \"}\"";
	else
		variable(c, slice_of(c->rest.p + 2, n - 3));
	skip(c, n);
}

static void env_go(struct copy *c, bool is_string)
{
	while (c->rest.n > 0 && c->why == NULL) {
		if (slice_starts(c->rest, SLICE("${"))) {
			dollar(c);
			continue;
		}
		if (is_string && c->rest.p[0] == '\\' && c->rest.n > 1)
			skip(c, 1);
		env_put(c, c->rest.p, 1);
		skip(c, 1);
	}
}

char *conf_env_expand(struct arena *arena, struct slice text, bool is_string,
	const struct conf_pos *pos, struct conf_faults *faults)
{
	struct copy c = { .rest = text };
	char *out;

	env_go(&c, is_string);
	if (c.why != NULL) {
		/* It may have been a key, or a section, that would be missed. */
		faults->lost = true;
		conf_fault(faults, pos, "%s%s%s%s", c.name[0] != '\0' ? "${" : "", c.name,
			c.name[0] != '\0' ? "} " : "", c.why);
		return NULL;
	}
	out = arena_alloc(arena, c.n + 1);
	if (out == NULL) {
		conf_fault_oom(faults, pos);
		return NULL;
	}
	c = (struct copy){ .rest = text, .to = out };
	env_go(&c, is_string);
	out[c.n] = '\0';
	return out;
}
