/* options: checks the form of arguments; conf checks their meaning for a configuration. */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/signal_cmd.h"

static const struct {
	const char *name, *arg;
	int code;
	size_t into;
} table[] = {
#define OPTION(name_, arg_, code_, into_, complete_, help_) \
	{ name_, arg_, code_, offsetof(struct options, into_) },
#include "cli/options.def"
};

enum { NOPTIONS = sizeof(table) / sizeof(table[0]) };

static const char examples[] =
	"\n"
	"Without -f, -r and -p, h2d reads " OPTIONS_FILE ".\n"
	"Without -p and a listen block, it listens on localhost:8080.\n"
	"\n"
	"Examples:\n"
	"  h2d -r .                                  serve this directory, on localhost\n"
	"  h2d -r /srv/www -p 80 -u h2d              serve all clients, in cleartext\n"
	"  h2d -r /srv/www -p 8443 -k KEY -c CHAIN   serve all clients, over TLS\n"
	"  h2d -t -f h2d.conf                        check this file\n"
	"  h2d --explain http://example.com/secret   show the rules for this URL\n"
	"  h2d -s reload                             load the changed configuration\n"
	"  h2d top                                   show the status of this server\n";

static void print_option(FILE *out, const char *name, const char *arg, int code, const char *help)
{
	char left[40], letter[8] = "    ";

	if (help == NULL)
		return;
	if (code < OPT_LONG)
		snprintf(letter, sizeof(letter), "-%c, ", code);
	snprintf(left, sizeof(left), "%s--%s %s", letter, name, arg != NULL ? arg : "");
	fprintf(out, "  %-22s %s\n", left, help);
}

void options_help(FILE *out)
{
	fputs("usage: h2d [OPTION]...\n", out);
#define COMMAND(name, arg, help)                      fprintf(out, "       h2d %s %s    %s\n", name, arg, help);
#define GROUP(title)                                  fprintf(out, "\n%s:\n", title);
#define OPTION(name, arg, code, into, complete, help) print_option(out, name, arg, code, help);
#include "cli/options.def"
	fputs(examples, out);
}

static int usage(const char *what, const char *value)
{
	fprintf(stderr, "h2d: %s%s%s\nh2d -h lists the options\n", what, value != NULL ? ": " : "",
		value != NULL ? value : "");
	return -1;
}

static bool is_number(const char *text, unsigned long max)
{
	char *end;
	unsigned long n;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	n = strtoul(text, &end, 10);
	return errno == 0 && *end == '\0' && n <= max;
}

/* Two actions are an error, because one would be ignored in silence; help always wins. */
static int act(struct options *o, enum options_action action)
{
	if (o->action == OPTIONS_HELP || action == OPTIONS_HELP)
		action = OPTIONS_HELP;
	else if (o->action != OPTIONS_RUN && o->action != action)
		return usage("-s, -t, -T, -V, --explain and --routes exclude each other", NULL);
	o->action = action;
	return 0;
}

static int set_signal(struct options *o, const char *value)
{
	if (!signal_cmd_known(value))
		return usage("-s: unknown signal", value);
	if (o->signal != NULL && strcmp(o->signal, value) != 0)
		return usage("-s: only one signal is possible", value);
	o->signal = value;
	return act(o, OPTIONS_SIGNAL);
}

static int options_add(const char **v, unsigned *n, unsigned max, const char *value)
{
	if (*n == max)
		return usage("too many options", value);
	v[(*n)++] = value;
	return 0;
}

/* Most options only set a member. */
static void set_member(struct options *o, int code, const char *value)
{
	for (int i = 0; i < NOPTIONS; i++) {
		void *member = (char *)o + table[i].into;

		if (table[i].code != code || table[i].into == offsetof(struct options, action))
			continue;
		if (table[i].arg != NULL)
			*(const char **)member = value;
		else
			*(bool *)member = true;
	}
}

static int set(struct options *o, int code, const char *value)
{
	set_member(o, code, value);
	switch (code) {
	case 'p':
		return is_number(value, 65535) ? 0 : usage("-p: invalid port", value);
	case 'd':
		if (strcmp(value, "reuseport") == 0 || strcmp(value, "acceptor") == 0)
			return 0;
		return usage("-d: unknown mode", value);
	case 't':
		return act(o, OPTIONS_TEST);
	case 'T':
		return act(o, OPTIONS_DUMP);
	case OPT_ROUTES:
		return act(o, OPTIONS_ROUTES);
	case OPT_EXPLAIN:
		if (options_add(o->urls, &o->nurls, OPTIONS_URLS, value) < 0)
			return -1;
		return act(o, OPTIONS_EXPLAIN);
	case 'H':
		return options_add(o->fields, &o->nfields, OPTIONS_FIELDS, value);
	case 's':
		return set_signal(o, value);
	case 'V':
		return act(o, OPTIONS_VERSION);
	case 'h':
		return act(o, OPTIONS_HELP);
	case '?':
		fprintf(stderr, "h2d -h lists the options\n"); /* getopt has reported the error */
		return -1;
	default:
		return 0;
	}
}

/* Finds faults of the command line alone; a file may contain the rest. */
static int options_check(const struct options *o)
{
	const struct conf_override *c = &o->conf;

	if (o->wait && (o->signal == NULL || strcmp(o->signal, "reload") != 0))
		return usage("--wait needs -s reload", NULL);
	if (o->nurls == 0 && (o->nfields > 0 || o->method != NULL || o->address != NULL))
		return usage("--method, --address and -H need --explain", NULL);
	if (o->all && o->action != OPTIONS_DUMP)
		return usage("--all needs -T", NULL);
	if (o->once && o->action != OPTIONS_TOP)
		return usage("--once needs top", NULL);
	if (c->h2c && c->port == NULL)
		return usage("--h2c needs -p", NULL);
	if ((c->key == NULL) != (c->cert == NULL))
		return usage("-k and -c need each other", NULL);
	return 0;
}

/* Arguments after the options name a command. */
static int take_command(struct options *o, char *const *args, int n)
{
	if (n == 0)
		return 0;
	if (strcmp(args[0], "top") != 0)
		return usage("unexpected argument", args[0]);
	if (o->action != OPTIONS_RUN)
		return usage("top cannot be combined with another action", NULL);
	o->action = OPTIONS_TOP;
	o->top = args + 1;
	return 0;
}

int options_parse(struct options *o, int argc, char **argv)
{
	struct option longs[NOPTIONS + 1];
	char argv0[] = "h2d", *own = argv[0];
	int code;

	*o = (struct options){ .action = OPTIONS_RUN };
	for (int i = 0; i < NOPTIONS; i++)
		longs[i] = (struct option){ .name = table[i].name,
			.val = table[i].code,
			.has_arg = table[i].arg != NULL ? required_argument : no_argument };
	longs[NOPTIONS] = (struct option){ 0 };

	argv[0] = argv0; /* getopt's messages begin with it */
	while ((code = getopt_long(argc, argv, "f:r:p:k:c:n:u:d:tTH:s:Vh", longs, NULL)) != -1) {
		if (set(o, code, optarg) < 0)
			break;
	}
	argv[0] = own;
	if (code != -1)
		return -1;
	if (take_command(o, argv + optind, argc - optind) < 0 || options_check(o) < 0)
		return -1;
	if (o->conf.file == NULL && o->conf.root == NULL && o->conf.port == NULL)
		o->conf.file = OPTIONS_FILE;
	return 0;
}
