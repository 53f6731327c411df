/*
 * auth_client: counts wrong guesses and tells the delay that they cost. A client's memory is one
 * block that its account owns: it goes with the account, never while a check holds that open.
 */
#include "request/auth_client.h"

#include <stdlib.h>

#include "base/clock.h"

struct auth_client *auth_client_of(struct account *account)
{
	if (account->auth == NULL)
		account->auth = calloc(1, sizeof(*account->auth));
	return account->auth;
}

static bool is_forgiven(const struct auth_guess *g)
{
	return g->failures == 0 || clock_ms() - g->failed_ms >= AUTH_FORGIVEN_MS;
}

struct auth_guess *auth_client_guess(struct auth_client *c, uint32_t user)
{
	struct auth_guess *free = NULL;

	for (struct auth_guess *g = c->guesses; g != c->guesses + AUTH_GUESSES; g++) {
		bool used = !is_forgiven(g) || g->nturns > 0;

		if (used && g->user == user)
			return g;
		if (!used && free == NULL)
			free = g;
	}
	if (free == NULL)
		return &c->guesses[user % AUTH_GUESSES];
	*free = (struct auth_guess){ .user = user };
	return free;
}

void auth_guess_failed(struct auth_guess *g, uint32_t user)
{
	if (is_forgiven(g)) {
		g->failures = 0;
		g->user = user;
	}
	g->failures++;
	g->failed_ms = clock_ms();
}

void auth_guess_right(struct auth_guess *g, uint32_t user)
{
	if (g->user == user)
		g->failures = 0;
}

uint64_t auth_guess_ready_ms(const struct auth_guess *g)
{
	uint64_t delay = AUTH_FIRST_DELAY;

	if (is_forgiven(g))
		return 0;
	for (unsigned i = 1; i < g->failures && delay < AUTH_DELAY_MAX; i++)
		delay *= 2;
	return g->failed_ms + (delay < AUTH_DELAY_MAX ? delay : AUTH_DELAY_MAX);
}
