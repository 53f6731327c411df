/*
 * logs: opens, reopens and closes log files. Logs never follows a symbolic link: a log directory of
 * another user must not make root append to a file of that user's choice.
 */
#include "master/gen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "conf/conf_path.h"

static int open_append(const char *path)
{
	return open(path,
		O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		0640);
}

static int open_as(const char *path, uid_t user)
{
	int fd, error;

	if (seteuid(user) < 0)
		return -1;
	fd = open_append(path);
	error = errno;
	H2D_ASSERT(seteuid(0) == 0);
	errno = error;
	return fd;
}

static int log_file(const struct logs *l, const char *path, char *err, size_t errsize)
{
	int fd = open_append(path);

	if (fd < 0 && errno == EACCES && l->user != 0)
		fd = open_as(path, l->user);
	if (fd < 0)
		snprintf(err, errsize, "log %s: %s%s", path,
			errno == ELOOP ? "must not be a symbolic link" : strerror(errno),
			conf_path_cure(errno, path));
	return fd;
}

static int open_error_log(struct logs *l, const struct conf *conf, char *err, size_t errsize)
{
	if (strcmp(conf->error_log, "syslog") == 0)
		return 0;
	if (strcmp(conf->error_log, "stderr") == 0) {
		l->error = STDERR_FILENO;
		return 0;
	}
	l->error_path = conf->error_log;
	l->error = log_file(l, l->error_path, err, errsize);
	return l->error < 0 ? -1 : 0;
}

static int open_access_log(struct logs *l, const char *name, char *err, size_t errsize)
{
	const char *path = NULL;
	int fd = STDOUT_FILENO;

	if (strcmp(name, "stderr") == 0)
		fd = STDERR_FILENO;
	else if (strcmp(name, "stdout") != 0)
		fd = log_file(l, path = name, err, errsize);
	if (fd < 0)
		return -1;
	l->access[l->naccess] = fd;
	l->access_paths[l->naccess++] = path;
	return 0;
}

int logs_open(struct logs *l, const struct conf *conf, const struct privs *privs,
	conf_fault_fn *fault, void *ctx)
{
	struct conf_access_logs all;
	char err[512];
	int rc;

	*l = LOGS_NONE;
	l->user = privs->drop ? privs->uid : 0;
	conf_access_logs(conf, &all);
	rc = open_error_log(l, conf, err, sizeof(err));
	if (rc < 0)
		fault(ctx, &conf->error_log_at, err);
	for (unsigned i = 0; i < all.n; i++) {
		if (open_access_log(l, all.v[i].name, err, sizeof(err)) == 0)
			continue;
		fault(ctx, all.v[i].at, err);
		rc = -1;
	}
	if (rc < 0)
		logs_close(l);
	return rc;
}

static void reopen(const struct logs *l, int fd, const char *path)
{
	char err[512];
	int new = log_file(l, path, err, sizeof(err));

	if (new < 0) {
		log_error("%s", err);
		return;
	}
	if (dup3(new, fd, O_CLOEXEC) < 0)
		log_error("log %s: cannot reopen: %s", path, strerror(errno));
	close(new);
}

void logs_reopen(const struct logs *l)
{
	if (l->error_path != NULL)
		reopen(l, l->error, l->error_path);
	for (unsigned i = 0; i < l->naccess; i++)
		if (l->access_paths[i] != NULL)
			reopen(l, l->access[i], l->access_paths[i]);
}

void logs_close(struct logs *l)
{
	if (l->error_path != NULL && l->error >= 0)
		close(l->error);
	for (unsigned i = 0; i < l->naccess; i++)
		if (l->access_paths[i] != NULL)
			close(l->access[i]);
	*l = LOGS_NONE;
}
