/* check_proto: first bytes of connections, in pieces of every size. */

#include "proto/proto.h"
#include "unit_pure.h"

static const struct {
	const char *bytes;
	enum proto_sniffed whole; /* when all come at once */
} cases[] = {
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", PROTO_SNIFF_H2 },
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4", PROTO_SNIFF_H2 },
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n", PROTO_SNIFF_MORE }, { "P", PROTO_SNIFF_MORE },
	{ "GET / HTTP/1.1\r\n\r\n", PROTO_SNIFF_H1 },
	{ "PUT /a/longer/path/than/the/preface HTTP/1.0\r\n", PROTO_SNIFF_H1 },
	{ "INVALID CONNECTION PREFACE\r\n\r\n", PROTO_SNIFF_H1 },
	{ "\x16\x03\x01\x02", PROTO_SNIFF_H1 }, /* TLS */
};

TEST_ROWS(whole, cases)
{
	struct proto_sniff s = { 0 };
	size_t n = strlen(cases[_i].bytes), taken;

	ck_assert_int_eq(
		proto_sniff(&s, (const uint8_t *)cases[_i].bytes, n, &taken), cases[_i].whole);
	ck_assert_uint_eq(taken, n < PROTO_SNIFF_BYTES ? n : PROTO_SNIFF_BYTES);
	ck_assert_uint_eq(s.n, taken);
	ck_assert_mem_eq(s.bytes, cases[_i].bytes, taken);
}

/* The preface is told from other bytes at the first one that differs. */
TEST_ROWS(byte_by_byte, cases)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	const char *p = cases[_i].bytes;
	struct proto_sniff s = { 0 };

	for (size_t i = 0; p[i] != '\0' && i < PROTO_SNIFF_BYTES; i++) {
		size_t taken;
		enum proto_sniffed is = proto_sniff(&s, (const uint8_t *)p + i, 1, &taken);

		ck_assert_uint_eq(taken, 1);
		if (p[i] == preface[i]) {
			ck_assert_int_eq(
				is, i == PROTO_SNIFF_BYTES - 1 ? PROTO_SNIFF_H2 : PROTO_SNIFF_MORE);
		} else {
			ck_assert_int_eq(is, PROTO_SNIFF_H1);
			break;
		}
	}
}
