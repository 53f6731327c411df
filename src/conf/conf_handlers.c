/*
 * conf_handlers: values and paths in the sections of handlers, and the checks of paths. Called by
 * conf, by the sandbox, and through struct http_env by handlers; independent of any handler.
 */
#include "conf/conf_handlers.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "conf/conf_path.h"

enum { PATH_BYTES = 4096 };

/* --- values ----------------------------------------------------------------------------------- */

static struct key_value value_of(const struct conf_row *row, const void *obj)
{
	const void *member = (const char *)obj + row->member;
	const struct conf_list *list = member;

	switch (row->type) {
	case CONF_TYPE_STRING:
	case CONF_TYPE_PATH:
		return (struct key_value){ KEY_STRING, .string = *(char *const *)member };
	case CONF_TYPE_BOOL:
		return (struct key_value){ KEY_BOOL, .truth = *(const bool *)member };
	case CONF_TYPE_CHOICE:
		return (struct key_value){ KEY_NUMBER, .number = (unsigned)*(const int *)member };
	case CONF_TYPE_MODE:
		return (struct key_value){ KEY_NUMBER, .number = *(const unsigned *)member };
	case CONF_TYPE_PATHS:
	case CONF_TYPE_LIST:
		return (struct key_value){ KEY_LIST, .items = list->v, .n = list->n };
	default:
		return (struct key_value){ KEY_NUMBER, .number = *(const uint64_t *)member };
	}
}

struct key_value conf_handlers_value(const struct conf *conf, const char *section, const char *key)
{
	const struct conf_section *s = conf_table_handler(slice_str(section));
	const struct conf_row *row = s != NULL ? conf_table_row(s, slice_str(key)) : NULL;

	return row != NULL ? value_of(row, conf_table_peek(conf, s, 0))
			   : (struct key_value){ .kind = KEY_NONE };
}

/* --- paths ------------------------------------------------------------------------------------ */

void conf_handlers_paths(const struct conf *conf, conf_handlers_path_fn *fn, void *ctx)
{
	const struct conf_section *s = conf_table_handlers.sections;

	for (; s != conf_table_handlers.sections + conf_table_handlers.n; s++) {
		const void *obj = conf_table_peek(conf, s, 0);

		for (const struct conf_row *row = s->rows; row != s->rows + s->nrows; row++) {
			const char *path = value_of(row, obj).string;

			/* NULL was refused already. */
			if (row->access != CONF_ACCESS_NONE && path != NULL && *path != '\0')
				fn(ctx, row, path, conf_member_pos(obj, row));
		}
	}
}

bool conf_handlers_folder(const char *path, char *buf, size_t size)
{
	const char *slash = strrchr(path, '/');
	size_t n = strlen(path);
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		n = slash > path ? (size_t)(slash - path) : 1;
	if (n >= size)
		return false;
	memcpy(buf, path, n);
	buf[n] = '\0';
	return true;
}

/* --- checks ----------------------------------------------------------------------------------- */

struct check {
	struct conf *conf;
	struct conf_faults *faults;
};

static void check_written(
	struct check *c, const struct conf_row *row, const char *path, const struct conf_pos *at)
{
	unsigned before = c->faults->n;
	char folder[PATH_BYTES], real[PATH_BYTES];
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		conf_path_folder(c->conf, row->name, path, at, c->faults);
	if (c->faults->n > before || !conf_handlers_folder(path, folder, sizeof(folder)) ||
		realpath(folder, real) == NULL)
		return;
	/* Unless the operator has declared the directory itself writable for workers. */
	if (conf_path_is_wide(real) && strcmp(path, folder) != 0 &&
		!conf_list_has(&c->conf->sandbox.write, folder))
		conf_fault(c->faults, at,
			"%s \"%s\": workers could write to all of \"%s\": choose a directory below "
			"it, or add \"%s\" to write in section sandbox",
			row->name, path, folder, folder);
}

static void handler_check(
	void *ctx, const struct conf_row *row, const char *path, const struct conf_pos *at)
{
	struct check *c = ctx;
	struct stat st;

	if (row->access == CONF_ACCESS_WRITE)
		check_written(c, row, path, at);
	else
		conf_path_look(row->name, path, &st, at, c->faults);
}

void conf_handlers_check(struct conf *conf, struct conf_faults *faults)
{
	struct check c = { conf, faults };

	conf_handlers_paths(conf, handler_check, &c);
}
