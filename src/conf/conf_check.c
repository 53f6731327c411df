/*
 * conf_check: the checks that no single key can answer for itself. Called once per conf; changes
 * nothing but the paths of the logs, which become absolute as those of keys of type PATH are.
 */
#include "conf/conf_check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/conf_addr.h"
#include "conf/conf_value.h"

static const struct conf_pos *whole_file(const struct conf *conf, struct conf_pos *pos)
{
	*pos = conf->path != NULL ? (struct conf_pos){ .file = conf->path } : conf_command_line;
	return pos;
}

/* path is a file that can be read: a certificate, a key. */
static void check_readable(
	const char *key, const char *path, const struct conf_pos *pos, struct conf_faults *faults)
{
	struct stat st;
	int fd;

	if (path == NULL || *path == '\0')
		return;
	/* Looked at before it is opened: to open a device can do something. */
	if (stat(path, &st) < 0) {
		conf_fault(faults, pos, "%s \"%s\": %m", key, path);
		return;
	}
	if (!S_ISREG(st.st_mode)) {
		conf_fault(faults, pos, "%s \"%s\" is not a regular file", key, path);
		return;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		conf_fault(faults, pos, "%s \"%s\": %m", key, path);
	else
		close(fd);
}

static void check_directory(
	const char *key, const char *path, const struct conf_pos *pos, struct conf_faults *faults)
{
	struct stat st;

	if (stat(path, &st) < 0)
		conf_fault(faults, pos, "%s \"%s\": %m", key, path);
	else if (!S_ISDIR(st.st_mode))
		conf_fault(faults, pos, "%s \"%s\" is not a directory", key, path);
}

/* path may or may not exist, but it can: its folder is there. */
static void check_folder(struct conf *conf, const char *key, const char *path,
	const struct conf_pos *pos, struct conf_faults *faults)
{
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;
	char *folder;
	struct stat st;

	if (slash == NULL)
		return;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		conf_fault(faults, pos, "%s \"%s\" is a directory", key, path);
		return;
	}
	folder = arena_printf(&conf->arena, "%.*s", slash > path ? (int)(slash - path) : 1, path);
	if (folder == NULL) {
		conf_fault_oom(faults, pos);
		return;
	}
	if (stat(folder, &st) < 0)
		conf_fault(faults, pos, "%s \"%s\": folder \"%s\": %m", key, path, folder);
	else if (!S_ISDIR(st.st_mode))
		conf_fault(faults, pos, "%s \"%s\": \"%s\" is not a directory", key, path, folder);
}

/* A log is one of the words, or a file. */
static void check_log(struct conf *conf, const char *key, char **log, const char *const *words,
	const struct conf_pos *pos, struct conf_faults *faults)
{
	if (*log == NULL)
		return;
	for (; *words != NULL; words++)
		if (strcmp(*log, *words) == 0)
			return;
	if (**log == '\0') {
		conf_fault(faults, pos, "%s is empty", key);
		return;
	}
	*log = conf_value_resolve(&conf->arena, pos, *log);
	if (*log == NULL)
		conf_fault_oom(faults, pos);
	else
		check_folder(conf, key, *log, pos, faults);
}

static void check_global(struct conf *conf, struct conf_faults *faults)
{
	static const char *const error_words[] = { "stderr", "syslog", NULL };
	static const char *const access_words[] = { "off", "stdout", NULL };

	check_folder(conf, "pid-file", conf->pid_file, &conf->pid_file_at, faults);
	check_log(conf, "error-log", &conf->error_log, error_words, &conf->error_log_at, faults);
	check_log(
		conf, "access-log", &conf->access_log, access_words, &conf->access_log_at, faults);
}

/* Each listener on port 0 gets a port of its own. */
static bool is_any_port(const struct conf_addr *addr)
{
	return addr->kind != CONF_ADDR_UNIX && addr->port == 0;
}

/* The listeners before the i-th are parsed into addrs. */
static void check_listen(
	struct conf *conf, unsigned i, struct conf_addr *addrs, struct conf_faults *faults)
{
	const struct conf_listen *l = &conf->listens[i];
	const char *why = conf_addr_parse(l->address, &addrs[i]);

	if (why != NULL) {
		conf_fault(faults, &l->at, "listen \"%.200s\": %s", l->address, why);
		return;
	}
	for (unsigned j = 0; j < i; j++) {
		if (!conf_addr_equal(&addrs[i], &addrs[j]) || is_any_port(&addrs[i]))
			continue;
		conf_fault(faults, &l->at, "listen \"%.200s\" is there twice; first at %s:%u",
			l->address, conf->listens[j].at.file, conf->listens[j].at.line);
		break;
	}
	if (addrs[i].kind == CONF_ADDR_UNIX) {
		check_folder(conf, "listen", addrs[i].path, &l->at, faults);
		if (l->tls)
			conf_fault(faults, &l->tls_at, "tls = true is not for unix: listeners");
	}
}

static void check_listens(struct conf *conf, struct conf_faults *faults)
{
	struct conf_addr *addrs = arena_zalloc(&conf->arena, conf->nlistens * sizeof(*addrs));

	if (addrs == NULL) {
		conf_fault_oom(faults, &conf_command_line);
		return;
	}
	for (unsigned i = 0; i < conf->nlistens; i++) {
		/* What is not parsed equals nothing. */
		addrs[i] = (struct conf_addr){ .port = UINT32_MAX };
		if (conf->listens[i].address != NULL)
			check_listen(conf, i, addrs, faults);
	}
}

static bool is_missing(const char *path)
{
	return path != NULL && *path == '\0';
}

static void check_tls(struct conf *conf, struct conf_faults *faults)
{
	const struct conf_tls *tls = &conf->tls;
	const struct conf_listen *l = NULL;

	check_readable("certificate", tls->certificate, &tls->certificate_at, faults);
	check_readable("certificate-key", tls->certificate_key, &tls->certificate_key_at, faults);
	if (tls->protocols.v != NULL && tls->protocols.n == 0)
		conf_fault(faults, &tls->protocols_at, "protocols is empty");
	if (faults->lost || (!is_missing(tls->certificate) && !is_missing(tls->certificate_key)))
		return;
	for (unsigned i = 0; i < conf->nlistens && l == NULL; i++)
		if (conf->listens[i].tls)
			l = &conf->listens[i];
	if (l == NULL)
		return;
	if (l->at.line == 0)
		conf_fault(faults, &l->at, "-p needs -k and -c, or --h2c");
	else
		conf_fault(faults, &l->at,
			"tls = true needs certificate and certificate-key in "
			"section tls");
}

static void check_upload_dir(
	struct conf *conf, const struct conf_server *s, struct conf_faults *faults)
{
	const struct conf_pos *pos = &s->upload_dir_at;
	struct slice rest = slice_str(s->upload_dir);
	struct stat st;
	char *path;

	if (s->upload_dir == NULL || *s->upload_dir == '\0')
		return;
	if (*s->upload_dir == '/') {
		conf_fault(faults, pos, "upload-dir \"%.200s\" must be relative: it is below root",
			s->upload_dir);
		return;
	}
	while (rest.n > 0) {
		size_t n = strcspn(rest.p, "/");

		if (n == 2 && rest.p[0] == '.' && rest.p[1] == '.') {
			conf_fault(faults, pos, "upload-dir \"%.200s\" must not contain \"..\"",
				s->upload_dir);
			return;
		}
		n += strspn(rest.p + n, "/");
		rest = slice_of(rest.p + n, rest.n - n);
	}
	if (s->root == NULL || *s->root == '\0')
		return;
	path = arena_printf(&conf->arena, "%s/%s", s->root, s->upload_dir);
	if (path == NULL)
		conf_fault_oom(faults, pos);
	else if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		conf_fault(faults, pos, "upload-dir \"%s\" is not a directory", path);
}

/* RFC 9110, 8.3.2: charset is a token; it goes into content-type as it is. */
static bool is_token(const char *s)
{
	return s[strspn(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
			   "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

static bool has_public_listen(const struct conf *conf)
{
	for (unsigned i = 0; i < conf->nlistens; i++)
		if (!conf->listens[i].admin)
			return true;
	return false;
}

static void check_server(struct conf *conf, const struct conf_server *s, struct conf_faults *faults)
{
	struct conf_pos pos;

	if (s->name != NULL && strcmp(s->name, "_") != 0)
		conf_fault(
			faults, &s->at, "virtual hosts are not supported yet; only server \"_\"");
	if (s->root != NULL && *s->root != '\0')
		check_directory("root", s->root, &s->root_at, faults);
	else if (is_missing(s->root) && has_public_listen(conf) && !faults->lost)
		conf_fault(faults, s->at.file != NULL ? &s->at : whole_file(conf, &pos),
			"there is no root to serve: server \"_\" { root = \"DIR\" }, or -r DIR");
	for (unsigned i = 0; s->index.v != NULL && i < s->index.n; i++) {
		const char *name = s->index.v[i];

		if (*name == '\0' || strchr(name, '/') != NULL || strcmp(name, ".") == 0 ||
			strcmp(name, "..") == 0)
			conf_fault(faults, &s->index_at,
				"index: \"%.200s\" is not the name of a file", name);
	}
	if (s->charset != NULL && !is_token(s->charset))
		conf_fault(faults, &s->charset_at, "charset \"%.200s\" is not a token", s->charset);
	check_upload_dir(conf, s, faults);
}

static void check_servers(struct conf *conf, struct conf_faults *faults)
{
	for (unsigned i = 0; i < conf->nservers; i++) {
		const struct conf_server *s = &conf->servers[i];

		for (unsigned j = 0; j < i; j++) {
			const struct conf_server *t = &conf->servers[j];

			if (s->name == NULL || t->name == NULL || strcmp(s->name, t->name) != 0)
				continue;
			conf_fault(faults, &s->at,
				"server \"%.200s\" is there twice; first at %s:%u", s->name,
				t->at.file, t->at.line);
			break;
		}
		check_server(conf, s, faults);
	}
}

void conf_check(struct conf *conf, struct conf_faults *faults)
{
	check_global(conf, faults);
	check_listens(conf, faults);
	check_tls(conf, faults);
	check_servers(conf, faults);
}
