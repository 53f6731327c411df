/*
 * proxy: begins again when more bytes have come. It refuses what it does not know: the client's
 * address may not be guessed.
 */
#include "net/proxy.h"

enum {
	LOCAL = 0x20, /* version 2 and the command, in one byte */
	PROXY = 0x21,
	STREAM = 1, /* the lower half of the family's byte */
	DGRAM = 2,
	INET = 1, /* the upper half */
	INET6 = 2,
	UNIX = 3,
	INET_BYTES = 12, /* two addresses, two ports */
	INET6_BYTES = 36,
	UNIX_BYTES = 216,
	TLV_HEAD = 3,
	TLV_CRC32C = 0x03,
	TLV_SSL = 0x20,
	TLV_SSL_CLIENT = 0x01, /* in its first byte: the client came by TLS */
	CRC_BYTES = 4,
};

static const char signature[] = "\r\n\r\n\0\r\nQUIT\n";
enum { SIGNATURE = sizeof(signature) - 1 };

static struct slice proxy_behind(struct slice s, size_t n)
{
	return slice_of(s.p + n, s.n - n);
}

/* --- version 1 -------------------------------------------------------------------------------- */

/* The next word of *rest. */
static struct slice cut_word(struct slice *rest)
{
	struct slice word;

	slice_cut(rest, ' ', &word);
	return word;
}

static bool is_port(struct slice s)
{
	return addr_number(s, UINT16_MAX) >= 0;
}

/* "192.0.2.1 198.51.100.1 56324 443": source and destination. */
static bool line_addresses(struct slice rest, int family, struct proxy *p)
{
	struct addr to;

	p->source = PROXY_CLIENT;
	return addr_parse_host(family, cut_word(&rest), &p->client) &&
	       addr_parse_host(family, cut_word(&rest), &to) && is_port(cut_word(&rest)) &&
	       is_port(rest);
}

static bool line_words(struct slice rest, struct proxy *p)
{
	struct slice protocol = cut_word(&rest);

	if (slice_eq(protocol, SLICE("TCP4")))
		return line_addresses(rest, AF_INET, p);
	if (slice_eq(protocol, SLICE("TCP6")))
		return line_addresses(rest, AF_INET6, p);
	/* The rest of an UNKNOWN line is ignored. */
	p->source = PROXY_UNKNOWN;
	return slice_eq(protocol, SLICE("UNKNOWN"));
}

static enum proxy_result parse_line(struct slice bytes, struct proxy *p)
{
	static const struct slice begin = SLICE_LIT("PROXY ");
	size_t n = bytes.n < PROXY_LINE_MAX ? bytes.n : PROXY_LINE_MAX;
	const char *end = memmem(bytes.p, n, "\r\n", 2);

	if (memcmp(bytes.p, begin.p, n < begin.n ? n : begin.n) != 0)
		return PROXY_BAD;
	if (end == NULL)
		return n < PROXY_LINE_MAX ? PROXY_MORE : PROXY_BAD;
	n = (size_t)(end - bytes.p);
	p->length = n + 2;
	return n >= begin.n && line_words(slice_of(bytes.p + begin.n, n - begin.n), p) ? PROXY_WHOLE
										       : PROXY_BAD;
}

/* --- version 2 -------------------------------------------------------------------------------- */

static unsigned number16(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return (unsigned)u[0] << 8 | u[1];
}

/* CRC-32C (RFC 9260, appendix A), bit by bit: few proxies send one, and once per connection. */
static uint32_t crc32c(uint32_t crc, struct slice s)
{
	for (size_t i = 0; i < s.n; i++) {
		crc ^= (unsigned char)s.p[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
	}
	return crc;
}

/* Checks the sum of the header, in which the sum itself, at sum, counts as zero. */
static bool sum_is_right(struct slice header, const char *sum)
{
	static const char zero[CRC_BYTES];
	size_t at = (size_t)(sum - header.p);
	uint32_t crc = crc32c(UINT32_MAX, slice_of(header.p, at));

	crc = crc32c(crc, slice_of(zero, CRC_BYTES));
	crc = ~crc32c(crc, proxy_behind(header, at + CRC_BYTES));
	return crc == ((uint32_t)number16(sum) << 16 | number16(sum + 2));
}

/* Reads the TLVs behind the addresses: type, length, value, in order. */
static bool read_tlvs(struct slice header, struct slice rest, struct proxy *p)
{
	while (rest.n > 0) {
		unsigned char type = (unsigned char)rest.p[0];
		struct slice value;

		if (rest.n < TLV_HEAD || number16(rest.p + 1) > rest.n - TLV_HEAD)
			return false;
		value = slice_of(rest.p + TLV_HEAD, number16(rest.p + 1));
		rest = proxy_behind(rest, TLV_HEAD + value.n);
		if (type == TLV_CRC32C && (value.n != CRC_BYTES || !sum_is_right(header, value.p)))
			return false;
		if (type == TLV_SSL)
			p->tls |= value.n > 0 && (value.p[0] & TLV_SSL_CLIENT) != 0;
	}
	return true;
}

static void set_client(int family, const char *address, struct proxy *p)
{
	p->source = PROXY_CLIENT;
	p->client.sa.sa_family = (sa_family_t)family;
	p->client.len = family == AF_INET ? sizeof(p->client.in) : sizeof(p->client.in6);
	if (family == AF_INET)
		memcpy(&p->client.in.sin_addr, address, sizeof(p->client.in.sin_addr));
	else
		memcpy(&p->client.in6.sin6_addr, address, sizeof(p->client.in6.sin6_addr));
}

static bool read_addresses(struct slice header, unsigned char family, struct proxy *p)
{
	static const size_t sizes[] = { 0, INET_BYTES, INET6_BYTES, UNIX_BYTES };
	struct slice rest = proxy_behind(header, PROXY_HEAD);
	unsigned kind = family >> 4, protocol = family & 15;

	p->source = PROXY_UNKNOWN;
	if (kind > UNIX || protocol > DGRAM || rest.n < sizes[kind])
		return false;
	if (kind == 0)
		return true;
	/* A unix path of the proxy's machine or another protocol is no address for us. */
	if (kind == INET && protocol == STREAM)
		set_client(AF_INET, rest.p, p);
	else if (kind == INET6 && protocol == STREAM)
		set_client(AF_INET6, rest.p, p);
	return read_tlvs(header, proxy_behind(rest, sizes[kind]), p);
}

static enum proxy_result parse_binary(struct slice bytes, struct proxy *p)
{
	unsigned char command;

	if (bytes.n < PROXY_HEAD)
		return PROXY_MORE;
	command = (unsigned char)bytes.p[SIGNATURE];
	p->length = PROXY_HEAD + number16(bytes.p + 14);
	if ((command != LOCAL && command != PROXY) || p->length > PROXY_MAX)
		return PROXY_BAD;
	if (bytes.n < p->length)
		return PROXY_MORE;
	/* The header of LOCAL is ignored. */
	if (command == LOCAL)
		return PROXY_WHOLE;
	return read_addresses(slice_of(bytes.p, p->length), (unsigned char)bytes.p[13], p)
		       ? PROXY_WHOLE
		       : PROXY_BAD;
}

enum proxy_result proxy_parse(struct slice bytes, struct proxy *p)
{
	enum proxy_result result;

	*p = (struct proxy){ .source = PROXY_LOCAL };
	if (bytes.n == 0)
		return PROXY_MORE;
	if (memcmp(bytes.p, signature, bytes.n < SIGNATURE ? bytes.n : SIGNATURE) == 0)
		result = parse_binary(bytes, p);
	else
		result = parse_line(bytes, p);
	if (result == PROXY_WHOLE && p->source == PROXY_CLIENT)
		addr_unmap(&p->client);
	return result;
}
