/*
 * conf_path: checks paths. Called by the checks of conf; opens files only to check that it can, and
 * never changes them. It knows the restrictions of systemd/h2d.service.in: most of the disk is
 * read-only, root obeys modes, and /tmp is private (UNDER SYSTEMD of h2d(8)).
 */
#include "conf/conf_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* systemd has started this very process (systemd.exec(5)). */
static bool is_of_unit(void)
{
	const char *pid = getenv("SYSTEMD_EXEC_PID");

	return pid != NULL && atol(pid) == getpid();
}

const char *conf_path_cure(int error, const char *path)
{
	if (error == EROFS)
		return " (under systemd, add its directory to ReadWritePaths=: systemctl edit h2d)";
	if (error == EACCES && geteuid() == 0)
		return " (root cannot bypass modes here: chown root, or under systemd, "
		       "CapabilityBoundingSet=CAP_DAC_READ_SEARCH: systemctl edit h2d)";
	if (error == ENOENT && is_of_unit() &&
		(strncmp(path, "/tmp/", 5) == 0 || strncmp(path, "/var/tmp/", 9) == 0))
		return " (the unit has its own /tmp: move it, or PrivateTmp=no: systemctl edit "
		       "h2d)";
	return "";
}

/* By errno. */
static void cannot(
	const char *key, const char *path, const struct conf_pos *pos, struct conf_faults *faults)
{
	const char *cure = conf_path_cure(errno, path);

	if (errno == ENOENT && strstr(path, "/~") != NULL)
		cure = " (\"~\" is not expanded: write the whole path)";
	else if (errno == ENOENT && strchr(path, '$') != NULL)
		cure = " (write an environment variable as ${NAME})";
	conf_fault(faults, pos, "%s \"%s\": %m%s", key, path, cure);
}

bool conf_path_look(const char *key, const char *path, struct stat *st, const struct conf_pos *pos,
	struct conf_faults *faults)
{
	if (stat(path, st) == 0)
		return true;
	cannot(key, path, pos, faults);
	return false;
}

static bool check_readable(
	const char *key, const char *path, const struct conf_pos *pos, struct conf_faults *faults)
{
	struct stat st;
	int fd;

	/* Checked before it is opened: opening a device can have effects. */
	if (!conf_path_look(key, path, &st, pos, faults))
		return false;
	if (!S_ISREG(st.st_mode)) {
		conf_fault(faults, pos, "%s \"%s\" is not a regular file", key, path);
		return false;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		cannot(key, path, pos, faults);
		return false;
	}
	close(fd);
	return true;
}

void conf_path_readable(
	const char *key, char **path, const struct conf_pos *pos, struct conf_faults *faults)
{
	if (*path != NULL && **path != '\0' && !check_readable(key, *path, pos, faults))
		*path = NULL;
}

void conf_path_readables(const char *key, struct conf_list *paths, const struct conf_pos *pos,
	struct conf_faults *faults)
{
	bool ok = paths->v != NULL;

	for (unsigned i = 0; i < paths->n; i++)
		ok &= *paths->v[i] == '\0' || check_readable(key, paths->v[i], pos, faults);
	if (!ok)
		*paths = (struct conf_list){ 0 };
}

bool conf_path_is_wide(const char *folder)
{
	return strchr(folder + 1, '/') == NULL;
}

void conf_path_directory(
	const char *key, const char *path, const struct conf_pos *pos, struct conf_faults *faults)
{
	struct stat st;

	if (conf_path_look(key, path, &st, pos, faults) && !S_ISDIR(st.st_mode))
		conf_fault(faults, pos, "%s \"%s\" is not a directory", key, path);
}

/* path may be missing, but its directory exists. */
void conf_path_folder(struct conf *conf, const char *key, const char *path,
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
		conf_fault(faults, pos, "%s \"%s\": directory \"%s\": %m", key, path, folder);
	else if (!S_ISDIR(st.st_mode))
		conf_fault(faults, pos, "%s \"%s\": \"%s\" is not a directory", key, path, folder);
}
