/*
 * conf_load: builds a configuration: defaults, file, command line, checks. The master calls it at
 * start and for every reload; no conf with a fault is ever taken into use.
 */
#include <stdlib.h>

#include "conf/conf.h"
#include "conf/conf_check.h"
#include "conf/conf_hosts.h"
#include "conf/conf_override.h"
#include "conf/conf_read.h"
#include "conf/conf_table.h"
#include "conf/conf_watched.h"

enum { CONF_MEMORY_MAX = 256 << 20 };

static void build(struct conf *conf, const struct conf_override *ov, struct conf_faults *faults)
{
	if (ov->file != NULL)
		conf->path = arena_strdup(&conf->arena, ov->file);
	if (!conf_table_defaults(&conf->arena, conf, &conf_sections[CONF_SECTION_GLOBAL]) ||
		(ov->file != NULL && conf->path == NULL)) {
		conf_fault_oom(faults, &conf_command_line);
		return;
	}
	if (conf->path != NULL)
		conf_read_file(conf, conf->path, faults);
	if (!faults->oom)
		conf_override(conf, ov, faults);
	if (!faults->oom)
		conf_hosts_expand(conf, faults);
	if (!faults->oom)
		conf_check(conf, faults);
	/* Before one is read: what comes meanwhile is seen the next time. */
	if (!faults->oom)
		conf->watched_seen = conf_watched_look(conf);
}

/* faulty_too: a conf with faults is mended instead of freed. */
static struct conf *load_conf(const struct conf_override *ov, size_t cap, bool faulty_too,
	conf_fault_fn *fault, void *ctx)
{
	struct conf_faults faults = { .fn = fault, .ctx = ctx };
	struct conf *conf = calloc(1, conf_table_handlers.size);

	if (conf == NULL) {
		conf_fault_oom(&faults, &conf_command_line);
		return NULL;
	}
	arena_init(&conf->arena, NULL, 0, cap);
	build(conf, ov, &faults);
	conf->faulty = faults.n > 0;
	if (conf->faulty &&
		(faults.oom || !faulty_too ||
			!conf_table_mend(&conf->arena, conf, &conf_sections[CONF_SECTION_GLOBAL])))
		conf_free(&conf);
	return conf;
}

struct conf *conf_load_capped(
	const struct conf_override *ov, size_t cap, conf_fault_fn *fault, void *ctx)
{
	return load_conf(ov, cap, false, fault, ctx);
}

struct conf *conf_load(const struct conf_override *ov, conf_fault_fn *fault, void *ctx)
{
	return load_conf(ov, CONF_MEMORY_MAX, false, fault, ctx);
}

struct conf *conf_load_faulty(const struct conf_override *ov, conf_fault_fn *fault, void *ctx)
{
	return load_conf(ov, CONF_MEMORY_MAX, true, fault, ctx);
}
