/*
 * key_value: the value of a handler's own key, out of the section handler "NAME" of the
 * configuration. Conf answers with it, and the request core gives it to the handler.
 */
#ifndef H2D_BASE_KEY_VALUE_H
#define H2D_BASE_KEY_VALUE_H

#include <stdbool.h>
#include <stdint.h>

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
