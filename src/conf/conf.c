/*
 * conf: what a configuration that was built says of itself, and its end. Called by those who build
 * it and those who use it; looks at nothing but the conf.
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
	/* The first is what auto means. */
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

void conf_free(struct conf **conf)
{
	if (*conf == NULL)
		return;
	arena_reset(&(*conf)->arena);
	free(*conf);
	*conf = NULL;
}

/* NULL was refused: it was meant to be there. */
static bool is_named(const struct conf_list *paths)
{
	return paths->v == NULL || paths->n > 0;
}

bool conf_has_certificate(const struct conf *conf)
{
	if (is_named(&conf->tls.certificate) || is_named(&conf->tls.certificate_key))
		return true;
	for (unsigned i = 0; i < conf->nservers; i++)
		if (is_named(&conf->servers[i].tls.certificate) ||
			is_named(&conf->servers[i].tls.certificate_key))
			return true;
	return false;
}
