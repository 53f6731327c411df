/*
 * access: see access.h. Ranges are parsed once, by the reader of the configuration; a peer's address
 * per request, and only where there are rules for it. Never allocates.
 */
#include "http/access.h"

#include <arpa/inet.h>
#include <string.h>

enum { ADDRESS_BITS = 128, IPV4_BITS = 32, IPV4_AT = 12 };

/* n bytes of an address as text; the width it is counted in (32 or 128), 0 if it is none. */
static unsigned parse_address(const char *p, size_t n, uint8_t address[16])
{
	static const uint8_t mapped[IPV4_AT] = { [10] = 0xff, [11] = 0xff };
	char text[INET6_ADDRSTRLEN];

	if (n == 0 || n >= sizeof(text))
		return 0;
	memcpy(text, p, n);
	text[n] = '\0';
	if (inet_pton(AF_INET6, text, address) == 1)
		return ADDRESS_BITS;
	memcpy(address, mapped, IPV4_AT);
	return inet_pton(AF_INET, text, address + IPV4_AT) == 1 ? IPV4_BITS : 0;
}

/* Decimal without leading zeros, at most width; -1 if it is not. */
static int parse_bits(const char *p, unsigned width)
{
	unsigned v = 0;

	if (*p == '\0' || (p[0] == '0' && p[1] != '\0'))
		return -1;
	for (; *p != '\0'; p++) {
		if (*p < '0' || *p > '9')
			return -1;
		v = 10 * v + (unsigned)(*p - '0');
		if (v > width)
			return -1;
	}
	return (int)v;
}

static bool rest_is_zero(const uint8_t address[16], unsigned bits)
{
	for (unsigned i = bits; i < ADDRESS_BITS; i++)
		if (address[i / 8] & 0x80u >> i % 8)
			return false;
	return true;
}

const char *access_parse(const char *text, struct access_range *r)
{
	const char *slash = strchr(text, '/');
	size_t n = slash != NULL ? (size_t)(slash - text) : strlen(text);
	unsigned width;
	int bits;

	memset(r->address, 0, sizeof(r->address));
	r->bits = 0;
	r->is_unix = strcmp(text, "unix") == 0;
	r->is_all = strcmp(text, "all") == 0;
	if (r->is_unix || r->is_all)
		return NULL;
	width = parse_address(text, n, r->address);
	if (width == 0)
		return "not an IPv4 or IPv6 address, \"unix\" or \"all\"";
	bits = slash != NULL ? parse_bits(slash + 1, width) : (int)width;
	if (bits < 0)
		return width == IPV4_BITS ? "the prefix length is not a number from 0 to 32" :
					    "the prefix length is not a number from 0 to 128";
	r->bits = ADDRESS_BITS - width + (unsigned)bits;
	if (!rest_is_zero(r->address, r->bits))
		return "the address has bits set behind its prefix";
	return NULL;
}

/* width of the peer's address: 0 on unix: listeners. IPv6 ranges as wide as "::/0" hold IPv6 alone. */
static bool holds(const struct access_range *r, unsigned width, const uint8_t peer[16])
{
	unsigned whole = r->bits / 8, rest = r->bits % 8;

	if (r->is_all)
		return true;
	if (r->is_unix || width == 0)
		return r->is_unix && width == 0;
	return r->bits >= ADDRESS_BITS - width && memcmp(r->address, peer, whole) == 0 &&
	       (rest == 0 || ((r->address[whole] ^ peer[whole]) & 0xff00u >> rest & 0xff) == 0);
}

/* "unix" is as narrow as a single address, "all" wider than any range. */
static unsigned narrowness(const struct access_range *r)
{
	return r->is_all ? 0 : 1 + (r->is_unix ? ADDRESS_BITS : r->bits);
}

bool access_allows(const struct access *a, struct slice peer)
{
	bool is_unix = slice_eq(peer, SLICE("unix"));
	unsigned width = 0;
	const struct access_range *best = NULL;
	bool any_allowed = false;
	uint8_t address[16];

	/* A peer whose address cannot be told gets in nowhere where addresses count. */
	if (!is_unix)
		width = parse_address(peer.p, peer.n, address);
	if (!is_unix && width == 0)
		return a->n == 0;
	for (unsigned i = 0; i < a->n; i++) {
		const struct access_range *r = &a->ranges[i];

		any_allowed |= r->allow;
		if (!holds(r, width, address))
			continue;
		if (best == NULL || narrowness(r) > narrowness(best) ||
			(narrowness(r) == narrowness(best) && !r->allow))
			best = r;
	}
	return best != NULL ? best->allow : !any_allowed;
}
