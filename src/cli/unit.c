/*
 * unit: asks systemctl(1) for the unit's settings (systemd.exec(5)), and looks at each path of a
 * configuration with them. What it does not know it lets pass: the start has the last word.
 */
#include "cli/unit.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/options.h"
#include "conf/conf_handlers.h"

enum { UNIT_TEXT = 16384 };

/* The settings of a unit that matter; strings point into text. */
struct unit {
	const char *exec, *user;
	const char *system, *home; /* ProtectSystem=, ProtectHome= */
	const char *writable;      /* ReadWritePaths= */
	const char *logs, *run;    /* LogsDirectory=, RuntimeDirectory= */
	const char *capabilities;
	const char *tmp; /* PrivateTmp= */
	char text[UNIT_TEXT];
};

struct look {
	const struct unit *unit;
	conf_fault_fn *warn;
	void *ctx;
};

/* --- what systemctl says ---------------------------------------------------------------------- */

static char *line_value(char *line, const char *key)
{
	size_t n = strlen(key);

	return strncmp(line, key, n) == 0 && line[n] == '=' ? line + n + 1 : NULL;
}

/* Reads lines of "Key=value", as `systemctl show` writes them, from u->text. False where they are
 * of no unit that is loaded. */
static bool parse(struct unit *u)
{
	const char *loaded = "";
	const struct {
		const char *key, **value;
	} keys[] = {
		{ "LoadState", &loaded },
		{ "ExecStart", &u->exec },
		{ "User", &u->user },
		{ "ProtectSystem", &u->system },
		{ "ProtectHome", &u->home },
		{ "ReadWritePaths", &u->writable },
		{ "LogsDirectory", &u->logs },
		{ "RuntimeDirectory", &u->run },
		{ "CapabilityBoundingSet", &u->capabilities },
		{ "PrivateTmp", &u->tmp },
	};
	char *rest = u->text, *line;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		*keys[i].value = "";
	while ((line = strsep(&rest, "\n")) != NULL)
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			char *value = line_value(line, keys[i].key);

			if (value != NULL)
				*keys[i].value = value;
		}
	return strcmp(loaded, "loaded") == 0;
}

/* Whether the word behind -f or --config in `{ path=… ; argv[]=… ; … }` is file; dflt: the one that
 * needs no -f. */
static bool starts(const struct unit *u, const char *file, const char *dflt)
{
	static const char *const options[] = { " -f ", " --config ", " --config=" };
	const char *args = strstr(u->exec, "argv[]="), *named = NULL;
	size_t n = strlen(file);

	if (args == NULL)
		return false;
	for (size_t i = 0; named == NULL && i < sizeof(options) / sizeof(options[0]); i++) {
		named = strstr(args, options[i]);
		named = named != NULL ? named + strlen(options[i]) : NULL;
	}
	if (named == NULL)
		return strcmp(file, dflt) == 0;
	return strncmp(named, file, n) == 0 && (named[n] == ' ' || named[n] == '\0');
}

/* The output of systemctl, without a shell. False where it is not there, or fails. */
static bool show(struct unit *u)
{
	int ends[2], null = open("/dev/null", O_WRONLY | O_CLOEXEC), status;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	if (null < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return false;
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execlp("systemctl", "systemctl", "show", "--no-pager", "h2d.service", (char *)NULL);
		_exit(EXIT_FAILURE);
	}
	close(null);
	close(ends[1]);
	while ((got = read(ends[0], u->text + n, sizeof(u->text) - 1 - n)) > 0)
		n += (size_t)got;
	close(ends[0]);
	u->text[n] = '\0';
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* --- what the unit lets the master do --------------------------------------------------------- */

static bool is_below(const char *path, const char *dir, size_t n)
{
	if (n > 1 && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0' || n == 1);
}

/* Whether path is below one of the words, each behind prefix. */
static bool is_below_any(const char *path, const char *words, const char *prefix)
{
	size_t skip = strlen(prefix), n;

	for (; *words != '\0'; words += n) {
		words += strspn(words, " -+");
		n = strcspn(words, " ");
		if (n > 0 && strncmp(path, prefix, skip) == 0 && is_below(path + skip, words, n))
			return true;
	}
	return false;
}

static bool is_home(const char *path)
{
	return is_below_any(path, "/home /root /run/user", "");
}

static bool is_read_only(const struct unit *u, const char *path)
{
	static const struct {
		const char *protect, *folders;
	} systems[] = {
		{ "strict", "/" },
		{ "full", "/usr /boot /efi /etc" },
		{ "yes", "/usr /boot /efi" },
	};

	if (is_below_any(path, u->writable, "") || is_below_any(path, u->logs, "/var/log/") ||
		is_below_any(path, u->run, "/run/") ||
		(strcmp(u->tmp, "yes") == 0 && is_below_any(path, "/tmp /var/tmp", "")))
		return false;
	if (strcmp(u->home, "read-only") == 0 && is_home(path))
		return true;
	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		if (strcmp(u->system, systems[i].protect) == 0)
			return is_below_any(path, systems[i].folders, "");
	return false;
}

static bool may_pass_modes(const struct unit *u)
{
	return strstr(u->capabilities, "cap_dac_read_search") != NULL ||
	       strstr(u->capabilities, "cap_dac_override") != NULL;
}

/* By modes, which bind root where it has no capability. */
static bool may_root_read(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return true;
	if (st.st_uid == 0)
		return (st.st_mode & S_IRUSR) != 0;
	return (st.st_mode & (st.st_gid == 0 ? S_IRGRP : S_IROTH)) != 0;
}

/* --- the configuration ------------------------------------------------------------------------ */

static void tell(const struct look *l, const struct conf_pos *at, const char *key, const char *path,
	const char *why, const char *cure)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s \"%.400s\": h2d.service %s (systemctl edit h2d: %.440s)",
		key, path, why, cure);
	l->warn(l->ctx, at, text);
}

/* A file or folder that has to be there. False: it is not, for the unit. */
static bool check_seen(
	const struct look *l, const struct conf_pos *at, const char *key, const char *path)
{
	const struct unit *u = l->unit;

	if (strcmp(u->tmp, "yes") == 0 && is_below_any(path, "/tmp /var/tmp", "")) {
		tell(l, at, key, path, "has a /tmp of its own", "PrivateTmp=no");
		return false;
	}
	if ((strcmp(u->home, "yes") == 0 || strcmp(u->home, "tmpfs") == 0) && is_home(path)) {
		tell(l, at, key, path, "sees no home", "ProtectHome=read-only");
		return false;
	}
	return true;
}

static void check_read(
	const struct look *l, const struct conf_pos *at, const char *key, const char *path)
{
	bool root = *l->unit->user == '\0' || strcmp(l->unit->user, "root") == 0;

	if (*path != '/' || !check_seen(l, at, key, path) || !root || may_pass_modes(l->unit) ||
		may_root_read(path))
		return;
	tell(l, at, key, path, "may not read it: root has no way past modes there",
		"CapabilityBoundingSet=CAP_DAC_READ_SEARCH, or chown root");
}

static void check_reads(const struct look *l, const struct conf_pos *at, const char *key,
	const struct conf_list *paths)
{
	for (unsigned i = 0; i < paths->n; i++)
		check_read(l, at, key, paths->v[i]);
}

static void check_write(const struct look *l, const struct conf_pos *at, const char *key,
	const char *path, const char *folder)
{
	char cure[512];

	if (*path != '/' || !is_read_only(l->unit, path))
		return;
	snprintf(cure, sizeof(cure), "ReadWritePaths=%.400s", folder);
	tell(l, at, key, path, "may not write there", cure);
}

/* A log or the pid file: its folder is to be writable. */
static void check_made(
	const struct look *l, const struct conf_pos *at, const char *key, const char *path)
{
	char folder[PATH_MAX];

	if (path == NULL || strrchr(path, '/') == NULL)
		return;
	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	check_write(l, at, key, path, folder);
}

static void check_server(const struct look *l, const struct conf_server *s)
{
	char uploads[PATH_MAX];

	check_seen(l, &s->root_at, "root", s->root);
	check_made(l, &s->log.access_log_at, "access-log", s->log.access_log);
	check_reads(l, &s->tls.certificate_at, "certificate", &s->tls.certificate);
	check_reads(l, &s->tls.certificate_key_at, "certificate-key", &s->tls.certificate_key);
	check_reads(l, &s->tls.stapling_file_at, "stapling-file", &s->tls.stapling_file);
	check_read(l, &s->tls.client_ca_at, "client-ca", s->tls.client_ca);
	check_read(l, &s->tls.crl_at, "crl", s->tls.crl);
	if (*s->upload_dir != '\0') {
		snprintf(uploads, sizeof(uploads), "%s/%s", s->root, s->upload_dir);
		check_write(l, &s->upload_dir_at, "upload-dir", uploads, s->root);
	}
	for (unsigned i = 0; i < s->nlocations; i++)
		if (s->locations[i].root_at.file != NULL)
			check_seen(l, &s->locations[i].root_at, "root", s->locations[i].root);
}

/* A path that a handler opens. */
static void check_handler(
	void *ctx, const struct conf_row *row, const char *path, const struct conf_pos *at)
{
	char folder[PATH_MAX];

	if (row->access == CONF_ACCESS_READ)
		check_seen(ctx, at, row->name, path);
	else if (conf_handlers_folder(path, folder, sizeof(folder)))
		check_write(ctx, at, row->name, path, folder);
}

static void check(const struct unit *u, const struct conf *conf, conf_fault_fn *warn, void *ctx)
{
	struct look l = { .unit = u, .warn = warn, .ctx = ctx };

	check_made(&l, &conf->pid_file_at, "pid-file", conf->pid_file);
	check_made(&l, &conf->error_log_at, "error-log", conf->error_log);
	check_made(&l, &conf->log.access_log_at, "access-log", conf->log.access_log);
	check_reads(&l, &conf->tls.certificate_at, "certificate", &conf->tls.certificate);
	check_reads(
		&l, &conf->tls.certificate_key_at, "certificate-key", &conf->tls.certificate_key);
	check_reads(&l, &conf->tls.stapling_file_at, "stapling-file", &conf->tls.stapling_file);
	check_read(&l, &conf->tls.session_ticket_key_file_at, "session-ticket-key-file",
		conf->tls.session_ticket_key_file);
	for (unsigned i = 0; i < conf->nservers; i++)
		check_server(&l, &conf->servers[i]);
	conf_handlers_paths(conf, check_handler, &l);
}

void unit_check_installed(const struct conf *conf, conf_fault_fn *warn, void *ctx)
{
	struct unit *u = malloc(sizeof(*u));

	if (u != NULL && conf->path != NULL && show(u) && parse(u) &&
		starts(u, conf->path, OPTIONS_FILE))
		check(u, conf, warn, ctx);
	free(u);
}
