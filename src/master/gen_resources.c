/* gen_resources: opens only the files of certificates, and keeps none of them open. */
#include "master/gen_resources.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auth/htpasswd.h"
#include "base/clock.h"
#include "base/log.h"
#include "conf/conf_handlers.h"
#include "http/compress.h"
#include "image/beneath.h"
#include "machine/cache_room.h"
#include "sandbox/sandbox.h"
#include "sandbox/sandbox_paths.h"
#include "sites/certs.h"

enum { SITES_MEMORY = 256 << 20 };

/* A configured coding that this build lacks is no fault: files are sent without it. */
static void warn_codings(const char *key, const struct conf_list *list, const struct conf_pos *at)
{
	if (at->file == NULL || at->outer > 0)
		return;
	for (unsigned i = 0; i < list->n; i++)
		for (unsigned c = 0; c < CODINGS; c++)
			if (slice_eq(coding_names[c], slice_str(list->v[i])) && !compress_has(c))
				log_warn("%s:%u: %s: this h2d was built without %s", at->file,
					at->line, key, list->v[i]);
}

static void warn_of_servers(const struct conf *conf)
{
	for (unsigned i = 0; i < conf->nservers; i++) {
		const struct conf_server *s = &conf->servers[i];

		if (i > 0 && s->at.file == s[-1].at.file && s->at.line == s[-1].at.line)
			continue; /* of one ${host} */
		for (unsigned j = 0; j <= s->nlocations; j++) {
			const struct conf_scope *p = conf_scope(s, j);

			warn_codings("compress", &p->compress, &p->compress_at);
			warn_codings("compress-responses", &p->compress_responses,
				&p->compress_responses_at);
		}
	}
}

int gen_resources_init(
	struct resources *r, const struct conf *conf, conf_fault_fn *fault, void *ctx)
{
	struct conf_faults faults = { .fn = fault, .ctx = ctx };
	char err[512];

	*r = (struct resources){ 0 };
	arena_init(&r->memory, NULL, 0, SITES_MEMORY);
	warn_codings("compress", &conf->cache.compress, &conf->cache.compress_at);
	warn_of_servers(conf);
	/* All of them: each may report faults. */
	if (privs_find(&r->privs, conf->user, err, sizeof(err)) < 0)
		conf_fault(&faults, &conf->user_at, "%s", err);
	certs_init(&r->certs, conf, &faults);
	client_cas_init(&r->client_cas, conf, &faults);
	/* Without memory for a table of either, it must not be read. */
	if (r->certs.of_server == NULL || r->client_cas.of_server == NULL)
		return -1;
	if (trees_init(&r->trees, conf, compress_built(), &faults))
		r->sites = sites_make(
			conf, &r->trees, &r->certs, r->client_cas.of_server, &r->memory, &faults);
	if (r->sites == NULL)
		return -1;
	certs_choose(&r->certs, &r->client_cas, r->sites);
	return faults.n == 0 ? 0 : -1;
}

/* Two locations apply to a file of the directory, because it has two paths. */
static bool has_writers(const struct site *site, const struct site_upload *u)
{
	char path[4096];

	for (unsigned i = 0; i < site->nlocations; i++)
		if (site->locations[i].store_folder.n > 0)
			return true;
	snprintf(path, sizeof(path), "%.*s/upload", SLICE_ARG(u->dir));
	if (site_location(site, u->form)->writers || site_location(site, slice_str(path))->writers)
		return true;
	snprintf(path, sizeof(path), "%.*s/upload", SLICE_ARG(u->url));
	return site_location(site, slice_str(path))->writers;
}

static void check_uploads(const struct site *site, struct conf_faults *warnings)
{
	for (const struct site_upload *u = site->uploads; u != site->uploads + site->nuploads;
		u++) {
		if (has_writers(site, u))
			continue;
		conf_fault(warnings, &u->at,
			"upload-dir refuses all uploads: set auth-basic-file, allow or "
			"allow-subject for %.*s, or upload-public = true",
			(int)(u->url.n < 100 ? u->url.n : 100), u->url.p);
	}
}

/* A worker has all of them open, and files and connections use the rest. */
static void check_roots(const struct resources *r, struct conf_faults *warnings)
{
	unsigned n = r->trees.files.nroots;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || n < sandbox_fewer(limit.rlim_max) / 2)
		return;
	conf_fault(warnings, &(struct conf_pos){ 0 },
		"%u roots need as many descriptors in each worker, of at most %ju: raise "
		"RLIMIT_NOFILE (LimitNOFILE= of a unit)",
		n, (uintmax_t)sandbox_fewer(limit.rlim_max));
}

/*
 * user_access: warns of files and directories that the workers' user may not open; none of it is a
 * fault, since files may come later. It tries them in a child process that has become that user for
 * good: the kernel checks modes, groups, ACLs and the directories above.
 */

enum { LIMIT_S = 5, REFUSED_MAX = 5 }; /* a file system that hangs must not block a reload */

struct user_access {
	struct conf_faults *warnings;
	const char *users; /* the last checked password file */
	unsigned nrefused;
};

static void user_told(const struct user_access *u, const struct conf_pos *at, const char *key,
	const char *path, int error, const char *means)
{
	const char *why = error == EXDEV   ? "a symbolic link leads out of root"
			  : error == ELOOP ? "a symbolic link is not followed"
					   : strerror(error);

	conf_fault(u->warnings, at, "%s \"%.400s\": %s: %s", key, path, why, means);
}

static void user_root(const struct user_access *u, const char *root, const struct conf_pos *at)
{
	if (*root != '\0' && access(root, R_OK | X_OK) < 0)
		user_told(u, at, "root", root, errno, "the workers cannot read it");
}

/* Opens name below root like the workers: a directory of uploads, or a file to send. */
static void user_beneath(const struct user_access *u, const struct conf_server *s, const char *root,
	const char *name, const struct conf_pos *pos, const char *key, const char *means)
{
	int at = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -errno;
	unsigned links = sandbox_paths_links_of(s) ? BENEATH_LEAVE : 0;
	bool uploads = strcmp(key, "upload-dir") == 0;
	char path[4096];
	struct stat st;

	if (at >= 0)
		fd = uploads ? beneath_open(at, name, BENEATH_DIR)
			     : beneath_open_file(at, name, links, &st);
	snprintf(path, sizeof(path), "%s%s%s", root, uploads ? "/" : "", name);
	if (fd < 0)
		user_told(u, pos, key, path, -fd, means);
	else if (uploads && faccessat(fd, ".", R_OK | W_OK | X_OK, 0) < 0)
		user_told(u, pos, key, path, errno, means);
	close(fd);
	close(at);
}

static void user_refused(void *ctx, unsigned line, struct slice user, const char *why)
{
	struct user_access *u = ctx;

	if (u->nrefused++ < REFUSED_MAX)
		conf_fault(u->warnings, &(struct conf_pos){ .file = u->users, .line = line },
			"\"%.*s\" is refused: %s (make a new hash: openssl passwd -6)",
			(int)(user.n < 64 ? user.n : 64), user.p, why);
}

/* root: of the fallback. */
static void user_scope(struct user_access *u, const struct conf_server *s, const char *root,
	const struct conf_scope *scope)
{
	const char *users = scope->auth_basic_file;
	bool inner = scope != &s->scope; /* inherited keys are reported for its server */
	int error;

	if (*root != '\0' && *scope->fallback != '\0' && !(inner && scope->fallback_at.outer > 0))
		user_beneath(u, s, root, scope->fallback, &scope->fallback_at, "fallback",
			"missing files are answered with an error until it is readable");
	/* Each file once, if successive locations have the same. */
	if (*users == '\0' || (inner && scope->auth_basic_file_at.outer > 0) ||
		(u->users != NULL && strcmp(u->users, users) == 0))
		return;
	u->users = users;
	error = -htpasswd_look(users, user_refused, u);
	if (error > 0)
		user_told(u, &scope->auth_basic_file_at, "auth-basic-file", users, error,
			"the workers must refuse all users");
}

static void user_pages(const struct user_access *u, const struct conf_server *s,
	const struct conf_error_page *v, unsigned n)
{
	for (unsigned i = 0; *s->root != '\0' && i < n; i++)
		user_beneath(u, s, s->root, v[i].file, &v[i].file_at, "error-page",
			"h2d sends its own page until it is readable");
}

static void user_server(struct user_access *u, const struct conf_server *s)
{
	const struct conf_pos *at;

	user_root(u, s->root, &s->root_at);
	for (unsigned i = 0; i <= s->nlocations; i++)
		if (*conf_upload_dir(s, i, &at) != '\0')
			user_beneath(u, s, s->root, conf_upload_dir(s, i, &at), at, "upload-dir",
				"the workers cannot store files in it (systemd: ReadWritePaths=)");
	user_pages(u, s, s->error_pages, s->nerror_pages);
	user_scope(u, s, s->root, &s->scope);
	for (unsigned i = 0; i < s->nlocations; i++) {
		const struct conf_location *l = &s->locations[i];
		bool own = strncmp(l->scope.fallback, l->prefix, strlen(l->prefix)) == 0;

		user_root(u, l->root, &l->root_at);
		user_pages(u, s, l->error_pages, l->nerror_pages);
		user_scope(u, s, own && *l->root != '\0' ? l->root : s->root, &l->scope);
	}
}

/* A path that a handler opens itself; a written one may not exist yet. */
static void user_handler(
	void *ctx, const struct conf_row *row, const char *path, const struct conf_pos *at)
{
	bool write = row->access == CONF_ACCESS_WRITE;
	char folder[4096];

	if (write && !conf_handlers_folder(path, folder, sizeof(folder)))
		return;
	if (access(write ? folder : path, write ? R_OK | W_OK | X_OK : R_OK) < 0)
		user_told(ctx, at, row->name, path, errno, "its handler cannot open it");
}

/*
 * Reports each problem once, from a child process, whose output must not need the caller's
 * memory; blocks until that is done, a few seconds at most.
 */
static void user_access_check(
	const struct conf *conf, const struct privs *privs, struct conf_faults *warnings)
{
	struct user_access u = { .warnings = warnings };
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		signal(SIGALRM, SIG_DFL);
		alarm(LIMIT_S);
		if (privs_drop(privs, conf->sandbox.drop_capabilities) < 0)
			_exit(0);
		for (unsigned i = 0; i < conf->nservers; i++)
			user_server(&u, &conf->servers[i]);
		conf_handlers_paths(conf, user_handler, &u);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		conf_fault(warnings, &(struct conf_pos){ 0 },
			"files were not checked: a file system hangs");
}

void gen_resources_check(
	const struct resources *r, const struct conf *conf, conf_fault_fn *warn, void *ctx)
{
	struct conf_faults warnings = { .fn = warn, .ctx = ctx };

	conf_warn(conf, &warnings);
	certs_check(&r->certs, conf, clock_wall().tv_sec, &warnings);
	client_cas_check(&r->client_cas, conf, clock_wall().tv_sec, &warnings);
	cache_room_check(conf, warn, ctx);
	user_access_check(conf, &r->privs, &warnings);
	for (unsigned i = 0; i < r->sites->n; i++) {
		site_locations_warn(&r->sites->v[i], &warnings);
		check_uploads(&r->sites->v[i], &warnings);
	}
	check_roots(r, &warnings);
}

void gen_resources_expire(struct resources *r, conf_fault_fn *warn)
{
	struct conf_faults warnings = { .fn = warn };
	int64_t now = clock_wall().tv_sec;

	for (unsigned i = 0; i < r->certs.n; i++)
		certs_check_staples(&r->certs.entries[i], now, &warnings);
	for (unsigned i = 0; i < r->client_cas.n; i++)
		client_cas_check_lists(&r->client_cas.entries[i], now, &warnings);
}

void gen_resources_fini(struct resources *r)
{
	certs_fini(&r->certs);
	client_cas_fini(&r->client_cas);
	trees_fini(&r->trees);
	arena_reset(&r->memory);
}
