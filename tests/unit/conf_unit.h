/*
 * conf_unit: a folder with what a configuration names (www/, cert.pem, key.pem), files written into
 * it with "@" standing for its path, and the faults of a load as text. For check_conf*.c only.
 */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/conf.h"
#include "unit.h"

enum { FAULTS_SEEN = 128 };

static char folder[] = "/tmp/h2d-check-conf-XXXXXX";
static char faults[FAULTS_SEEN][512];
static unsigned nfaults;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void remove_folder(void)
{
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
}

static const char *in_folder(const char *name)
{
	static char path[8][512];
	static unsigned turn;

	turn = (turn + 1) % 8;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
	return path[turn];
}

static void write_bytes(const char *name, const char *text, size_t n)
{
	FILE *out = fopen(in_folder(name), "w");

	ck_assert_ptr_nonnull(out);
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '@')
			fputs(folder, out);
		else
			putc(text[i], out);
	}
	ck_assert_int_eq(fclose(out), 0);
}

static void write_file(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

static void make_folder(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(mkdir(in_folder("www"), 0755), 0);
	write_file("cert.pem", "");
	write_file("key.pem", "");
}

/* "NAME:LINE: message", with the folder cut off the name. */
static void on_fault(void *ctx, const struct conf_pos *pos, const char *message)
{
	const char *file = pos->file;
	char line[16] = "";

	(void)ctx;
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_lt(nfaults, FAULTS_SEEN);
	if (strncmp(file, folder, strlen(folder)) == 0)
		file += strlen(folder) + 1;
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
	const struct conf_override ov = { .file = in_folder(name) };

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
