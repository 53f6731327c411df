/*
 * access_logs: finds the log of a request, and leaves out what the configuration leaves out. Called
 * by the worker; opens no file.
 */
#include "server/access_logs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"

static int set_skip(struct access_logs_way *way, const struct conf_list *paths)
{
	struct slice *v = calloc(paths->n + 1, sizeof(*v));

	if (v == NULL)
		return -1;
	for (unsigned i = 0; i < paths->n; i++)
		v[i] = slice_str(paths->v[i]);
	way->skip = v;
	way->nskip = paths->n;
	return 0;
}

static int set_ways(struct access_logs *l, const struct conf *conf)
{
	struct conf_access_logs all;

	conf_access_logs(conf, &all);
	H2D_ASSERT(all.n == l->n);
	for (unsigned i = 0; i <= conf->nservers; i++) {
		struct conf_access_log as = conf_access_log(conf, &all, i);
		struct access_logs_way *way = &l->ways[i];

		way->log = as.log >= 0 ? &l->v[as.log] : NULL;
		way->format = as.format;
		l->timed |= way->log != NULL &&
			    (way->format == ACCESS_JSON || way->format == ACCESS_SHORT);
		if (set_skip(way, as.skip) < 0)
			return -1;
	}
	return 0;
}

/* no-color.org, and what terminfo(5) calls a terminal that can do nothing. */
static bool wants_colours(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return (no == NULL || *no == '\0') && term != NULL && *term != '\0' &&
	       strcmp(term, "dumb") != 0;
}

int access_logs_init(struct access_logs *l, struct loop *loop, const struct conf *conf,
	const struct sites *sites, const int *fds, unsigned n)
{
	*l = (struct access_logs){ .sites = sites, .colours = wants_colours() };
	access_line_init(&l->line);
	H2D_ASSERT(sites->n == conf->nservers);
	l->v = calloc(n + 1, sizeof(*l->v));
	l->ways = calloc(conf->nservers + 1, sizeof(*l->ways));
	if (l->v == NULL || l->ways == NULL)
		return -1;
	for (; l->n < n; l->n++)
		if (access_log_init(&l->v[l->n], loop, fds[l->n]) < 0)
			return -1;
	return set_ways(l, conf);
}

static const struct access_logs_way *way_of(const struct access_logs *l, const struct h2d_req *req)
{
	if (req->conn->admin)
		return &l->ways[l->sites->n];
	/* A request that ended before its head was complete belongs to the server that needs no
	 * name. */
	return &l->ways[req->site != NULL ? req->site - l->sites->v : l->sites->fallback];
}

void access_logs_write(struct access_logs *l, const struct h2d_req *req)
{
	const struct access_logs_way *way;

	if (l->n == 0)
		return;
	way = way_of(l, req);
	if (way->log == NULL)
		return;
	for (unsigned i = 0; i < way->nskip; i++)
		if (site_prefix_owns(way->skip[i], req->path))
			return;
	l->line.colour = l->colours && way->log->terminal;
	access_log_write(way->log, &l->line, way->format, req);
}

void access_logs_reopened(struct access_logs *l, const int *fds, unsigned n)
{
	for (unsigned i = 0; i < l->n && i < n; i++) {
		access_log_flush(&l->v[i]);
		if (dup2(fds[i], l->v[i].fd) < 0)
			log_error("reopened log: %s", strerror(errno));
	}
}

void access_logs_fini(struct access_logs *l)
{
	for (unsigned i = 0; i < l->n; i++)
		access_log_fini(&l->v[i]);
	for (unsigned i = 0; l->ways != NULL && i <= l->sites->n; i++)
		free(l->ways[i].skip);
	free(l->ways);
	free(l->v);
	*l = (struct access_logs){ 0 };
}
