/*
 * conf_value: one value, as written and as stored: types, ranges, choices, relative paths. Called
 * by the reader, by the overrides of the command line and by the dump; independent of the grammar.
 */
#pragma once

#include <stdio.h>

#include "conf/conf_fault.h"
#include "conf/conf_table.h"

/* The host of a request, in root and other keys of a server: not a variable of the environment. */
#define CONF_HOST "${host}"

enum conf_value_kind {
	CONF_VALUE_WORD,
	CONF_VALUE_STRING,
	CONF_VALUE_LIST,
};

struct conf_value {
	enum conf_value_kind kind;
	char *text;            /* of WORD and STRING */
	struct conf_list list; /* of strings */
};

/* "", for members that must not be NULL. Read-only. */
extern char conf_none[1];

/*
 * Stores v in obj's member of row and pos beside it. An invalid value is a fault; the member of a
 * string, path or list is then NULL, which means "reported already" to later checks.
 */
void conf_value_set(struct arena *arena, const struct conf_row *row, void *obj,
	const struct conf_value *v, const struct conf_pos *pos, struct conf_faults *faults);

/* conf_value_set() for single text, for example of the command line: a string has no quotes. */
void conf_value_set_text(struct arena *arena, const struct conf_row *row, void *obj,
	const char *text, const struct conf_pos *pos, struct conf_faults *faults);

/* Stores the row's default, with no position. false when memory is out. */
bool conf_value_default(struct arena *arena, const struct conf_row *row, void *obj);

/* Appends to a list in arena. false when memory is out. */
static inline bool conf_value_append(struct arena *arena, struct conf_list *list, char *text)
{
	char **v = arena_grow(arena, list->v, list->n, sizeof(*v));

	if (v == NULL)
		return false;
	list->v = v;
	v[list->n++] = text;
	return true;
}

/* Digits without leading zeros, at most max. NULL, or the fault. */
const char *conf_value_number(const char *text, uint64_t max, uint64_t *out);

/*
 * A relative path, made absolute: relative to the directory of pos's file, or to the working
 * directory if the command line set it. NULL when memory is out.
 */
char *conf_value_resolve(struct arena *arena, const struct conf_pos *pos, const char *path);

/* Describes the values that a row takes, for messages and the manual: "a number from 1 to 512, or
 * auto". */
void conf_value_describe(const struct conf_row *row, char *buf, size_t size);

/* In the syntax of the file. */
void conf_value_write(const struct conf_row *row, const void *obj, FILE *out);
void conf_value_write_string(const char *s, FILE *out);
