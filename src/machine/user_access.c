/*
 * user_access: tries files in a child process that has become the workers' user for good: the
 * kernel checks modes, groups, ACLs and the directories above.
 */
#include "machine/user_access.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auth/htpasswd.h"
#include "conf/conf_handlers.h"
#include "image/beneath.h"
#include "sandbox/sandbox_paths.h"

enum { LIMIT_S = 5, REFUSED_MAX = 5 }; /* a file system that hangs must not block a reload */

struct user_access {
	conf_fault_fn *warn;
	void *ctx;
	const char *users; /* the last checked password file */
	unsigned nrefused;
};

static void user_told(const struct user_access *u, const struct conf_pos *at, const char *key,
	const char *path, int error, const char *means)
{
	const char *why = error == EXDEV   ? "a symbolic link leads out of root"
			  : error == ELOOP ? "a symbolic link is not followed"
					   : strerror(error);
	char text[1024];

	snprintf(text, sizeof(text), "%s \"%.400s\": %s: %s", key, path, why, means);
	u->warn(u->ctx, at, text);
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
	char text[512];

	snprintf(text, sizeof(text), "\"%.*s\" is refused: %s (make a new hash: openssl passwd -6)",
		(int)(user.n < 64 ? user.n : 64), user.p, why);
	if (u->nrefused++ < REFUSED_MAX)
		u->warn(u->ctx, &(struct conf_pos){ .file = u->users, .line = line }, text);
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

void user_access_check(
	const struct conf *conf, const struct privs *privs, conf_fault_fn *warn, void *ctx)
{
	struct user_access u = { .warn = warn, .ctx = ctx };
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
		warn(ctx, &(struct conf_pos){ 0 }, "files were not checked: a file system hangs");
}
