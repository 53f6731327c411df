/*
 * slice: a pointer and a length of bytes that another object owns; it need not end in NUL. The
 * header of a function that returns a slice states how long the bytes live.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct slice {
	const char *p;
	size_t n;
};

/* A string literal as a slice, usable in initializers too. */
#define SLICE_LIT(s) \
	{ \
		"" s, sizeof(s) - 1 \
	}
#define SLICE(s) ((struct slice){ "" s, sizeof(s) - 1 })

/* For printf's "%.*s". */
#define SLICE_ARG(s) (int)(s).n, (s).p

static inline struct slice slice_of(const void *p, size_t n)
{
	return (struct slice){ .p = p, .n = n };
}

static inline struct slice slice_str(const char *s)
{
	return (struct slice){ .p = s, .n = s != NULL ? strlen(s) : 0 };
}

static inline bool slice_eq(struct slice a, struct slice b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* ASCII case-insensitive, for names of headers and codings (RFC 9110, 5.1). */
static inline bool slice_ieq(struct slice a, struct slice b)
{
	return a.n == b.n && (a.n == 0 || strncasecmp(a.p, b.p, a.n) == 0);
}

static inline bool slice_starts(struct slice s, struct slice prefix)
{
	return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

/* Takes the first n bytes off *s. */
static inline void slice_skip(struct slice *s, size_t n)
{
	*s = slice_of(s->p + n, s->n - n);
}

/* Takes the bytes at the front that are in bytes off *s. */
static inline void slice_skip_any(struct slice *s, const char *bytes)
{
	while (s->n > 0 && *s->p != '\0' && strchr(bytes, *s->p) != NULL)
		slice_skip(s, 1);
}

/* Takes the text before the next stop, and the stop, off *rest. False: there is none, and *head is
 * all of it. */
static inline bool slice_cut(struct slice *rest, char stop, struct slice *head)
{
	const char *at = rest->n > 0 ? memchr(rest->p, stop, rest->n) : NULL;

	*head = at != NULL ? slice_of(rest->p, (size_t)(at - rest->p)) : *rest;
	if (rest->n > 0)
		slice_skip(rest, head->n + (at != NULL));
	return at != NULL;
}

/* The next word of *list, behind any separators; *list moves behind it. n 0: the end. */
static inline struct slice slice_next_word(const char **list, const char *separators)
{
	struct slice word;

	*list += strspn(*list, separators);
	word = slice_of(*list, strcspn(*list, separators));
	*list += word.n;
	return word;
}

static inline bool slice_ends(struct slice s, struct slice suffix)
{
	return s.n >= suffix.n &&
	       (suffix.n == 0 || memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0);
}
