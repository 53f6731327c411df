/*
 * conf_table: conf.def at run time: every section, its keys, and the places of their values in the
 * structs of conf.h. All of conf reads it; it is const.
 */
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/slice.h"
#include "conf/conf.h"

enum conf_type {
	CONF_TYPE_STRING,
	CONF_TYPE_PATH,
	CONF_TYPE_PATHS,
	CONF_TYPE_BOOL,
	CONF_TYPE_NUMBER,
	CONF_TYPE_AUTO,
	CONF_TYPE_SIZE,
	CONF_TYPE_SECONDS,
	CONF_TYPE_CHOICE,
	CONF_TYPE_MODE,
	CONF_TYPE_LIST,
};

/* Access of workers to a handler's path; never for h2d's own keys. */
enum conf_access { CONF_ACCESS_NONE, CONF_ACCESS_READ, CONF_ACCESS_WRITE };

/* A word of a key, and its value. */
struct conf_choice {
	const char *word;
	int value;
};

#define CHOICES(...) ((const struct conf_choice[]){ __VA_ARGS__, { NULL, 0 } })

struct conf_row {
	const char *name;
	enum conf_type type;
	bool scoped; /* inherited from outer sections: of struct conf_scope, or a listener's timeout
		      */
	bool hosts;  /* CONF_HOST is allowed in it, if of_server */
	bool of_server; /* of a server or its section tls */
	enum conf_access access;
	size_t size;       /* of the member */
	size_t member, at; /* offsets in the section's struct */
	const char *dflt;
	uint64_t min, max;
	const struct conf_choice *choices; /* the last one's word is NULL; NULL: any */
	const char *help;
	bool basic;          /* listed before the others of its section */
	const char *example; /* in the form of dflt; NULL: dflt shows the syntax */
};

/* A section's struct is in its owner: the outer section's struct, or the conf. */
struct conf_section {
	const char *name;    /* "": the top level */
	const char *handler; /* its keys are that handler's; NULL: h2d's own */
	const char *title;   /* the kind of title; NULL: none, and only one such section */
	bool titles;         /* a list of them makes several equal sections */
	bool alias;          /* its struct is its owner's: another way to write keys of it */
	const char *help;
	const struct conf_section *parent; /* the outer section; NULL for the top level */
	const struct conf_section *like;   /* has its keys for all such; NULL: its parent has */
	unsigned max;                      /* with a title: the most of them; 0: any number */
	size_t size;                       /* of its struct */
	size_t where; /* in its owner: itself, or (titled) the pointer to the first */
	size_t count; /* in its owner: their number (with a title) */
	size_t at;    /* in its struct: the position */
	const struct conf_row *rows;
	unsigned nrows;
};

enum conf_section_id {
	CONF_SECTION_GLOBAL,
	CONF_SECTION_LISTEN,
	CONF_SECTION_TLS,
	CONF_SECTION_CACHE,
	CONF_SECTION_LIMITS,
	CONF_SECTION_TIMEOUTS,
	CONF_SECTION_LISTEN_TIMEOUTS,
	CONF_SECTION_SANDBOX,
	CONF_SECTION_SERVER,
	CONF_SECTION_SERVER_TLS,
	CONF_SECTION_ERROR_PAGE,
	CONF_SECTION_SERVER_FILES,
	CONF_SECTION_LOCATION,
	CONF_SECTION_SERVER_LIMITS,
	CONF_SECTION_LOCATION_LIMITS,
	CONF_SECTION_LOCATION_FILES,
	CONF_SECTION_LOCATION_ERROR_PAGE,
	CONF_SECTION_HANDLER, /* no section itself: its title selects one */
	CONF_SECTIONS,
};

/* In writing order, each after the one around it. */
extern const struct conf_section conf_sections[CONF_SECTIONS];

/*
 * Sections of keys that handlers have in their conf.def. A program with such handlers is linked
 * with a table made by key_gen, and their structs follow the conf, like members of it.
 */
struct conf_handlers {
	const struct conf_section *sections;
	unsigned n;
	size_t size; /* of the conf with all of them */
};
extern const struct conf_handlers conf_table_handlers;

/* The i-th of conf_sections, followed by those of handlers; NULL: none. */
const struct conf_section *conf_table_at(unsigned i);

/* The section of the handler's keys; NULL: none. */
const struct conf_section *conf_table_handler(struct slice handler);

/* The section that has the values of keys that s does not set. */
static inline const struct conf_section *conf_table_outer(const struct conf_section *s)
{
	return s->like != NULL ? s->like : s->parent;
}

/* By name; NULL: none. */
const struct conf_row *conf_table_row(const struct conf_section *section, struct slice name);

/* The section that describes row, if outer or inner sections have the same key. */
const struct conf_section *conf_table_home(
	const struct conf_section *section, const struct conf_row *row);

/* Copies keys that outer, of around, sets and obj, of section, does not. */
void conf_table_inherit(void *obj, const struct conf_section *section, const void *outer,
	const struct conf_section *around);

/* True if an outer section of row has, or may have, its value in obj, so that obj need not set
 * it. */
bool conf_table_follows(
	const void *obj, const struct conf_section *section, const struct conf_row *row);

/* A section allowed in parent; parent NULL: anywhere, the first of that name. */
const struct conf_section *conf_table_section(const struct conf_section *parent, struct slice name);

/* The number of an owner's sections, and the struct of the i-th. */
unsigned conf_table_count(const void *owner, const struct conf_section *section);
void *conf_table_get(void *owner, const struct conf_section *section, unsigned i);
const void *conf_table_peek(const void *owner, const struct conf_section *section, unsigned i);

/*
 * Adds a struct of a section with title to owner, with all defaults, in arena. NULL when memory is
 * out. Pointers to earlier ones become stale.
 */
void *conf_table_add(struct arena *arena, void *owner, const struct conf_section *section);

/* Sets the defaults of an existing obj: its members, and its sections without title. */
bool conf_table_defaults(struct arena *arena, void *obj, const struct conf_section *section);

/* Sets NULL members of obj, and of all in it, to their defaults. false when memory is out. */
bool conf_table_mend(struct arena *arena, void *obj, const struct conf_section *section);

/* The choice of that word, and the word of that value; NULL: none. */
static inline const struct conf_choice *conf_table_choice(
	const struct conf_row *row, const char *word)
{
	for (const struct conf_choice *c = row->choices; c->word != NULL; c++)
		if (strcmp(c->word, word) == 0)
			return c;
	return NULL;
}

static inline const char *conf_table_word(const struct conf_row *row, int value)
{
	const struct conf_choice *c = row->choices;

	while (c->word != NULL && c->value != value)
		c++;
	return c->word;
}

static inline void *conf_member(void *obj, const struct conf_row *row)
{
	return (char *)obj + row->member;
}

static inline struct conf_pos *conf_member_at(void *obj, const struct conf_row *row)
{
	return (struct conf_pos *)(void *)((char *)obj + row->at);
}

static inline const struct conf_pos *conf_member_pos(const void *obj, const struct conf_row *row)
{
	return (const struct conf_pos *)(const void *)((const char *)obj + row->at);
}
