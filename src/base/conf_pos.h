/*
 * conf_pos: a place in the configuration, of a value or of a setting that decides about requests.
 * The configuration owns the name of the file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The origin of a value: a file and line, the command line ("command line", line 0), or (file NULL)
 * the default. A fault about a whole file has line 0 , and is written without ":LINE".
 */
struct conf_pos {
	const char *file;
	unsigned line;
	unsigned outer; /* sections between the value's own and the one that sets it */
};

/*
 * key_value: the value of a handler's own key, from the section handler "NAME" of the
 * configuration. Conf returns it, and the request core gives it to the handler.
 */

enum key_kind {
	KEY_NONE, /* no such key in a section of that name */
	KEY_STRING,
	KEY_NUMBER, /* also for a CHOICE: its index */
	KEY_BOOL,
	KEY_LIST,
};

/* A value; the configuration owns strings and items. */
struct key_value {
	enum key_kind kind;
	union {
		const char *string;
		uint64_t number;
		bool truth;
		char *const *items;
	};
	unsigned n; /* number of items */
};

struct conf;
typedef struct key_value key_value_fn(
	const struct conf *conf, const char *section, const char *key);
