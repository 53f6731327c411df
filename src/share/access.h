/*
 * access: allow and deny by address range. The most specific rule for the peer's address decides;
 * of two equally specific ones deny; without one: refused if another rule allows, else allowed.
 * Pure.
 */
#pragma once

#include "base/addr.h"

struct access_rule {
	struct addr_range range;
	bool is_unix; /* "unix": peers on unix: listeners; the range is not used */
	bool is_all;  /* "all": every peer; the range is not used */
	bool allow;
	const char *text; /* the configuration's text; not set by access_parse() */
};

struct access {
	const struct access_rule *rules;
	unsigned n;
};

enum access_use {
	ACCESS_DENY,
	ACCESS_ALLOW,
	ACCESS_TRUST, /* allows proxies: "all" is a fault */
};

/*
 * "10.0.0.0/8", "2001:db8::1", "unix", "all" (IPv4, IPv6, and peers on unix: listeners; "::/0" is
 * IPv6 alone). NULL, or the fault, a const string.
 */
const char *access_parse(const char *text, enum access_use use, struct access_rule *rule);

/* A peer of unknown address is refused by any rule, "all" included. */
bool access_knows(const struct addr *peer);
bool access_allows(const struct access *a, const struct addr *peer);

/*
 * The rule for a peer that access_knows(); NULL: none. *any_allowed: one of them allows, so that a
 * peer without a rule is refused.
 */
const struct access_rule *access_rule_of(
	const struct access *a, const struct addr *peer, bool *any_allowed);
