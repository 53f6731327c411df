/*
 * conf_table: the rows of conf.def by section, and the structs of a conf by row. Called by all of
 * conf; independent of files and syntax.
 */
#include "conf/conf_table.h"

#include "base/log.h"
#include "conf/conf_value.h"

/* in: "", or the place of the members in the struct, "scope.". */
#define ROW(of, in, ...)   ANY_ROW(of, in, false, __VA_ARGS__)
#define SCOPE_ROW(of, ...) ANY_ROW(of, scope., true, __VA_ARGS__)
#define IS(of, other)      __builtin_types_compatible_p(struct of, struct other)
#define ANY_ROW(of, in, scoped_, name_, member_, type_, dflt_, min_, max_, choices_, ...) \
	{ \
		.name = name_, \
		.type = CONF_TYPE_##type_, \
		.scoped = scoped_, \
		.of_server = IS(of, conf_server) || IS(of, conf_server_tls), \
		.size = sizeof(CONF_C_##type_), \
		.member = offsetof(struct of, in member_), \
		.at = offsetof(struct of, in member_##_at), \
		.dflt = dflt_, \
		.min = min_, \
		.max = max_, \
		.choices = choices_, \
		.help = __VA_ARGS__, \
	},

static const struct conf_row global_rows[] = {
#define CONF_GLOBAL(...) ROW(conf, , __VA_ARGS__)
#define CONF_LOG(...)    ROW(conf, log., __VA_ARGS__)
#define CONF_FIELDS(...) SCOPE_ROW(conf, __VA_ARGS__)
#define CONF_SCOPE(...)  SCOPE_ROW(conf, __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row listen_rows[] = {
#define CONF_LISTEN(...) ROW(conf_listen, , __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row tls_rows[] = {
#define CONF_CERTIFICATE(...) ROW(conf_tls, pairs., __VA_ARGS__)
#define CONF_TLS(...)         ROW(conf_tls, , __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row cache_rows[] = {
#define CONF_CACHE(...) ROW(conf_cache, , __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row limits_rows[] = {
#define CONF_LIMITS(...) ROW(conf_limits, , __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row timeouts_rows[] = {
#define CONF_TIMEOUTS(...) ROW(conf_timeouts, , __VA_ARGS__)
#define CONF_HANDLING(...) ROW(conf_timeouts, , __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row listen_timeouts_rows[] = {
#define CONF_TIMEOUTS(...) ANY_ROW(conf_listen_timeouts, , true, __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row sandbox_rows[] = {
#define CONF_SANDBOX(...) ROW(conf_sandbox, , __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row server_rows[] = {
#define CONF_LOG(...)     ROW(conf_server, log., __VA_ARGS__)
#define CONF_SERVER(...)  ROW(conf_server, , __VA_ARGS__)
#define CONF_FIELDS(...)  SCOPE_ROW(conf_server, __VA_ARGS__)
#define CONF_SCOPE(...)   SCOPE_ROW(conf_server, __VA_ARGS__)
#define CONF_INNER(...)   SCOPE_ROW(conf_server, __VA_ARGS__)
#define CONF_LIMITED(...) SCOPE_ROW(conf_server, __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row server_limits_rows[] = {
#define CONF_LIMITED(...) SCOPE_ROW(conf_server, __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row server_tls_rows[] = {
#define CONF_CERTIFICATE(...) ROW(conf_server_tls, pairs., __VA_ARGS__)
#define CONF_CLIENT_CA(...)   ROW(conf_server_tls, , __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row error_page_rows[] = {
#define CONF_ERROR_PAGE(...) ROW(conf_error_page, , __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row files_rows[] = {
#define CONF_FIELDS(...) ROW(conf_files, , __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row location_rows[] = {
#define CONF_LOCATION(...) ROW(conf_location, , __VA_ARGS__)
#define CONF_FIELDS(...)   SCOPE_ROW(conf_location, __VA_ARGS__)
#define CONF_SCOPE(...)    SCOPE_ROW(conf_location, __VA_ARGS__)
#define CONF_INNER(...)    SCOPE_ROW(conf_location, __VA_ARGS__)
#define CONF_LIMITED(...)  SCOPE_ROW(conf_location, __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row location_limits_rows[] = {
#define CONF_LIMITED(...) SCOPE_ROW(conf_location, __VA_ARGS__)
#include "conf/conf.def"
};

#define TOP     &conf_sections[CONF_SECTION_GLOBAL]
#define SERVER  &conf_sections[CONF_SECTION_SERVER]
#define ROWS(r) .rows = r, .nrows = sizeof(r) / sizeof(r[0])
/* Member m of the owner, a struct of. */
#define SINGLE(owner, m, of) \
	.size = sizeof(struct of), .where = offsetof(struct owner, m), .at = offsetof(struct of, at)
#define ALIAS(owner) \
	.alias = true, .size = sizeof(struct owner), .at = offsetof(struct owner, limits_at)
#define TITLED(owner, m, of) \
	.size = sizeof(struct of), .where = offsetof(struct owner, m), \
	.count = offsetof(struct owner, n##m), .at = offsetof(struct of, at)

const struct conf_section conf_sections[CONF_SECTIONS] = {
	[CONF_SECTION_GLOBAL] = { .name = "",
		.help = "The top level of the file.",
		.size = sizeof(struct conf),
		ROWS(global_rows) },
	[CONF_SECTION_LISTEN] = { .name = "listen",
		.title = "address",
		.help = "Address to listen on: \":443\" (IPv4 and IPv6), \"192.0.2.1:443\", "
			"\"[2001:db8::1]:443\" or \"unix:/path\". Port 0: any free port.",
		.parent = TOP,
		.max = CONF_LISTENS_MAX,
		TITLED(conf, listens, conf_listen),
		ROWS(listen_rows) },
	[CONF_SECTION_TLS] = { .name = "tls",
		.help = "TLS settings of listeners with tls = true. Clients without a server "
			"name, or with a name whose server has no certificate, get this "
			"certificate.",
		.parent = TOP,
		SINGLE(conf, tls, conf_tls),
		ROWS(tls_rows) },
	[CONF_SECTION_CACHE] = { .name = "cache",
		.help = "The file cache, shared by all workers.",
		.parent = TOP,
		SINGLE(conf, cache, conf_cache),
		ROWS(cache_rows) },
	[CONF_SECTION_LIMITS] = { .name = "limits",
		.help = "Per-client limits.",
		.parent = TOP,
		SINGLE(conf, limits, conf_limits),
		ROWS(limits_rows) },
	[CONF_SECTION_TIMEOUTS] = { .name = "timeouts",
		.help = "Timeouts, in seconds or with a unit (10s, 5m).",
		.parent = TOP,
		SINGLE(conf, timeouts, conf_timeouts),
		ROWS(timeouts_rows) },
	[CONF_SECTION_LISTEN_TIMEOUTS] = { .name = "timeouts",
		.help = "Timeouts of the connections of this listener.",
		.parent = &conf_sections[CONF_SECTION_LISTEN],
		.like = &conf_sections[CONF_SECTION_TIMEOUTS],
		SINGLE(conf_listen, timeouts, conf_listen_timeouts),
		ROWS(listen_timeouts_rows) },
	[CONF_SECTION_SANDBOX] = { .name = "sandbox",
		.help = "Restrictions of workers and the keeper. A restriction that the kernel "
			"lacks causes a warning.",
		.parent = TOP,
		SINGLE(conf, sandbox, conf_sandbox),
		ROWS(sandbox_rows) },
	[CONF_SECTION_SERVER] = { .name = "server",
		.title = "name",
		.help = "A site with one or more names. \"_\" answers every name that no other "
			"server has; without \"_\", the first server does.",
		.parent = TOP,
		TITLED(conf, servers, conf_server),
		ROWS(server_rows) },
	[CONF_SECTION_SERVER_TLS] = { .name = "tls",
		.help = "Certificate for clients that request a name of this server, and rules "
			"for client certificates.",
		.parent = SERVER,
		SINGLE(conf_server, tls, conf_server_tls),
		ROWS(server_tls_rows) },
	[CONF_SECTION_ERROR_PAGE] = { .name = "error-page",
		.title = "status",
		.titles = true,
		.help = "File to send with this status, 400 to 599, or with several: "
			"error-page {\"500\", \"502\"} = \"/sorry.html\".",
		.parent = SERVER,
		TITLED(conf_server, error_pages, conf_error_page),
		ROWS(error_page_rows) },
	[CONF_SECTION_SERVER_FILES] = { .name = "files",
		.title = "pattern",
		.titles = true,
		.help = "Settings of files by name: \"*.woff2\", or {\"*.png\", \"*.jpg\"}. \"*\" "
			"matches any bytes; ASCII case is ignored. The first matching pattern "
			"applies, location patterns first.",
		.parent = SERVER,
		TITLED(conf_server, files, conf_files),
		ROWS(files_rows) },
	[CONF_SECTION_LOCATION] = { .name = "location",
		.title = "prefix",
		.help = "Settings of paths below a prefix. \"/a\" matches /a, /a.gz (.br, .zst) "
			"and paths below; \"/a/\" only paths below. The longest prefix applies.",
		.parent = SERVER,
		TITLED(conf_server, locations, conf_location),
		ROWS(location_rows) },
	[CONF_SECTION_SERVER_LIMITS] = { .name = "limits",
		.help = "Keys of the server that limit requests, written together.",
		.parent = SERVER,
		ALIAS(conf_server),
		ROWS(server_limits_rows) },
	[CONF_SECTION_LOCATION_LIMITS] = { .name = "limits",
		.help = "Keys of the location that limit requests, written together.",
		.parent = &conf_sections[CONF_SECTION_LOCATION],
		ALIAS(conf_location),
		ROWS(location_limits_rows) },
	[CONF_SECTION_LOCATION_FILES] = { .name = "files",
		.title = "pattern",
		.titles = true,
		.help = "Settings of files by name, only below this location.",
		.parent = &conf_sections[CONF_SECTION_LOCATION],
		TITLED(conf_location, files, conf_files),
		ROWS(files_rows) },
	[CONF_SECTION_LOCATION_ERROR_PAGE] = { .name = "error-page",
		.title = "status",
		.titles = true,
		.help = "File, below the root of the server, to send with this status, or "
			"several, only below this location.",
		.parent = &conf_sections[CONF_SECTION_LOCATION],
		TITLED(conf_location, error_pages, conf_error_page),
		ROWS(error_page_rows) },
	[CONF_SECTION_HANDLER] = { .name = "handler",
		.title = "name",
		.help = "Keys of the handlers in this build, from their conf.def; see "
			"TUTORIAL.md.",
		.parent = TOP },
};

/* The title is the first member of a struct that has one. */
_Static_assert(offsetof(struct conf_listen, address) == 0, "listen begins with its title");
_Static_assert(offsetof(struct conf_server, name) == 0, "server begins with its title");
_Static_assert(offsetof(struct conf_error_page, status) == 0, "error-page begins with its title");
_Static_assert(offsetof(struct conf_files, pattern) == 0, "files begins with its title");
_Static_assert(offsetof(struct conf_location, prefix) == 0, "location begins with its title");

/* Replaced in a program whose handlers have keys. */
__attribute__((weak))
const struct conf_handlers conf_table_handlers = { .size = sizeof(struct conf) };

const struct conf_section *conf_table_at(unsigned i)
{
	if (i < CONF_SECTIONS)
		return &conf_sections[i];
	i -= CONF_SECTIONS;
	return i < conf_table_handlers.n ? &conf_table_handlers.sections[i] : NULL;
}

const struct conf_section *conf_table_handler(struct slice handler)
{
	for (unsigned i = 0; i < conf_table_handlers.n; i++)
		if (slice_eq(slice_str(conf_table_handlers.sections[i].handler), handler))
			return &conf_table_handlers.sections[i];
	return NULL;
}

const struct conf_row *conf_table_row(const struct conf_section *section, struct slice name)
{
	for (unsigned i = 0; i < section->nrows; i++)
		if (slice_eq(slice_str(section->rows[i].name), name))
			return &section->rows[i];
	return NULL;
}

/* The key of that name of the outer section, whose value applies if row is not set; NULL: none. */
static const struct conf_row *outer_row(
	const struct conf_section *section, const struct conf_row *row)
{
	if (section->parent == NULL || section->handler != NULL)
		return NULL;
	return conf_table_row(conf_table_outer(section), slice_str(row->name));
}

const struct conf_section *conf_table_home(
	const struct conf_section *section, const struct conf_row *row)
{
	const struct conf_row *outer;

	if (row->scoped && section == TOP)
		return SERVER;
	while ((outer = outer_row(section, row)) != NULL && strcmp(outer->help, row->help) == 0 &&
		!(row->scoped && section == SERVER))
		section = conf_table_outer(section);
	return section;
}

/* The key of around whose value obj inherits: keys shared by a location and its server beside the
 * scope, like root, are each one's own. */
static const struct conf_row *inherited(
	const struct conf_row *row, const void *obj, const struct conf_section *around)
{
	bool shared = row->scoped || around->parent == NULL;
	bool adds_up =
		strcmp(row->name, "add-header") == 0 || strcmp(row->name, "remove-header") == 0;

	return shared && conf_member_pos(obj, row)->file == NULL && !adds_up
		       ? conf_table_row(around, slice_str(row->name))
		       : NULL;
}

void conf_table_inherit(void *obj, const struct conf_section *section, const void *outer,
	const struct conf_section *around)
{
	for (unsigned i = 0; i < section->nrows; i++) {
		const struct conf_row *row = &section->rows[i];
		const struct conf_row *from = inherited(row, obj, around);

		if (from == NULL || conf_member_pos(outer, from)->file == NULL)
			continue;
		memcpy(conf_member(obj, row), (const char *)outer + from->member, row->size);
		*conf_member_at(obj, row) = *conf_member_pos(outer, from);
		conf_member_at(obj, row)->outer++;
	}
}

bool conf_table_follows(
	const void *obj, const struct conf_section *section, const struct conf_row *row)
{
	const struct conf_pos *at = conf_member_pos(obj, row);

	if (at->file != NULL)
		return at->outer > 0;
	return outer_row(section, row) != NULL || (row->scoped && section != TOP);
}

const struct conf_section *conf_table_section(const struct conf_section *parent, struct slice name)
{
	for (unsigned i = CONF_SECTION_GLOBAL + 1; i < CONF_SECTIONS; i++) {
		const struct conf_section *s = &conf_sections[i];

		if ((parent == NULL || s->parent == parent) && slice_eq(slice_str(s->name), name))
			return s;
	}
	return NULL;
}

unsigned conf_table_count(const void *owner, const struct conf_section *section)
{
	if (section->title == NULL || section == &conf_sections[CONF_SECTION_HANDLER])
		return section->title == NULL;
	return *(const unsigned *)(const void *)((const char *)owner + section->count);
}

const void *conf_table_peek(const void *owner, const struct conf_section *section, unsigned i)
{
	const char *where = (const char *)owner + section->where;

	if (section->title == NULL)
		return where;
	return *(char *const *)(const void *)where + i * section->size;
}

void *conf_table_get(void *owner, const struct conf_section *section, unsigned i)
{
	return (void *)(uintptr_t)conf_table_peek(owner, section, i);
}

bool conf_table_defaults(struct arena *arena, void *obj, const struct conf_section *section)
{
	const struct conf_section *inner;

	for (unsigned i = 0; i < section->nrows; i++)
		if (!conf_value_default(arena, &section->rows[i], obj))
			return false;
	for (unsigned i = 0; (inner = conf_table_at(i)) != NULL; i++)
		if (inner->parent == section && inner->title == NULL && !inner->alias &&
			!conf_table_defaults(arena, conf_table_get(obj, inner, 0), inner))
			return false;
	return true;
}

void *conf_table_add(struct arena *arena, void *owner, const struct conf_section *section)
{
	unsigned *n = (unsigned *)(void *)((char *)owner + section->count);
	char **first = (char **)(void *)((char *)owner + section->where);
	char *v = arena_grow(arena, *first, *n, section->size);
	void *obj;

	if (v == NULL)
		return NULL;
	*first = v;
	obj = v + (*n)++ * section->size;
	*(char **)obj = conf_none;
	return conf_table_defaults(arena, obj, section) ? obj : NULL;
}

static bool is_refused(const struct conf_row *row, void *obj)
{
	switch (row->type) {
	case CONF_TYPE_STRING:
	case CONF_TYPE_PATH:
		return *(char **)conf_member(obj, row) == NULL;
	case CONF_TYPE_PATHS:
	case CONF_TYPE_LIST:
		return ((struct conf_list *)conf_member(obj, row))->v == NULL;
	default:
		return false;
	}
}

bool conf_table_mend(struct arena *arena, void *obj, const struct conf_section *section)
{
	const struct conf_section *inner;

	if (section->title != NULL && *(char **)obj == NULL)
		*(char **)obj = conf_none;
	for (unsigned i = 0; i < section->nrows; i++)
		if (is_refused(&section->rows[i], obj) &&
			!conf_value_default(arena, &section->rows[i], obj))
			return false;
	for (unsigned i = 0; (inner = conf_table_at(i)) != NULL; i++)
		for (unsigned j = 0; inner->parent == section && j < conf_table_count(obj, inner);
			j++)
			if (!conf_table_mend(arena, conf_table_get(obj, inner, j), inner))
				return false;
	return true;
}
