/*
 * running_master: reads a configuration for its pid file, and looks at who has the file's lock.
 */
#include "cli/running_master.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "conf/conf_fault.h"
#include "machine/pidfile.h"

enum {
	QUIT_EXTRA_MS = 10000,
	QUIT_UNKNOWN_MS = 90000,
};

/* ctx: NULL to keep quiet. */
static void on_fault(void *ctx, const struct conf_pos *pos, const char *message)
{
	char text[CONF_FAULT_TEXT];

	if (ctx == NULL)
		return;
	conf_fault_format(pos, message, text, sizeof(text));
	fprintf(stderr, "%s%s\n", conf_fault_prefix(pos), text);
}

/* A file with faults is what `-s reload` is to tell of; it must find the master all the same. */
static bool take_conf(struct running_master *m, const struct conf *conf)
{
	if (!conf->faulty)
		m->quit_ms = (conf->shutdown_delay + conf->shutdown_timeout) * 1000 + QUIT_EXTRA_MS;
	return conf->pid_file[0] != '\0' && (size_t)snprintf(m->pid_file, sizeof(m->pid_file), "%s",
						    conf->pid_file) < sizeof(m->pid_file);
}

bool running_master_init(struct running_master *m, const struct conf_override *ov)
{
	struct conf *conf = conf_load_faulty(ov, on_fault, NULL);
	bool found;

	*m = (struct running_master){ .pidfd = -1, .quit_ms = QUIT_UNKNOWN_MS };
	found = conf != NULL && take_conf(m, conf);
	if (!found && (conf == NULL || conf->faulty))
		conf_load(ov, on_fault, m);
	conf_free(&conf);
	if (!found)
		fprintf(stderr, "h2d: -s needs a pid file: %s names none; use --pid-file\n",
			ov->file != NULL ? ov->file : "the command line");
	return found;
}

static bool nobody(const struct running_master *m, const char *why)
{
	fprintf(stderr, "h2d: no h2d is running with the pid file %s%s%s\n", m->pid_file,
		why != NULL ? ": " : "", why != NULL ? why : "");
	return false;
}

void running_master_let_go(struct running_master *m)
{
	if (m->pidfd >= 0)
		close(m->pidfd);
	m->pidfd = -1;
}

bool running_master_find(struct running_master *m)
{
	pid_t named = pidfile_holder(m->pid_file);
	int rc;

	do {
		m->pid = named;
		if (named <= 0)
			return nobody(m, named < 0 ? strerror(-named) : NULL);
		m->pidfd = pidfd_open(named, 0);
		rc = errno;
		named = pidfile_holder(m->pid_file);
		if (m->pidfd >= 0 && named == m->pid)
			return true;
		running_master_let_go(m);
	} while (named != m->pid); /* an upgrade has given its place to another one meanwhile */
	return nobody(m, strerror(rc));
}

bool running_master_is_gone(const struct running_master *m, int ms)
{
	struct pollfd p = { .fd = m->pidfd, .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

bool running_master_has_moved(const struct running_master *m)
{
	pid_t now = pidfile_holder(m->pid_file);

	return now > 0 && now != m->pid;
}
