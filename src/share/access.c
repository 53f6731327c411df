/* access: finds the rule for a peer. Addresses are compared in binary form. */
#include "share/access.h"

const char *access_parse(const char *text, enum access_use use, struct access_rule *rule)
{
	const char *why;

	*rule = (struct access_rule){ .allow = use != ACCESS_DENY };
	rule->is_unix = strcmp(text, "unix") == 0;
	rule->is_all = use != ACCESS_TRUST && strcmp(text, "all") == 0;
	if (rule->is_unix || rule->is_all)
		return NULL;
	why = addr_range_parse(text, &rule->range);
	if (why != NULL && strcmp(why, ADDR_RANGE_NO_ADDRESS) == 0)
		return use == ACCESS_TRUST ? ADDR_RANGE_NO_ADDRESS " or \"unix\""
					   : ADDR_RANGE_NO_ADDRESS ", \"unix\" or \"all\"";
	return why;
}

static bool holds_for(const struct access_rule *rule, const struct addr *peer)
{
	if (rule->is_all)
		return true;
	if (rule->is_unix)
		return peer->sa.sa_family == AF_UNIX;
	return addr_range_contains(&rule->range, peer);
}

/* "unix" is as narrow as a single address, "all" wider than any range. */
static unsigned narrowness(const struct access_rule *rule)
{
	return rule->is_all ? 0 : 1 + (rule->is_unix ? ADDR_RANGE_BITS : rule->range.bits);
}

bool access_knows(const struct addr *peer)
{
	return peer->sa.sa_family == AF_INET || peer->sa.sa_family == AF_INET6 ||
	       peer->sa.sa_family == AF_UNIX;
}

const struct access_rule *access_rule_of(
	const struct access *a, const struct addr *peer, bool *any_allowed)
{
	const struct access_rule *best = NULL;

	*any_allowed = false;
	for (unsigned i = 0; i < a->n; i++) {
		const struct access_rule *rule = &a->rules[i];

		*any_allowed |= rule->allow;
		if (!holds_for(rule, peer))
			continue;
		if (best == NULL || narrowness(rule) > narrowness(best) ||
			(narrowness(rule) == narrowness(best) && !rule->allow))
			best = rule;
	}
	return best;
}

bool access_allows(const struct access *a, const struct addr *peer)
{
	const struct access_rule *rule;
	bool any_allowed;

	/* A peer of unknown address is refused wherever addresses count. */
	if (!access_knows(peer))
		return a->n == 0;
	rule = access_rule_of(a, peer, &any_allowed);
	return rule != NULL ? rule->allow : !any_allowed;
}
