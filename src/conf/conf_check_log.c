/*
 * conf_check_log: the checks of the logs. Called once per conf; changes nothing but their paths,
 * which become absolute as those of keys of type PATH are; opens none of them.
 */
#include "conf/conf_check_log.h"

#include <sys/stat.h>

#include "conf/conf_access_log.h"
#include "conf/conf_check_server.h"
#include "conf/conf_path.h"
#include "conf/conf_value.h"

/* A log is one of the words, or a file. */
static void check_log(struct conf *conf, const char *key, char **log, const char *const *words,
	const struct conf_pos *pos, struct conf_faults *faults)
{
	struct stat st;

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
	if (*log == NULL) {
		conf_fault_oom(faults, pos);
		return;
	}
	if (lstat(*log, &st) == 0 && S_ISLNK(st.st_mode))
		conf_fault(faults, pos, "%s \"%s\" is a symbolic link, which is not followed", key,
			*log);
	conf_path_folder(conf, key, *log, pos, faults);
}

static void check_skip(const struct conf_log *log, struct conf_faults *faults)
{
	const struct conf_list *skip = &log->access_log_skip;

	for (unsigned i = 0; skip->v != NULL && i < skip->n; i++)
		if (strchr(skip->v[i], '*') != NULL || !conf_check_server_path(skip->v[i]))
			conf_fault(faults, &log->access_log_skip_at,
				"access-log-skip: \"%.200s\" is no path; it is written \"/PATH\" "
				"or \"/PATH/\"",
				skip->v[i]);
}

static void check_access_log(struct conf *conf, struct conf_log *log, struct conf_faults *faults)
{
	static const char *const words[] = { "off", "stdout", "stderr", NULL };

	check_log(conf, "access-log", &log->access_log, words, &log->access_log_at, faults);
	check_skip(log, faults);
}

void conf_check_logs(struct conf *conf, struct conf_faults *faults)
{
	static const char *const words[] = { "stderr", "syslog", NULL };
	struct conf_access_logs all;

	check_log(conf, "error-log", &conf->error_log, words, &conf->error_log_at, faults);
	check_access_log(conf, &conf->log, faults);
	for (unsigned i = 0; i < conf->nservers; i++)
		check_access_log(conf, &conf->servers[i].log, faults);
	conf_access_logs(conf, &all);
	if (all.one_more != NULL)
		conf_fault(faults, all.one_more, "there are more than %d access logs",
			CONF_ACCESS_LOGS_MAX);
}
