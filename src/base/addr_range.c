/*
 * addr_range: parses CIDR ranges and compares addresses with them. The server calls the parser when
 * it reads the configuration, and addr_range_contains() per request where a rule names a range;
 * neither allocates, and no address becomes text here.
 */
#include "base/addr_range.h"

enum { IPV4_BITS = 32, IPV4_AT = 12 };

static const uint8_t mapped[IPV4_AT] = { [10] = 0xff, [11] = 0xff };

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

static bool rest_is_zero(const struct addr_range *r)
{
	for (unsigned i = r->bits; i < ADDR_RANGE_BITS; i++)
		if (r->address[i / 8] & 0x80u >> i % 8)
			return false;
	return true;
}

/* The address in 16 bytes; false for a socket that has none. */
static bool as_ipv6(const struct addr *a, uint8_t address[16])
{
	if (a->sa.sa_family == AF_INET6) {
		memcpy(address, &a->in6.sin6_addr, sizeof(a->in6.sin6_addr));
		return true;
	}
	memcpy(address, mapped, IPV4_AT);
	memcpy(address + IPV4_AT, &a->in.sin_addr, sizeof(a->in.sin_addr));
	return a->sa.sa_family == AF_INET;
}

const char *addr_range_parse(const char *text, struct addr_range *r)
{
	const char *slash = strchr(text, '/');
	struct slice host = slice_of(text, slash != NULL ? (size_t)(slash - text) : strlen(text));
	unsigned width = ADDR_RANGE_BITS;
	struct addr a;
	int bits;

	if (!addr_parse_host(AF_INET6, host, &a)) {
		width = IPV4_BITS;
		if (!addr_parse_host(AF_INET, host, &a))
			return ADDR_RANGE_NO_ADDRESS;
	}
	as_ipv6(&a, r->address);
	bits = slash != NULL ? parse_bits(slash + 1, width) : (int)width;
	if (bits < 0)
		return width == IPV4_BITS ? "the prefix length is not a number from 0 to 32"
					  : "the prefix length is not a number from 0 to 128";
	r->bits = ADDR_RANGE_BITS - width + (unsigned)bits;
	return rest_is_zero(r) ? NULL : "the address has bits set behind its prefix";
}

bool addr_range_contains(const struct addr_range *r, const struct addr *a)
{
	unsigned whole = r->bits / 8, rest = r->bits % 8;
	uint8_t address[16];

	if (!as_ipv6(a, address))
		return false;
	if (r->bits < ADDR_RANGE_BITS - IPV4_BITS && memcmp(address, mapped, IPV4_AT) == 0)
		return false;
	return memcmp(r->address, address, whole) == 0 &&
	       (rest == 0 || ((r->address[whole] ^ address[whole]) & 0xff00u >> rest & 0xff) == 0);
}
