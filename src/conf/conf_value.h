/*
 * conf_value: one value, as written and as stored: types, ranges, choices, relative paths. Called
 * by the reader, by the overrides of the command line and by the dump; knows nothing of the
 * grammar.
 */
#ifndef H2D_CONF_CONF_VALUE_H
#define H2D_CONF_CONF_VALUE_H

#include <stdio.h>

#include "conf/conf_fault.h"
#include "conf/conf_table.h"

/* Stands for the host of a request, in root and other keys of a server: it is no variable of the
 * environment. */
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

/* "", for members that must not be NULL. Never written to. */
extern char conf_none[1];

/*
 * Stores v in obj's member of row and pos beside it. A value that does not fit is a fault; the
 * member of a string, path or list is then NULL, which says "reported already" to later checks.
 */
void conf_value_set(struct arena *arena, const struct conf_row *row, void *obj,
	const struct conf_value *v, const struct conf_pos *pos, struct conf_faults *faults);

/* As conf_value_set(), for text that stands alone, as on the command line: a string has no quotes.
 */
void conf_value_set_text(struct arena *arena, const struct conf_row *row, void *obj,
	const char *text, const struct conf_pos *pos, struct conf_faults *faults);

/* Stores the row's default, with no position. false when memory is out. */
bool conf_value_default(struct arena *arena, const struct conf_row *row, void *obj);

/* Appends to a list that lies in arena. false when memory is out. */
bool conf_value_append(struct arena *arena, struct conf_list *list, char *text);

/* Digits without leading zeros, at most max. NULL, or what is wrong. */
const char *conf_value_number(const char *text, uint64_t max, uint64_t *out);

/*
 * A relative path, made absolute: relative to the folder of pos's file, or to the working directory
 * where the command line set it. NULL when memory is out.
 */
char *conf_value_resolve(struct arena *arena, const struct conf_pos *pos, const char *path);

/* Describes the values that a row takes, for messages and the manual: "a number from 1 to 512, or
 * auto". */
void conf_value_describe(const struct conf_row *row, char *buf, size_t size);

/* As the file would say it. */
void conf_value_write(const struct conf_row *row, const void *obj, FILE *out);
void conf_value_write_string(const char *s, FILE *out);

#endif
