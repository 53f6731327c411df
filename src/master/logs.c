/*
 * logs: opens, reopens and closes log files. Logs never follows a symbolic link: a log folder that
 * belongs to another user must not make root append to a file of that user's choice.
 */
#include "master/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"

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
		snprintf(err, errsize, "log %s: %s", path,
			errno == ELOOP ? "is a symbolic link, which is not followed"
				       : strerror(errno));
	return fd;
}

int logs_open(struct logs *l, const struct conf *conf, const struct privs *privs, char *err,
	size_t errsize)
{
	*l = LOGS_NONE;
	l->user = privs->drop ? privs->uid : 0;
	if (strcmp(conf->error_log, "stderr") == 0) {
		l->error = STDERR_FILENO;
	} else if (strcmp(conf->error_log, "syslog") != 0) {
		l->error_path = conf->error_log;
		l->error = log_file(l, l->error_path, err, errsize);
		if (l->error < 0)
			return -1;
	}
	if (strcmp(conf->access_log, "stdout") == 0) {
		l->access = STDOUT_FILENO;
	} else if (strcmp(conf->access_log, "off") != 0 && conf->access_log[0] != '\0') {
		l->access_path = conf->access_log;
		l->access = log_file(l, l->access_path, err, errsize);
		if (l->access < 0) {
			logs_close(l);
			return -1;
		}
	}
	return 0;
}

static int reopen(const struct logs *l, int fd, const char *path, char *err, size_t errsize)
{
	int new = log_file(l, path, err, errsize);
	int rc;

	if (new < 0)
		return -1;
	rc = dup3(new, fd, O_CLOEXEC);
	if (rc < 0)
		snprintf(err, errsize, "log %s: %s", path, strerror(errno));
	close(new);
	return rc < 0 ? -1 : 0;
}

int logs_reopen(struct logs *l, char *err, size_t errsize)
{
	int rc = 0;

	if (l->error_path != NULL)
		rc = reopen(l, l->error, l->error_path, err, errsize);
	if (l->access_path != NULL && reopen(l, l->access, l->access_path, err, errsize) < 0)
		rc = -1;
	return rc;
}

void logs_close(struct logs *l)
{
	if (l->error_path != NULL && l->error >= 0)
		close(l->error);
	if (l->access_path != NULL && l->access >= 0)
		close(l->access);
	*l = LOGS_NONE;
}
