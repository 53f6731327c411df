/*
 * conf_read: files for the parser. Called by conf_load, and by the parser through
 * conf_source.include; knows nothing of the grammar. A text lives as long as it is parsed: the conf
 * has copies of what it keeps.
 */
#include "conf/conf_read.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/conf_parse.h"

/* The whole of fd, whose size was size at the open, for free(3), whatever comes; -1 with errno. */
static int source_read_all(int fd, size_t size, char **buf, struct slice *text)
{
	size_t n = 0;

	*buf = malloc(size + 1);
	if (*buf == NULL)
		return -1;
	while (n < size) {
		ssize_t r = read(fd, *buf + n, size - n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -1;
		if (r == 0)
			break;
		n += (size_t)r;
	}
	*text = slice_of(*buf, n);
	return 0;
}

/*
 * Editors of Windows put a byte-order mark in front of UTF-8 (Unicode 15.0, 2.13): it is skipped.
 * NULL, or why the text cannot be read.
 */
static const char *skip_byte_order_mark(struct slice *text)
{
	if (slice_starts(*text, SLICE("\xef\xbb\xbf")))
		*text = slice_of(text->p + 3, text->n - 3);
	if (slice_starts(*text, SLICE("\xff\xfe")) || slice_starts(*text, SLICE("\xfe\xff")))
		return "it is written in UTF-16; save it as UTF-8";
	return NULL;
}

static bool is_open(const struct conf_source *source, const struct stat *st)
{
	for (; source != NULL; source = source->from)
		if (source->dev == st->st_dev && source->ino == st->st_ino)
			return true;
	return false;
}

static void parse(struct conf *conf, const struct conf_source *source, struct slice text,
	const struct conf_pos *pos, struct conf_faults *faults)
{
	const char *why = skip_byte_order_mark(&text);

	if (why == NULL) {
		conf_parse(conf, source, text, faults);
		return;
	}
	conf_fault(faults, pos, "cannot read \"%s\": %s", source->name, why);
	faults->lost = true;
}

static void include(struct conf *conf, const struct conf_source *source, const struct block *block,
	const struct conf_pos *pos, const char *pattern, struct conf_faults *faults);

/*
 * Reads name, which from includes into block (both NULL: the main file). Faults about the file
 * itself go to pos.
 */
static void read_one(struct conf *conf, const char *name, const struct conf_source *from,
	const struct block *block, const struct conf_pos *pos, struct conf_faults *faults)
{
	struct conf_source source = { .name = name,
		.from = from,
		.depth = from != NULL ? from->depth + 1 : 0,
		.block = block,
		.include = include };
	struct slice text = { 0 };
	char *buf = NULL;
	struct stat st;
	int fd;

	/* O_NONBLOCK: a FIFO must not hold up a reload. */
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0) {
		conf_fault(faults, pos, "cannot open \"%s\": %m", name);
		faults->lost = true;
	} else if (!S_ISREG(st.st_mode)) {
		conf_fault(faults, pos, "\"%s\" is not a regular file", name);
		faults->lost = true;
	} else if (is_open(from, &st)) {
		conf_fault(faults, pos, "\"%s\" includes itself", name);
	} else if (st.st_size > CONF_FILE_MAX) {
		conf_fault(faults, pos, "\"%s\" is larger than %d bytes", name, CONF_FILE_MAX);
		faults->lost = true;
	} else if (source_read_all(fd, (size_t)st.st_size, &buf, &text) < 0) {
		if (errno == ENOMEM)
			conf_fault_oom(faults, pos);
		else
			conf_fault(faults, pos, "cannot read \"%s\": %m", name);
		faults->lost = true;
	} else {
		source.dev = st.st_dev;
		source.ino = st.st_ino;
		/* Closed before the includes in it are opened. */
		close(fd);
		fd = -1;
		parse(conf, &source, text, pos, faults);
	}
	if (fd >= 0)
		close(fd);
	free(buf);
}

void conf_read_file(struct conf *conf, const char *path, struct conf_faults *faults)
{
	const struct conf_pos pos = { .file = path };

	read_one(conf, path, NULL, NULL, &pos, faults);
}

static int on_glob_error(const char *path, int error)
{
	(void)path;
	return error != ENOENT && error != ENOTDIR;
}

/* The folder of source's name with a slash, "" for the working directory; escaped for glob(3). */
static char *glob_folder(struct arena *arena, const char *name)
{
	const char *slash = strrchr(name, '/');
	size_t n = slash != NULL ? (size_t)(slash - name + 1) : 0;
	char *folder = arena_alloc(arena, 2 * n + 1);
	char *p = folder;

	if (folder == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (strchr("*?[]\\", name[i]) != NULL)
			*p++ = '\\';
		*p++ = name[i];
	}
	*p = '\0';
	return folder;
}

static void include_glob(struct conf *conf, const struct conf_source *source,
	const struct block *block, const struct conf_pos *pos, const char *pattern,
	struct conf_faults *faults)
{
	const char *folder = *pattern == '/' ? "" : glob_folder(&conf->arena, source->name);
	char *full = folder != NULL ? arena_printf(&conf->arena, "%s%s", folder, pattern) : NULL;
	glob_t found;
	int rc;

	if (full == NULL) {
		conf_fault_oom(faults, pos);
		return;
	}
	rc = glob(full, 0, on_glob_error, &found);
	if (rc == GLOB_NOSPACE)
		conf_fault_oom(faults, pos);
	else if (rc == GLOB_ABORTED)
		conf_fault(faults, pos, "cannot read the folder of \"%s\"", pattern);
	for (size_t i = 0; rc == 0 && i < found.gl_pathc && !faults->oom; i++) {
		char *name = arena_strdup(&conf->arena, found.gl_pathv[i]);

		if (name == NULL)
			conf_fault_oom(faults, pos);
		else
			read_one(conf, name, source, block, pos, faults);
	}
	globfree(&found);
}

static void include(struct conf *conf, const struct conf_source *source, const struct block *block,
	const struct conf_pos *pos, const char *pattern, struct conf_faults *faults)
{
	const char *slash = strrchr(source->name, '/');
	char *name;

	if (source->depth + 1 >= CONF_INCLUDE_MAX) {
		conf_fault(faults, pos, "more than %d files include each other", CONF_INCLUDE_MAX);
		return;
	}
	/* glob(3) could not tell a missing file from a pattern that matches none. */
	if (strpbrk(pattern, "*?[") != NULL) {
		include_glob(conf, source, block, pos, pattern, faults);
		return;
	}
	if (*pattern == '/' || slash == NULL)
		name = arena_strdup(&conf->arena, pattern);
	else
		name = arena_printf(&conf->arena, "%.*s%s", (int)(slash - source->name + 1),
			source->name, pattern);
	if (name == NULL)
		conf_fault_oom(faults, pos);
	else
		read_one(conf, name, source, block, pos, faults);
}
