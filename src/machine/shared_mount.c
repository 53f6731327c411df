/*
 * shared_mount: reads a list of mounts (proc(5)). It never asks a file system what it is: one that
 * hangs would hold up the master.
 */
#include "machine/shared_mount.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { LINE = 8192, TYPE = 64 };

static const struct {
	const char *type, *option, *what;
} losses[] = {
#define LOSES(type, option, what) { type, option, what },
#include "machine/shared_mount.def"
};

/* A line of the list. Options are between commas, each of them. */
struct mount {
	char type[TYPE];
	char options[LINE], super[LINE]; /* of the mount, and of the file system */
};

static bool is_type(const char *type, const char *of_row)
{
	size_t n = strlen(of_row);

	return of_row[n - 1] == '.' ? strncmp(type, of_row, n) == 0 : strcmp(type, of_row) == 0;
}

static bool lists(const char *options, const char *option)
{
	char word[TYPE];

	snprintf(word, sizeof(word), ",%s,", option);
	return strstr(options, word) != NULL;
}

static bool has(const struct mount *m, const char *option)
{
	if (option[0] == '\0')
		return true;
	if (option[0] == '!')
		return !has(m, option + 1);
	return lists(m->options, option) || lists(m->super, option);
}

/* "36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root rw": dev's, and what it says. */
static bool read_line(const char *line, dev_t dev, struct mount *m)
{
	const char *dash = strstr(line, " - ");
	char options[LINE], super[LINE];
	unsigned major, minor;

	if (dash == NULL ||
		sscanf(line, "%*u %*u %u:%u %*s %*s %8191s", &major, &minor, options) != 3 ||
		makedev(major, minor) != dev ||
		sscanf(dash, " - %63s %*s %8191s", m->type, super) != 2)
		return false;
	snprintf(m->options, sizeof(m->options), ",%.8000s,", options);
	snprintf(m->super, sizeof(m->super), ",%.8000s,", super);
	return true;
}

static bool find(const char *mounts, dev_t dev, struct mount *m)
{
	FILE *f = fopen(mounts, "re");
	char line[LINE];
	bool found = false;

	while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
		found = read_line(line, dev, m);
	if (f != NULL)
		fclose(f);
	return found;
}

void shared_mount_lost(const char *mounts, const char *path, shared_mount_fn *fn, void *ctx)
{
	struct mount m;
	struct stat st;

	if (stat(path, &st) < 0 || !find(mounts, st.st_dev, &m))
		return;
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		if (is_type(m.type, losses[i].type) && has(&m, losses[i].option))
			fn(ctx, m.type, losses[i].what);
}
