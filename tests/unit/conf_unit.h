/*
 * conf_unit: a folder with what a configuration names (www/, cert.pem, key.pem), files written into
 * it with "@" standing for its path, and the faults of a load as text. For check_conf*.c only.
 */
#pragma once

#include "conf/conf.h"
#include "tree_unit.h"

enum { FAULTS_SEEN = 128 };

static char faults[FAULTS_SEEN][512];
static unsigned nfaults;

static void write_bytes(const char *name, const char *text, size_t n)
{
	FILE *out = fopen(tree_path(name), "w");

	ck_assert_ptr_nonnull(out);
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '@')
			fputs(tree, out);
		else
			putc(text[i], out);
	}
	ck_assert_int_eq(fclose(out), 0);
}

static void write_file(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

UNIT_SETUP(make_folder)
{
	tree_dir("www");
	write_file("cert.pem", "");
	write_file("key.pem", "");
}

/* "NAME:LINE: message", with the folder cut off the name. */
static void on_fault(void *ctx, const struct conf_pos *pos, const char *message)
{
	const char *file = pos->file;
	char line[16] = "";

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_lt(nfaults, FAULTS_SEEN);
	if (strncmp(file, tree, strlen(tree)) == 0)
		file += strlen(tree) + 1;
	if (pos->line > 0)
		snprintf(line, sizeof(line), ":%u", pos->line);
	snprintf(faults[nfaults++], sizeof(faults[0]), "%s%s: %s", file, line, message);
}

static struct conf *load_with(const struct conf_override *ov)
{
	nfaults = 0;
	return conf_load(ov, on_fault, NULL);
}

static struct conf *load_name(const char *name)
{
	const struct conf_override ov = { .file = tree_path(name) };

	return load_with(&ov);
}

static struct conf *load_text(const char *text)
{
	write_file("h2d.conf", text);
	return load_name("h2d.conf");
}

static inline void no_faults(const char *what)
{
	ck_assert_msg(nfaults == 0, "%s: %s", what, faults[0]);
}
