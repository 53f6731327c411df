/*
 * conf_balance: the table of what each dispatch can balance by. A dispatch that is added to its row
 * of conf.def gets a row here. Reads the conf only; what a balance does is the master's business.
 */
#include "conf/conf_balance.h"

#include <stdio.h>
#include <string.h>

static const char *const names[BALANCES] = { "auto", "hash", "cpu", "least-connections",
	"round-robin", "source-hash" };

/* In the order of the choices of dispatch. The first balance is what auto means. */
static const struct {
	const char *dispatch;
	enum conf_balance balances[BALANCES]; /* ends with BALANCE_AUTO */
} rows[] = {
	{ "reuseport", { BALANCE_HASH, BALANCE_CPU, BALANCE_LEAST_CONNECTIONS } },
	{ "acceptor", { BALANCE_LEAST_CONNECTIONS, BALANCE_ROUND_ROBIN, BALANCE_SOURCE_HASH } },
};

const char *conf_balance_name(enum conf_balance balance)
{
	return names[balance];
}

const char *conf_dispatch_name(enum conf_dispatch dispatch)
{
	return rows[dispatch].dispatch;
}

enum conf_balance conf_balance(const struct conf *conf)
{
	return conf->balance != BALANCE_AUTO ? (enum conf_balance)conf->balance
					     : rows[conf->dispatch].balances[0];
}

void conf_balance_check(const struct conf *conf, struct conf_faults *faults)
{
	const enum conf_balance *b = rows[conf->dispatch].balances;
	char all[128];
	int n = snprintf(all, sizeof(all), "auto");

	for (; *b != BALANCE_AUTO; b++) {
		if (*b == conf_balance(conf))
			return;
		n += snprintf(all + n, sizeof(all) - (size_t)n, ", %s", names[*b]);
	}
	conf_fault(faults, &conf->balance_at, "balance = %s is not for dispatch = %s, which has %s",
		names[conf->balance], rows[conf->dispatch].dispatch, all);
}
