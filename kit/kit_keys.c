/*
 * kit_keys: the keys of handlers under test: the defaults of their conf.def, unless the test sets
 * others. Called by tests and by kit.c.
 */
#include <stdlib.h>

#include "base/assert.h"
#include "conf/conf_handlers.h"
#include "conf/conf_value.h"
#include "kit/kit.h"

enum { MEMORY = 1 << 20 };

static struct conf *keys;

const struct conf *kit_keys(void)
{
	if (keys != NULL)
		return keys;
	keys = calloc(1, conf_table_handlers.size);
	H2D_ASSERT(keys != NULL);
	arena_init(&keys->arena, NULL, 0, MEMORY);
	for (unsigned i = 0; i < conf_table_handlers.n; i++) {
		const struct conf_section *s = &conf_table_handlers.sections[i];
		bool made = conf_table_defaults(&keys->arena, conf_table_get(keys, s, 0), s);

		H2D_ASSERT(made);
	}
	return keys;
}

void kit_keys_free(void)
{
	conf_free(&keys);
}

static void kit_keys_refuse(void *ctx, const struct conf_pos *pos, const char *message)
{
	(void)pos;
	fprintf(stderr, "h2d_test_key(\"%s\"): %s\n", (const char *)ctx, message);
}

void h2d_test_key(const char *handler, const char *key, const char *value)
{
	const struct conf_section *s = conf_table_handler(slice_str(handler));
	const struct conf_row *row = s != NULL ? conf_table_row(s, slice_str(key)) : NULL;
	struct conf_faults faults = { .fn = kit_keys_refuse, .ctx = (void *)(uintptr_t)key };

	H2D_ASSERT(row != NULL);
	kit_keys();
	conf_value_set_text(
		&keys->arena, row, conf_table_get(keys, s, 0), value, &conf_command_line, &faults);
	H2D_ASSERT(faults.n == 0);
}
