/*
 * conf_check_name: the checks of server names. Called once per conf; never changes it.
 */
#include "conf/conf_check.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/addr.h"

enum { NAME_MAX_BYTES = 253, LABEL_MAX = 63 }; /* RFC 1035, 2.3.4, without the final dot */

struct name {
	const char *text;
	const struct conf_server *server;
	const struct conf_pos *at;
};

static bool is_v6(const char *s)
{
	size_t n = strlen(s);
	struct addr addr;

	return n > 2 && s[0] == '[' && s[n - 1] == ']' &&
	       addr_parse_host(AF_INET6, slice_of(s + 1, n - 2), &addr);
}

const char *conf_check_name(const char *s)
{
	bool star = s[0] == '*';

	if (is_v6(s))
		return NULL;
	if (strpbrk(s, " ,") != NULL)
		return "write one name here and the others in aliases = {\"a.org\", \"b.org\"}";
	if (strstr(s, "://") != NULL)
		return "remove https://";
	for (const char *c = s; *c != '\0'; c++)
		if ((unsigned char)*c >= 0x80)
			return "write a name with other letters in ASCII, \"xn--...\" (try idn2 "
			       "NAME)";
	if (star && s[1] != '.')
		return "\"*\" must be all of the first label: \"*.example.com\"";
	if (star)
		s += 2;
	if (strlen(s) > NAME_MAX_BYTES)
		return "longer than 253 bytes";
	for (;;) {
		size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789-_");

		if (s[n] == '*')
			return "\"*\" must be all of the first label: \"*.example.com\"";
		if (s[n] == ':')
			return "remove the port";
		if (s[n] != '.' && s[n] != '\0')
			return "not a host name";
		if (n == 0 || n > LABEL_MAX)
			return n == 0 ? "nothing before or after a dot"
				      : "more than 63 bytes between two dots";
		if (s[n] == '\0')
			return NULL;
		s += n + 1;
	}
}

/* Host names ignore case (RFC 4343). */
static int order(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int rv = strcasecmp(x->text, y->text);

	/* Equal names stay in the order of their servers. */
	if (rv == 0)
		rv = (x->server > y->server) - (x->server < y->server);
	return rv;
}

static void name_add(struct name *names, unsigned *n, const char *text,
	const struct conf_server *server, const struct conf_pos *at, struct conf_faults *faults)
{
	const char *why = NULL;

	if (text == NULL)
		return;
	/* The title of the default server. */
	if (at != &server->at || strcmp(text, "_") != 0)
		why = conf_check_name(text);
	if (why != NULL)
		conf_fault(faults, at, "server name \"%.200s\": %s", text, why);
	else
		names[(*n)++] = (struct name){ text, server, at };
}

void conf_check_names(struct conf *conf, struct conf_faults *faults)
{
	struct name *names;
	size_t max = conf->nservers;
	unsigned n = 0;

	for (unsigned i = 0; i < conf->nservers; i++)
		max += conf->servers[i].aliases.n;
	names = arena_alloc(&conf->arena, max * sizeof(*names));
	if (names == NULL) {
		conf_fault_oom(faults, &conf_command_line);
		return;
	}
	for (unsigned i = 0; i < conf->nservers; i++) {
		const struct conf_server *s = &conf->servers[i];

		name_add(names, &n, s->name, s, &s->at, faults);
		for (unsigned j = 0; j < s->aliases.n; j++)
			name_add(names, &n, s->aliases.v[j], s, &s->aliases_at, faults);
	}
	qsort(names, n, sizeof(*names), order);
	for (unsigned i = 1; i < n; i++) {
		const struct name *a = &names[i - 1], *b = &names[i];

		if (a->server != b->server && strcasecmp(a->text, b->text) == 0)
			conf_fault(faults, b->at,
				"duplicate server name \"%.200s\" (first at %s:%u)", b->text,
				a->at->file, a->at->line);
	}
}
