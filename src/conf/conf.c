/*
 * conf: builds a configuration (defaults, file, command line, checks) and frees it. The master
 * calls it at start and for every reload; a conf with a fault never leaves this file.
 */
#include "conf/conf.h"

#include <stdlib.h>

#include "conf/conf_check.h"
#include "conf/conf_override.h"
#include "conf/conf_read.h"
#include "conf/conf_table.h"

enum { CONF_MEMORY_MAX = 16 << 20 };

/* Everything on its default: the top level and the sections of which there is one. */
static bool set_defaults(struct conf *conf)
{
	for (unsigned i = 0; i < CONF_SECTIONS; i++)
		if (conf_sections[i].title == NULL &&
			conf_table_add(conf, &conf_sections[i]) == NULL)
			return false;
	return true;
}

static void build(struct conf *conf, const struct conf_override *ov, struct conf_faults *faults)
{
	if (ov->file != NULL)
		conf->path = arena_strdup(&conf->arena, ov->file);
	if (!set_defaults(conf) || (ov->file != NULL && conf->path == NULL)) {
		conf_fault_oom(faults, &conf_command_line);
		return;
	}
	if (conf->path != NULL)
		conf_read_file(conf, conf->path, faults);
	if (!faults->oom)
		conf_override(conf, ov, faults);
	if (!faults->oom)
		conf_check(conf, faults);
}

struct conf *conf_load_capped(
	const struct conf_override *ov, size_t cap, conf_fault_fn *fault, void *ctx)
{
	struct conf_faults faults = { .fn = fault, .ctx = ctx };
	struct conf *conf = calloc(1, sizeof(*conf));

	if (conf == NULL) {
		conf_fault_oom(&faults, &conf_command_line);
		return NULL;
	}
	arena_init(&conf->arena, NULL, 0, cap);
	build(conf, ov, &faults);
	if (faults.n > 0)
		conf_free(&conf);
	return conf;
}

struct conf *conf_load(const struct conf_override *ov, conf_fault_fn *fault, void *ctx)
{
	return conf_load_capped(ov, CONF_MEMORY_MAX, fault, ctx);
}

void conf_free(struct conf **conf)
{
	if (*conf == NULL)
		return;
	arena_reset(&(*conf)->arena);
	free(*conf);
	*conf = NULL;
}
