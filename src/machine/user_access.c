/*
 * user_access: the tries are made in a child process that drops its privileges for good, so that
 * the kernel says what the workers will be told: modes, groups, ACLs and the folders above all
 * count. Called by gen for a start or a reload, and by main for -t.
 */
#include "machine/user_access.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auth/htpasswd.h"
#include "base/arena.h"
#include "base/name_map.h"
#include "conf/conf_handlers.h"
#include "image/beneath.h"
#include "sandbox/sandbox_paths.h"

enum { REFUSED_MAX = 5 };
enum { LIMIT_S = 5 }; /* a file system that hangs must not hold a reload for ever */

struct checker {
	const struct conf *conf;
	const struct privs *privs;
	conf_fault_fn *warn;
	void *ctx;
	const char *users;     /* the password file that was looked at last */
	unsigned nrefused;     /* users in it that nobody can be */
	struct name_map reach; /* paths that workers may open, once they are asked for */
	struct arena names;    /* of reach */
};

static void warn_of(struct checker *c, const struct conf_pos *pos, const char *what,
	const char *path, const char *why, const char *means)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s \"%.400s\": %s: %s", what, path, why, means);
	c->warn(c->ctx, pos, text);
}

/* 0, or errno. Only directories and regular files are opened: to open anything else can do
 * something. */
static int try_open(const char *path, mode_t type, int flags)
{
	struct stat st;
	int fd;

	if (stat(path, &st) < 0)
		return errno;
	if ((st.st_mode & S_IFMT) != type)
		return type == S_IFDIR ? ENOTDIR : EINVAL;
	fd = open(path, flags | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static const char *why_not(int error)
{
	if (error == EXDEV)
		return "a symbolic link leads out of root, see follow-links";
	return error == EINVAL ? "not a regular file" : strerror(error);
}

static void check_root(struct checker *c, const char *root, const struct conf_pos *at)
{
	int error = try_open(root, S_IFDIR, O_RDONLY | O_DIRECTORY);

	if (error != 0)
		warn_of(c, at, "root", root, why_not(error), "the workers cannot read it");
	else if (access(root, X_OK) < 0)
		warn_of(c, at, "root", root, strerror(errno),
			"the workers cannot open files in it");
}

/* The tree in which path is looked for: that of the longest prefix. */
static const char *root_of(const struct conf_server *s, const char *path)
{
	const char *root = s->root;
	size_t longest = 0;

	for (unsigned i = 0; i < s->nlocations; i++) {
		const struct conf_location *l = &s->locations[i];
		size_t n = l->prefix != NULL ? strlen(l->prefix) : 0;

		if (n <= longest || strncmp(path, l->prefix, n) != 0 ||
			(l->prefix[n - 1] != '/' && path[n] != '/' && path[n] != '\0'))
			continue;
		longest = n;
		root = l->root != NULL && *l->root != '\0' ? l->root : s->root;
	}
	return root;
}

/* Opens a path below root as the workers do. The descriptor, or -errno. */
static int open_beneath(const char *root, const char *path, unsigned flags)
{
	int at = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = at >= 0 ? beneath_open(at, path, flags) : -errno;

	if (at >= 0)
		close(at);
	return fd;
}

/* As the workers look for it below root, which path begins with. 0, or errno. */
static int try_file(
	const struct conf_server *s, const char *root, const char *file, const char *path)
{
	int error = try_open(path, S_IFREG, O_RDONLY), fd;

	if (error != 0 || sandbox_paths_links_of(s))
		return error;
	fd = open_beneath(root, file, BENEATH_PATH);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -fd : 0;
}

/* 0, or errno. */
static int try_uploads(const char *root, const char *folder)
{
	int fd = open_beneath(root, folder, BENEATH_DIR);
	int error = fd < 0 ? -fd : 0;

	if (fd >= 0 && faccessat(fd, ".", R_OK | W_OK | X_OK, 0) < 0)
		error = errno;
	if (fd >= 0)
		close(fd);
	return error;
}

static void check_uploads(struct checker *c, const struct conf_server *s)
{
	char path[4096];
	int error;

	if (s->upload_dir == NULL || *s->upload_dir == '\0' ||
		snprintf(path, sizeof(path), "%s/%s", s->root, s->upload_dir) >= (int)sizeof(path))
		return;
	error = try_uploads(s->root, s->upload_dir);
	if (error != 0)
		warn_of(c, &s->upload_dir_at, "upload-dir", path,
			error == ELOOP ? "a symbolic link is not followed" : strerror(error),
			error == EROFS
				? "the workers cannot store files in it (under systemd, name root "
				  "in ReadWritePaths=: systemctl edit h2d)"
				: "the workers cannot store files in it");
}

static void check_error_page(
	struct checker *c, const struct conf_server *s, const struct conf_error_page *e)
{
	char path[4096];
	int error;

	if (e->file == NULL ||
		snprintf(path, sizeof(path), "%s%s", s->root, e->file) >= (int)sizeof(path))
		return;
	error = try_file(s, s->root, e->file, path);
	if (error != 0)
		warn_of(c, &e->file_at, "error-page", path, why_not(error),
			"h2d's own page answers until it can be read");
}

static void check_fallback(
	struct checker *c, const struct conf_server *s, const struct conf_scope *scope)
{
	char path[4096];
	const char *root;
	int error;

	if (scope->fallback == NULL || *scope->fallback == '\0')
		return;
	root = root_of(s, scope->fallback);
	if (snprintf(path, sizeof(path), "%s%s", root, scope->fallback) >= (int)sizeof(path))
		return;
	error = try_file(s, root, scope->fallback, path);
	if (error != 0)
		warn_of(c, &scope->fallback_at, "fallback", path, why_not(error),
			"what is not there is answered with an error until it can be read");
}

static void refuse_user(void *ctx, unsigned line, struct slice user, const char *why)
{
	struct checker *c = ctx;
	struct conf_pos at = { .file = c->users, .line = line };
	char text[512];

	if (++c->nrefused > REFUSED_MAX)
		return;
	snprintf(text, sizeof(text),
		"%s: \"%.*s\" is refused, whatever the password (make a new hash: openssl passwd "
		"-6)",
		why, (int)(user.n < 64 ? user.n : 64), user.p);
	c->warn(c->ctx, &at, text);
}

/* Each file once, where locations that follow each other have the same. */
static void check_users(struct checker *c, const struct conf_scope *scope)
{
	char text[128];
	int n;

	if (c->users != NULL && strcmp(c->users, scope->auth_basic_file) == 0)
		return;
	c->users = scope->auth_basic_file;
	c->nrefused = 0;
	n = htpasswd_look(c->users, refuse_user, c);
	if (n == 0)
		warn_of(c, &scope->auth_basic_file_at, "auth-basic-file", c->users,
			"nobody is in it", "the workers can let nobody in");
	if (c->nrefused <= REFUSED_MAX)
		return;
	snprintf(text, sizeof(text), "%u more", c->nrefused - REFUSED_MAX);
	warn_of(c, &scope->auth_basic_file_at, "auth-basic-file", c->users,
		"users are refused, whatever the password", text);
}

static void check_passwords(struct checker *c, const struct conf_scope *scope)
{
	int error;

	if (scope->auth_basic_file == NULL || *scope->auth_basic_file == '\0')
		return;
	error = try_open(scope->auth_basic_file, S_IFREG, O_RDONLY);
	if (error != 0)
		warn_of(c, &scope->auth_basic_file_at, "auth-basic-file", scope->auth_basic_file,
			why_not(error), "the workers can let nobody in");
	else
		check_users(c, scope);
}

static void check_server(struct checker *c, const struct conf_server *s)
{
	if (s->root != NULL && *s->root != '\0') {
		check_root(c, s->root, &s->root_at);
		check_uploads(c, s);
		for (unsigned i = 0; i < s->nerror_pages; i++)
			check_error_page(c, s, &s->error_pages[i]);
		check_fallback(c, s, &s->scope);
		for (unsigned i = 0; i < s->nlocations; i++)
			check_fallback(c, s, &s->locations[i].scope);
	}
	check_passwords(c, &s->scope);
	for (unsigned i = 0; i < s->nlocations; i++) {
		const struct conf_location *l = &s->locations[i];

		check_passwords(c, &l->scope);
		if (l->root != NULL && *l->root != '\0')
			check_root(c, l->root, &l->root_at);
	}
}

/* A path that a handler opens itself. */
static void check_handler(
	void *ctx, const struct conf_row *row, const char *path, const struct conf_pos *at)
{
	char folder[4096];

	if (row->access == CONF_ACCESS_READ && access(path, R_OK) < 0)
		warn_of(ctx, at, row->name, path, strerror(errno), "its handler cannot read it");
	else if (row->access == CONF_ACCESS_WRITE &&
		 conf_handlers_folder(path, folder, sizeof(folder)) &&
		 (access(folder, R_OK | W_OK | X_OK) < 0 ||
			 (access(path, R_OK | W_OK) < 0 && errno != ENOENT)))
		warn_of(ctx, at, row->name, path, strerror(errno),
			"its handler cannot write there (the user of the workers must own it)");
}

static bool is_everybodys(const char *key)
{
	struct stat st;

	return stat(key, &st) == 0 && (st.st_mode & S_IROTH) != 0;
}

static void check_secret(
	struct checker *c, const char *name, const char *file, const struct conf_pos *pos)
{
	if (file != NULL && *file != '\0' && is_everybodys(file))
		warn_of(c, pos, name, file, "everybody on this machine may read it", "chmod o-r");
}

static void check_key(struct checker *c, const char *key, const struct conf_pos *pos)
{
	check_secret(c, "certificate-key", key, pos);
}

static void each_key(struct checker *c,
	void (*check)(struct checker *c, const char *key, const struct conf_pos *pos))
{
	const struct conf_tls *top = &c->conf->tls;

	for (unsigned k = 0; k < top->certificate_key.n; k++)
		check(c, top->certificate_key.v[k], &top->certificate_key_at);
	for (unsigned i = 0; i < c->conf->nservers; i++) {
		const struct conf_server_tls *tls = &c->conf->servers[i].tls;

		for (unsigned k = 0; k < tls->certificate_key.n; k++)
			check(c, tls->certificate_key.v[k], &tls->certificate_key_at);
	}
}

static void note_reach(void *ctx, const char *path, unsigned rights)
{
	struct checker *c = ctx;
	char real[4096];
	struct slice name;
	unsigned *value;

	(void)rights;
	if (path == NULL || realpath(path, real) == NULL ||
		name_map_get(&c->reach, slice_str(real)) != 0)
		return;
	name = arena_dup(&c->names, slice_str(real));
	value = name.p != NULL ? name_map_put(&c->reach, name) : NULL;
	if (value != NULL)
		*value = 1;
}

/* Where the workers are the master's own user, h2d is being tried out, and the key often lies
 * beside the root: the folders around roots are left out. */
static void note_roots(struct checker *c)
{
	for (unsigned i = 0; i < c->conf->nservers; i++) {
		const struct conf_server *s = &c->conf->servers[i];

		note_reach(c, s->root, 0);
		for (unsigned k = 0; k < s->nlocations; k++)
			note_reach(c, s->locations[k].root, 0);
	}
}

static void note_reaches(struct checker *c)
{
	sandbox_paths(c->conf, SANDBOX_PASSWORDS | SANDBOX_MORE, note_reach, c);
	if (c->privs->drop)
		sandbox_paths(c->conf, SANDBOX_ROOTS, note_reach, c);
	else
		note_roots(c);
}

/* The path that workers may open and that file is, or lies below; n 0: there is none. */
static struct slice reached(const struct checker *c, const char *file)
{
	size_t n = strlen(file);

	while (n > 0 && name_map_get(&c->reach, slice_of(file, n)) == 0)
		while (--n > 0 && file[n] != '/')
			;
	return slice_of(file, n);
}

/* A key that the user may read by its mode, Landlock keeps from the workers, unless it lies where
 * they have to read. */
static void check_reach(struct checker *c, const char *key, const struct conf_pos *pos)
{
	char real[4096], why[512];
	struct slice below;

	if (key == NULL || *key == '\0' || is_everybodys(key) ||
		try_open(key, S_IFREG, O_RDONLY) != 0 || realpath(key, real) == NULL)
		return;
	if (c->reach.n == 0)
		note_reaches(c);
	below = reached(c, real);
	if (below.n == 0)
		return;
	snprintf(why, sizeof(why), "the workers may read it, for it is below %.*s",
		below.n < 400 ? (int)below.n : 400, below.p);
	warn_of(c, pos, "certificate-key", key, why,
		"keep it elsewhere, or have the master start as root and the key readable by root "
		"alone");
}

static void check_as_user(struct checker *c)
{
	signal(SIGALRM, SIG_DFL);
	alarm(LIMIT_S);
	arena_init(&c->names, NULL, 0, SIZE_MAX);
	if (privs_drop(c->privs, c->conf->sandbox.drop_capabilities) < 0)
		return;
	for (unsigned i = 0; i < c->conf->nservers; i++)
		check_server(c, &c->conf->servers[i]);
	conf_handlers_paths(c->conf, check_handler, c);
	if (c->conf->sandbox.landlock)
		each_key(c, check_reach);
}

void user_access_check(
	const struct conf *conf, const struct privs *privs, conf_fault_fn *warn, void *ctx)
{
	struct checker c = { .conf = conf, .privs = privs, .warn = warn, .ctx = ctx };
	pid_t pid;
	int status;

	/* As the master, which may see the folder that keys are in. */
	each_key(&c, check_key);
	pid = fork();
	if (pid < 0)
		return;
	if (pid == 0) {
		check_as_user(&c);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		warn(ctx, &(struct conf_pos){ 0 },
			"roots and files were not tried to the end: a file system does not answer");
}
