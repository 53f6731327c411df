/*
 * completion_gen: a program of the build: `completion_gen bash`, `zsh` or `fish` prints the
 * completion of h2d's command line for that shell, from options.def. Not installed itself.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

static const struct option_row {
	const char *name, *arg;
	int code;
	const char *complete, *help;
} rows[] = {
#define OPTION(name_, arg_, code_, into_, complete_, help_) \
	{ name_, arg_, code_, complete_, help_ },
#include "cli/options.def"
};

static const struct command_row {
	const char *name, *help;
} commands[] = {
#define COMMAND(name_, arg_, help_) { name_, help_ },
#include "cli/options.def"
};

enum { NCOMMANDS = sizeof(commands) / sizeof(commands[0]) };

enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

/* The words of complete, NULL: a kind that shells know. */
static const char *words(const struct option_row *row)
{
	static const char *const kinds[] = { "file", "folder", "none" };

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(row->complete, kinds[i]) == 0)
			return NULL;
	return row->complete;
}

static bool has_letter(const struct option_row *row)
{
	return row->code < OPT_LONG && row->help != NULL;
}

/* --- bash ---------------------------------------------------------------------------------------
 */

static void bash_case(const struct option_row *row)
{
	if (row->arg == NULL)
		return;
	printf("\t--%s", row->name);
	if (has_letter(row))
		printf(" | -%c", row->code);
	if (words(row) != NULL)
		printf(") COMPREPLY=($(compgen -W '%s' -- \"$word\")) ;;\n", words(row));
	else if (strcmp(row->complete, "none") == 0)
		printf(") ;;\n");
	else
		printf(") COMPREPLY=($(compgen -%c -- \"$word\")) ;;\n",
			strcmp(row->complete, "file") == 0 ? 'f' : 'd');
}

static void bash(void)
{
	printf("# bash completion of h2d(8)\n_h2d() {\n"
	       "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
	       "\tCOMPREPLY=()\n\tcase $before in\n");
	for (int i = 0; i < NROWS; i++)
		bash_case(&rows[i]);
	printf("\t*) COMPREPLY=($(compgen -W '");
	for (int i = 0; i < NROWS; i++)
		if (rows[i].help != NULL)
			printf("%s--%s", i > 0 ? " " : "", rows[i].name);
	for (int i = 0; i < NCOMMANDS; i++)
		printf(" %s", commands[i].name);
	printf("' -- \"$word\")) ;;\n\tesac\n}\ncomplete -o filenames -F _h2d h2d\n");
}

/* --- zsh ----------------------------------------------------------------------------------------
 */

/* The help in a description in single quotes and brackets. */
static void zsh_text(const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '\'')
			printf("'\\'");
		else if (strchr("[]:\\", *s) != NULL)
			putchar('\\');
		putchar(*s);
	}
}

static void zsh_action(const struct option_row *row)
{
	if (row->arg == NULL)
		return;
	printf(":%s:", row->arg);
	if (words(row) != NULL)
		printf("(%s)", words(row));
	else if (strcmp(row->complete, "none") != 0)
		printf("_files%s", strcmp(row->complete, "file") == 0 ? "" : " -/");
}

static void zsh(void)
{
	printf("#compdef h2d\n_arguments -s");
	for (int i = 0; i < NROWS; i++) {
		if (rows[i].help == NULL)
			continue;
		printf(" \\\n\t");
		if (has_letter(&rows[i]))
			printf("'(-%c --%s)'{-%c,--%s}'[", rows[i].code, rows[i].name, rows[i].code,
				rows[i].name);
		else
			printf("'--%s[", rows[i].name);
		zsh_text(rows[i].help);
		putchar(']');
		zsh_action(&rows[i]);
		putchar('\'');
	}
	printf(" \\\n\t'1::command:((");
	for (int i = 0; i < NCOMMANDS; i++) {
		printf("%s%s\\:\"", i > 0 ? " " : "", commands[i].name);
		zsh_text(commands[i].help);
		putchar('"');
	}
	printf("))'");
	putchar('\n');
}

/* --- fish ---------------------------------------------------------------------------------------
 */

static void fish_text(const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '\'' || *s == '\\')
			putchar('\\');
		putchar(*s);
	}
}

static void fish(void)
{
	printf("# fish completion of h2d(8)\ncomplete -c h2d -f\n");
	for (int i = 0; i < NROWS; i++) {
		const struct option_row *row = &rows[i];

		if (row->help == NULL)
			continue;
		printf("complete -c h2d -l %s", row->name);
		if (has_letter(row))
			printf(" -s %c", row->code);
		if (row->arg != NULL && words(row) != NULL)
			printf(" -x -a '%s'", words(row));
		else if (row->arg != NULL && strcmp(row->complete, "folder") == 0)
			printf(" -x -a '(__fish_complete_directories)'");
		else if (row->arg != NULL)
			printf(strcmp(row->complete, "file") == 0 ? " -r -F" : " -x");
		printf(" -d '");
		fish_text(row->help);
		printf("'\n");
	}
	for (int i = 0; i < NCOMMANDS; i++) {
		printf("complete -c h2d -n __fish_use_subcommand -a %s -d '", commands[i].name);
		fish_text(commands[i].help);
		printf("'\n");
	}
}

int main(int argc, char **argv)
{
	const char *shell = argc == 2 ? argv[1] : "";

	if (strcmp(shell, "bash") == 0) {
		bash();
	} else if (strcmp(shell, "zsh") == 0) {
		zsh();
	} else if (strcmp(shell, "fish") == 0) {
		fish();
	} else {
		fprintf(stderr, "usage: completion_gen bash|zsh|fish\n");
		return 2;
	}
	return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
