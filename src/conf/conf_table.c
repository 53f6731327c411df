/*
 * conf_table: the rows of conf.def by section, and the structs of a conf by row. Called by all of
 * conf; knows nothing of files or syntax.
 */
#include "conf/conf_table.h"

#include "base/assert.h"
#include "conf/conf_value.h"

#define ROW(of, name_, member_, type_, dflt_, min_, max_, choices_, help_)                         \
	{                                                                                          \
		.name = name_,                                                                     \
		.type = CONF_TYPE_##type_,                                                         \
		.member = offsetof(struct of, member_),                                            \
		.at = offsetof(struct of, member_##_at),                                           \
		.dflt = dflt_,                                                                     \
		.min = min_,                                                                       \
		.max = max_,                                                                       \
		.choices = choices_,                                                               \
		.help = help_,                                                                     \
	},

static const struct conf_row global_rows[] = {
#define CONF_GLOBAL(...) ROW(conf, __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row listen_rows[] = {
#define CONF_LISTEN(...) ROW(conf_listen, __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row tls_rows[] = {
#define CONF_TLS(...) ROW(conf_tls, __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row cache_rows[] = {
#define CONF_CACHE(...) ROW(conf_cache, __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row limits_rows[] = {
#define CONF_LIMITS(...) ROW(conf_limits, __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row timeouts_rows[] = {
#define CONF_TIMEOUTS(...) ROW(conf_timeouts, __VA_ARGS__)
#include "conf/conf.def"
};

static const struct conf_row server_rows[] = {
#define CONF_SERVER(...) ROW(conf_server, __VA_ARGS__)
#include "conf/conf.def"
};

#define ROWS(r) .rows = r, .nrows = sizeof(r) / sizeof(r[0])
#define SINGLE(member_)                                                                            \
	.name = #member_, .size = sizeof(struct conf_##member_),                                   \
	.where = offsetof(struct conf, member_), .at = offsetof(struct conf_##member_, at),        \
	ROWS(member_##_rows)
#define TITLED(member_)                                                                            \
	.name = #member_, .size = sizeof(struct conf_##member_),                                   \
	.where = offsetof(struct conf, member_##s), .count = offsetof(struct conf, n##member_##s), \
	.at = offsetof(struct conf_##member_, at), ROWS(member_##_rows)

const struct conf_section conf_sections[CONF_SECTIONS] = {
	[CONF_SECTION_GLOBAL] = { .name = "",
		.help = "The top level of the file.",
		.size = sizeof(struct conf),
		ROWS(global_rows) },
	[CONF_SECTION_LISTEN] = { TITLED(listen), .title = "address",
		.help = "One address to listen on: \"192.0.2.1:443\", \"[2001:db8::1]:443\" or "
			"\"unix:/path\". Port 0 takes a free one. \"[::]\" is IPv6 only." },
	[CONF_SECTION_TLS] = { SINGLE(tls), .help = "For the listeners with tls = true." },
	[CONF_SECTION_CACHE] = { SINGLE(cache), .help = "The file cache, shared by all workers." },
	[CONF_SECTION_LIMITS] = { SINGLE(limits), .help = "What one client may take." },
	[CONF_SECTION_TIMEOUTS] = { SINGLE(timeouts), .help = "After how many seconds a connection "
							      "is closed." },
	[CONF_SECTION_SERVER] = { TITLED(server), .title = "name",
		.help = "What is served; \"_\" answers every name." },
};

/* The title is the first member of a struct that has one. */
_Static_assert(offsetof(struct conf_listen, address) == 0, "listen begins with its title");
_Static_assert(offsetof(struct conf_server, name) == 0, "server begins with its title");

const struct conf_row *conf_table_row(const struct conf_section *section, struct slice name)
{
	for (unsigned i = 0; i < section->nrows; i++)
		if (slice_eq(slice_str(section->rows[i].name), name))
			return &section->rows[i];
	return NULL;
}

const struct conf_section *conf_table_section(struct slice name)
{
	for (unsigned i = CONF_SECTION_GLOBAL + 1; i < CONF_SECTIONS; i++)
		if (slice_eq(slice_str(conf_sections[i].name), name))
			return &conf_sections[i];
	return NULL;
}

/* Levenshtein's distance; what is longer than any name is cut, it is far from all anyway. */
static unsigned distance(struct slice a, struct slice b)
{
	unsigned row[65];

	if (a.n > 64)
		a.n = 64;
	H2D_ASSERT(b.n <= 64);
	for (unsigned j = 0; j <= b.n; j++)
		row[j] = j;
	for (unsigned i = 1; i <= a.n; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= b.n; j++) {
			unsigned best = diagonal + (a.p[i - 1] != b.p[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[b.n];
}

const char *conf_table_near_row(const struct conf_section *section, struct slice name)
{
	const char *near = NULL;
	unsigned best = 0;

	for (unsigned i = 0; i < section->nrows; i++) {
		unsigned d = distance(name, slice_str(section->rows[i].name));

		if (near == NULL || d < best) {
			near = section->rows[i].name;
			best = d;
		}
	}
	return near;
}

const char *conf_table_near_section(struct slice name)
{
	const char *near = NULL;
	unsigned best = 0;

	for (unsigned i = CONF_SECTION_GLOBAL + 1; i < CONF_SECTIONS; i++) {
		unsigned d = distance(name, slice_str(conf_sections[i].name));

		if (near == NULL || d < best) {
			near = conf_sections[i].name;
			best = d;
		}
	}
	return near;
}

unsigned conf_table_count(const struct conf *conf, const struct conf_section *section)
{
	if (section->title == NULL)
		return 1;
	return *(const unsigned *)(const void *)((const char *)conf + section->count);
}

const void *conf_table_peek(const struct conf *conf, const struct conf_section *section, unsigned i)
{
	const char *where = (const char *)conf + section->where;

	if (section->title == NULL)
		return where;
	return *(char *const *)(const void *)where + i * section->size;
}

void *conf_table_get(struct conf *conf, const struct conf_section *section, unsigned i)
{
	char *where = (char *)conf + section->where;

	if (section->title == NULL)
		return where;
	return *(char **)(void *)where + i * section->size;
}

static void *grow(struct conf *conf, const struct conf_section *section)
{
	unsigned *n = (unsigned *)(void *)((char *)conf + section->count);
	char **first = (char **)(void *)((char *)conf + section->where);
	char *obj;

	/* Full at every power of two: what stays behind in the arena is no more than what lives. */
	if ((*n & (*n - 1)) == 0) {
		char *more = arena_zalloc(&conf->arena, (*n == 0 ? 1 : 2 * *n) * section->size);

		if (more == NULL)
			return NULL;
		if (*n > 0)
			memcpy(more, *first, *n * section->size);
		*first = more;
	}
	obj = *first + (*n)++ * section->size;
	return obj;
}

void *conf_table_add(struct conf *conf, const struct conf_section *section)
{
	void *obj = section->title != NULL ? grow(conf, section) : conf_table_get(conf, section, 0);

	if (obj == NULL)
		return NULL;
	if (section->title != NULL)
		*(char **)obj = conf_none;
	for (unsigned i = 0; i < section->nrows; i++)
		if (!conf_value_default(&conf->arena, &section->rows[i], obj))
			return NULL;
	return obj;
}
