/*
 * conf: derived facts of a finished configuration, its access logs, and its end. Called by its
 * makers and users; reads only the conf.
 */
#include "conf/conf.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf_table.h"

static const char *word_of(struct slice key, int value)
{
	return conf_table_word(conf_table_row(&conf_sections[CONF_SECTION_GLOBAL], key), value);
}

const char *conf_balance_name(enum conf_balance balance)
{
	return word_of(SLICE("balance"), (int)balance);
}

const char *conf_dispatch_name(enum conf_dispatch dispatch)
{
	return word_of(SLICE("dispatch"), (int)dispatch);
}

const enum conf_balance *conf_balances(const struct conf *conf)
{
	/* The first is the meaning of auto. */
	static const enum conf_balance of[][BALANCES] = {
		[DISPATCH_REUSEPORT] = { BALANCE_HASH, BALANCE_CPU },
		[DISPATCH_ACCEPTOR] = { BALANCE_LEAST_CONNECTIONS, BALANCE_SOURCE_HASH },
	};

	return of[conf->dispatch];
}

enum conf_balance conf_balance(const struct conf *conf)
{
	return conf->balance != BALANCE_AUTO ? (enum conf_balance)conf->balance
					     : conf_balances(conf)[0];
}

uint64_t conf_drain_ms(const struct conf *conf, bool stop)
{
	enum { LONGEST = 100 * 31536000LL };
	uint64_t s = stop ? conf->shutdown_timeout : conf->reload_timeout;

	return 1000 * (s == 0 && !stop ? LONGEST : s);
}

const char *conf_drain_key(bool stop)
{
	return stop ? "shutdown-timeout" : "reload-timeout";
}

unsigned conf_default_server(const struct conf *conf)
{
	for (unsigned i = 0; i < conf->nservers; i++)
		if (conf->servers[i].name != NULL && strcmp(conf->servers[i].name, "_") == 0)
			return i;
	return 0;
}

static bool is_below(const char *path, const char *prefix)
{
	size_t n = strlen(prefix);

	if (n == 0 || strncmp(path, prefix, n) != 0)
		return false;
	return prefix[n - 1] == '/' || strchr("/?#", path[n]) != NULL;
}

const struct conf_location *conf_location_of(const struct conf_server *s, const char *path)
{
	const struct conf_location *best = NULL;

	for (unsigned i = 0; i < s->nlocations; i++) {
		const struct conf_location *l = &s->locations[i];

		if (l->prefix != NULL && is_below(path, l->prefix) &&
			(best == NULL || strlen(l->prefix) > strlen(best->prefix)))
			best = l;
	}
	return best;
}

const struct conf_scope *conf_scope(const struct conf_server *s, unsigned i)
{
	return i == 0 ? &s->scope : &s->locations[i - 1].scope;
}

const char *conf_upload_dir(const struct conf_server *s, unsigned i, const struct conf_pos **at)
{
	*at = i == 0 ? &s->upload_dir_at : &s->locations[i - 1].upload_dir_at;
	return i == 0 ? s->upload_dir : s->locations[i - 1].upload_dir;
}

const struct conf_listen *conf_https(const struct conf *conf)
{
	for (unsigned i = 0; i < conf->nlistens; i++)
		if (conf->listens[i].tls && !conf->listens[i].admin)
			return &conf->listens[i];
	return NULL;
}

void conf_free(struct conf **conf)
{
	if (*conf == NULL)
		return;
	arena_reset(&(*conf)->arena);
	free(*conf);
	*conf = NULL;
}

/* NULL was refused: it was meant to exist. */
static bool is_named(const struct conf_list *paths)
{
	return paths->v == NULL || paths->n > 0;
}

static bool has_pair(const struct conf_pairs *p)
{
	return is_named(&p->certificate) || is_named(&p->certificate_key);
}

bool conf_has_certificate(const struct conf *conf)
{
	bool any = has_pair(&conf->tls.pairs);

	for (unsigned i = 0; i < conf->nservers; i++)
		any |= has_pair(&conf->servers[i].tls.pairs);
	return any;
}

/* --- access logs ------------------------------------------------------------------------------ */

/* NULL: none, or a refused one. */
static const char *log_name(const struct conf_log *log)
{
	return log->access_log != NULL && strcmp(log->access_log, "off") != 0 ? log->access_log
									      : NULL;
}

static int log_find(const struct conf_access_logs *all, const char *name)
{
	for (unsigned i = 0; name != NULL && i < all->n; i++)
		if (strcmp(all->v[i].name, name) == 0)
			return (int)i;
	return -1;
}

static void log_add(struct conf_access_logs *all, const struct conf_log *log)
{
	const char *name = log_name(log);

	if (name == NULL || log_find(all, name) >= 0)
		return;
	if (all->n < CONF_ACCESS_LOGS_MAX) {
		all->v[all->n].name = name;
		all->v[all->n++].at = &log->access_log_at;
	} else if (all->one_more == NULL) {
		all->one_more = &log->access_log_at;
	}
}

void conf_access_logs(const struct conf *conf, struct conf_access_logs *out)
{
	out->n = 0;
	out->one_more = NULL;
	log_add(out, &conf->log);
	for (unsigned i = 0; i < conf->nservers; i++)
		log_add(out, &conf->servers[i].log);
}

struct conf_access_log conf_access_log(
	const struct conf *conf, const struct conf_access_logs *all, unsigned i)
{
	const struct conf_log *log = i < conf->nservers ? &conf->servers[i].log : &conf->log;

	return (struct conf_access_log){
		.log = log_find(all, log_name(log)),
		.format = (enum access_format)log->access_log_format,
		.anonymous = log->access_log_anonymize,
		.skip = &log->access_log_skip,
	};
}
