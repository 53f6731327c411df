/*
 * conf_load: builds a configuration: defaults, file, command line, checks. The master calls it at
 * start and for every reload; no conf with a fault is ever used. While a generation serves, the
 * master's changes look at the watched files; none is kept open.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/file_id.h"
#include "base/file_read.h"
#include "base/name_map.h"
#include "conf/conf.h"
#include "conf/conf_check.h"
#include "conf/conf_fault.h"
#include "conf/conf_hosts.h"
#include "conf/conf_table.h"
#include "conf/conf_value.h"
#include "conf/parser.h"

enum {
	CONF_MEMORY_MAX = 256 << 20,
	CONF_INCLUDE_MAX = 16, /* nesting of includes */
	READ_BYTES = 4096,
};

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
	/* The byte-order mark of Windows editors before UTF-8 (Unicode 15.0, 2.13). */
	if (slice_starts(text, SLICE("\xef\xbb\xbf")))
		slice_skip(&text, 3);
	if (!slice_starts(text, SLICE("\xff\xfe")) && !slice_starts(text, SLICE("\xfe\xff"))) {
		conf_parse(conf, source, text, faults);
		return;
	}
	conf_fault(faults, pos, "cannot read \"%s\": the file is in UTF-16: save it as UTF-8",
		source->name);
	faults->lost = true;
}

static void include(struct conf *conf, const struct conf_source *source, const struct block *block,
	const struct conf_pos *pos, const char *pattern, struct conf_faults *faults);

/*
 * Reads name, which from includes into block (both NULL: the main file). Faults of the file itself
 * have pos.
 */
static void read_one(struct conf *conf, const char *name, const struct conf_source *from,
	const struct block *block, const struct conf_pos *pos, struct conf_faults *faults)
{
	struct conf_source source = { .name = name,
		.from = from,
		.depth = from != NULL ? from->depth + 1 : 0,
		.block = block,
		.include = include };
	unsigned before = faults->n;
	char *buf = NULL;
	struct stat st;
	ssize_t n = -1;

	if (stat(name, &st) < 0)
		conf_fault(faults, pos, "cannot open \"%s\": %m", name);
	else if (!S_ISREG(st.st_mode))
		conf_fault(faults, pos, "\"%s\" is not a regular file", name);
	else if (is_open(from, &st))
		conf_fault(faults, pos, "\"%s\" includes itself", name);
	else if (st.st_size > CONF_FILE_MAX)
		conf_fault(faults, pos, "\"%s\" is larger than %d bytes", name, CONF_FILE_MAX);
	else if ((buf = malloc((size_t)st.st_size + 1)) == NULL)
		conf_fault_oom(faults, pos);
	else if ((n = file_read(name, buf, (size_t)st.st_size + 1)) < 0)
		conf_fault(faults, pos, "cannot open \"%s\": %s", name, strerror((int)-n));
	else if (n > st.st_size)
		conf_fault(faults, pos, "\"%s\" grew while h2d read it", name);
	if (faults->n > before) {
		faults->lost = true;
	} else if (n >= 0) {
		source.dev = st.st_dev;
		source.ino = st.st_ino;
		parse(conf, &source, slice_of(buf, (size_t)n), pos, faults);
	}
	free(buf);
}

static int on_glob_error(const char *path, int error)
{
	(void)path;
	return error != ENOENT && error != ENOTDIR;
}

/* The directory of source's name with a slash, "": the working directory; escaped for glob(3). */
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
		conf_fault(faults, pos, "cannot read the directory of \"%s\"", pattern);
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
	/* glob(3) cannot distinguish a missing file from a pattern without matches. */
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

/* Stores the text for key of section s in obj like the file's, but overrides that. */
static void override_set(struct conf *conf, struct conf_faults *faults, enum conf_section_id s,
	const char *key, void *obj, const char *text)
{
	const struct conf_row *row = conf_table_row(&conf_sections[s], slice_str(key));

	H2D_ASSERT(row != NULL);
	if (text == NULL)
		return;
	/* -T could not write it in a readable form. */
	if (conf_lex_has_control(text))
		conf_fault(faults, &conf_command_line, "a control byte in %s", key);
	else
		conf_value_set_text(&conf->arena, row, obj, text, &conf_command_line, faults);
}

static struct conf_listen *add_listen(
	struct conf *conf, struct conf_pos at, const char *host, uint64_t number)
{
	struct conf_listen *l =
		conf_table_add(&conf->arena, conf, &conf_sections[CONF_SECTION_LISTEN]);
	char address[64];

	if (l == NULL)
		return NULL;
	snprintf(address, sizeof(address), "%s:%u", host, (unsigned)number);
	l->address = arena_strdup(&conf->arena, address);
	l->optional = true;
	l->at = at;
	return l->address != NULL ? l : NULL;
}

/* A title without a host, ":443", means both families: its section once more, with the other's
 * address. */
static void both_families(struct conf *conf, struct conf_faults *faults)
{
	unsigned n = conf->nlistens;

	for (unsigned i = 0; i < n; i++) {
		const char *address = conf->listens[i].address;
		struct conf_listen *other;
		char *four, *six;

		if (address == NULL || address[0] != ':')
			continue;
		four = arena_printf(&conf->arena, "0.0.0.0%s", address);
		six = arena_printf(&conf->arena, "[::]%s", address);
		other = conf_table_add(&conf->arena, conf, &conf_sections[CONF_SECTION_LISTEN]);
		if (four == NULL || six == NULL || other == NULL) {
			conf_fault_oom(faults, &conf->listens[i].at);
			return;
		}
		conf->listens[i].optional = true;
		*other = conf->listens[i];
		conf->listens[i].address = four;
		other->address = six;
	}
}

static void port(struct conf *conf, struct conf_faults *faults, const struct conf_override *ov)
{
	struct conf_listen *l;
	uint64_t number;
	const char *why = conf_value_number(ov->port, 65535, &number);
	unsigned nown = 0;

	if (why != NULL) {
		conf_fault(faults, &conf_command_line,
			"-p must be a number from 0 to 65535, not %.64s: %s", ov->port, why);
		return;
	}
	/* In place of the public ones. */
	for (unsigned i = 0; i < conf->nlistens; i++)
		if (conf_listen_is_own(&conf->listens[i]))
			conf->listens[nown++] = conf->listens[i];
	conf->nlistens = nown;
	l = add_listen(conf, conf_command_line, "", number);
	if (l == NULL) {
		conf_fault_oom(faults, &conf_command_line);
		return;
	}
	l->tls = !ov->h2c && conf_has_certificate(conf);
	l->tls_at = conf_command_line;
}

/* The file may have no server; -r needs the default one. */
static struct conf_server *default_server(struct conf *conf)
{
	struct conf_server *s;

	if (conf->nservers > 0)
		return &conf->servers[conf_default_server(conf)];
	s = conf_table_add(&conf->arena, conf, &conf_sections[CONF_SECTION_SERVER]);
	if (s == NULL)
		return NULL;
	s->name = arena_strdup(&conf->arena, "_");
	return s->name != NULL ? s : NULL;
}

static void conf_override(
	struct conf *conf, const struct conf_override *ov, struct conf_faults *faults)
{
	struct conf_server *server = default_server(conf);

	if (server == NULL) {
		conf_fault_oom(faults, &conf_command_line);
		return;
	}
	override_set(conf, faults, CONF_SECTION_SERVER, "root", server, ov->root);
	override_set(conf, faults, CONF_SECTION_TLS, "certificate-key", &conf->tls, ov->key);
	override_set(conf, faults, CONF_SECTION_TLS, "certificate", &conf->tls, ov->cert);
	override_set(conf, faults, CONF_SECTION_GLOBAL, "worker-processes", conf, ov->workers);
	override_set(conf, faults, CONF_SECTION_GLOBAL, "dispatch", conf, ov->dispatch);
	override_set(conf, faults, CONF_SECTION_GLOBAL, "user", conf, ov->user);
	override_set(conf, faults, CONF_SECTION_GLOBAL, "pid-file", conf, ov->pid_file);
	override_set(conf, faults, CONF_SECTION_GLOBAL, "access-log", conf, ov->access_log);
	/* Requests are logged to the terminal when h2d is started by hand, without a file. */
	if (ov->terminal && ov->file == NULL && ov->access_log == NULL) {
		override_set(conf, faults, CONF_SECTION_GLOBAL, "access-log", conf, "stderr");
		override_set(conf, faults, CONF_SECTION_GLOBAL, "access-log-format", conf, "short");
	}
	if (ov->port != NULL)
		port(conf, faults, ov);
	both_families(conf, faults);
	if (conf->nlistens == 0 && !faults->lost &&
		(add_listen(conf, (struct conf_pos){ 0 }, "127.0.0.1", 8080) == NULL ||
			add_listen(conf, (struct conf_pos){ 0 }, "[::1]", 8080) == NULL))
		conf_fault_oom(faults, &conf_command_line);
}

/* --- watched files ---------------------------------------------------------------------------- */

static void call_for(const char *path, conf_watched_fn *fn, void *ctx)
{
	if (path != NULL && *path != '\0')
		fn(ctx, path);
}

static void call_for_each(const struct conf_list *list, conf_watched_fn *fn, void *ctx)
{
	for (unsigned i = 0; i < list->n; i++)
		call_for(list->v[i], fn, ctx);
}

static void of_pairs(const struct conf_pairs *p, conf_watched_fn *fn, void *ctx)
{
	call_for_each(&p->certificate, fn, ctx);
	call_for_each(&p->certificate_key, fn, ctx);
	call_for_each(&p->stapling_file, fn, ctx);
}

/* Thousands of servers made from one share its strings. */
static void of_server(const struct conf_server_tls *tls, const struct conf_server_tls *before,
	conf_watched_fn *fn, void *ctx)
{
	if (before == NULL || tls->pairs.certificate.v != before->pairs.certificate.v)
		of_pairs(&tls->pairs, fn, ctx);
	if (before == NULL || tls->client_ca != before->client_ca ||
		tls->client_crl != before->client_crl) {
		call_for(tls->client_ca, fn, ctx);
		call_for(tls->client_crl, fn, ctx);
	}
}

void conf_watched_each(const struct conf *conf, conf_watched_fn *fn, void *ctx)
{
	of_pairs(&conf->tls.pairs, fn, ctx);
	call_for(conf->tls.session_ticket_key_file, fn, ctx);
	for (unsigned i = 0; i < conf->nservers; i++)
		of_server(&conf->servers[i].tls, i > 0 ? &conf->servers[i - 1].tls : NULL, fn, ctx);
}

static void watched_look_at(void *ctx, const char *path)
{
	uint64_t *hash = ctx;
	struct file_id id = { 0 };
	struct stat st;

	if (stat(path, &st) == 0)
		id = file_id_of(&st);
	*hash = fnv_add(*hash, &id, sizeof(id));
}

uint64_t conf_watched_look(const struct conf *conf, uint64_t hosts)
{
	uint64_t hash = hosts;

	conf_watched_each(conf, watched_look_at, &hash);
	return hash;
}

/* The file may be a key: wiped. */
static void watched_read_file(void *ctx, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint64_t *hash = ctx;
	char buf[READ_BYTES];
	ssize_t n;

	while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) > 0)
		*hash = fnv_add(*hash, buf, (size_t)n);
	*hash = fnv_add(*hash, path, strlen(path) + 1);
	explicit_bzero(buf, sizeof(buf));
	if (fd >= 0)
		close(fd);
}

uint64_t conf_watched_read(const struct conf *conf, uint64_t hosts)
{
	uint64_t hash = hosts;

	conf_watched_each(conf, watched_read_file, &hash);
	return hash != 0 ? hash : 1;
}

/* --- the whole -------------------------------------------------------------------------------- */

static void build(struct conf *conf, const struct conf_override *ov, struct conf_faults *faults)
{
	if (ov->file != NULL)
		conf->path = arena_strdup(&conf->arena, ov->file);
	if (!conf_table_defaults(&conf->arena, conf, &conf_sections[CONF_SECTION_GLOBAL]) ||
		(ov->file != NULL && conf->path == NULL)) {
		conf_fault_oom(faults, &conf_command_line);
		return;
	}
	if (conf->path != NULL)
		read_one(conf, conf->path, NULL, NULL, &(struct conf_pos){ .file = conf->path },
			faults);
	if (!faults->oom)
		conf_override(conf, ov, faults);
	if (!faults->oom)
		conf_hosts_expand(conf, faults);
	if (!faults->oom)
		conf_check(conf, faults);
	/* Before one is read: later changes are seen the next time. */
	if (!faults->oom)
		conf->watched_seen = conf_watched_look(conf, conf->hosts_seen);
}

struct conf *conf_load_faulty(const struct conf_override *ov, conf_fault_fn *fault, void *ctx)
{
	struct conf_faults faults = { .fn = fault, .ctx = ctx };
	struct conf *conf = calloc(1, conf_table_handlers.size);

	if (conf == NULL) {
		conf_fault_oom(&faults, &conf_command_line);
		return NULL;
	}
	arena_init(&conf->arena, NULL, 0, ov->memory > 0 ? ov->memory : CONF_MEMORY_MAX);
	build(conf, ov, &faults);
	conf->faulty = faults.n > 0;
	if (conf->faulty && (faults.oom || !conf_table_mend(&conf->arena, conf,
						   &conf_sections[CONF_SECTION_GLOBAL])))
		conf_free(&conf);
	return conf;
}

struct conf *conf_load(const struct conf_override *ov, conf_fault_fn *fault, void *ctx)
{
	struct conf *conf = conf_load_faulty(ov, fault, ctx);

	if (conf != NULL && conf->faulty)
		conf_free(&conf);
	return conf;
}
