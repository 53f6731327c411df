/*
 * conf_pos: a place in the configuration. Conf keeps one for each value it reads; sites keep those
 * of the settings that decide about requests, so that a decision can be told with its line
 * (request/trace.h). It owns nothing: the name of the file is the configuration's.
 */
#ifndef H2D_BASE_CONF_POS_H
#define H2D_BASE_CONF_POS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Where a value came from: a file and line, the command line ("command line", line 0), or (file
 * NULL) the default. A fault about a whole file has line 0 too: then ":LINE" is not written.
 */
struct conf_pos {
	const char *file;
	unsigned line;
	unsigned outer; /* sections between the one that has the value and the one that says it */
};

/*
 * key_value: the value of a handler's own key, out of the section handler "NAME" of the
 * configuration. Conf answers with it, and the request core gives it to the handler.
 */

enum key_kind {
	KEY_NONE, /* no section of that name has such a key */
	KEY_STRING,
	KEY_NUMBER, /* also of a CHOICE: which of the choices it is */
	KEY_BOOL,
	KEY_LIST,
};

/* A value; strings and items are the configuration's. */
struct key_value {
	enum key_kind kind;
	union {
		const char *string;
		uint64_t number;
		bool truth;
		char *const *items;
	};
	unsigned n; /* of items */
};

struct conf;
typedef struct key_value key_value_fn(
	const struct conf *conf, const char *section, const char *key);

#endif
