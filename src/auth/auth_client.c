/*
 * auth_client: counts wrong guesses and computes their delay. A client's memory is one block that
 * its account owns: freed with the account, never while a check holds that open.
 */
#include "auth/auth_check.h"

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

/* The user's place, else a free one, else a shared one. */
static struct auth_guess *guess_of(struct auth_client *c, uint32_t user)
{
	struct auth_guess *free = NULL;

	for (struct auth_guess *g = c->guesses; g != c->guesses + AUTH_GUESSES; g++) {
		if (is_forgiven(g))
			free = free != NULL ? free : g;
		else if (g->user == user)
			return g;
	}
	return free != NULL ? free : &c->guesses[user % AUTH_GUESSES];
}

void auth_client_wrong(struct auth_client *c, uint32_t user)
{
	struct auth_guess *g = guess_of(c, user);

	if (is_forgiven(g))
		*g = (struct auth_guess){ .user = user };
	g->failures++;
	g->failed_ms = clock_ms();
}

void auth_client_right(struct auth_client *c, uint32_t user)
{
	struct auth_guess *g = guess_of(c, user);

	if (g->user == user)
		g->failures = 0;
}

unsigned auth_client_failures(struct auth_client *c, uint32_t user)
{
	const struct auth_guess *g = guess_of(c, user);

	return is_forgiven(g) ? 0 : g->failures;
}

uint64_t auth_client_delay(struct auth_client *c, uint32_t user)
{
	const struct auth_guess *g = guess_of(c, user);
	unsigned failures = auth_client_failures(c, user);
	uint64_t delay = AUTH_FIRST_DELAY, passed = clock_ms() - g->failed_ms;

	for (unsigned i = 1; i < failures && delay < AUTH_DELAY_MAX; i++)
		delay *= 2;
	if (delay > AUTH_DELAY_MAX)
		delay = AUTH_DELAY_MAX;
	return failures > 0 && passed < delay ? delay - passed : 0;
}
