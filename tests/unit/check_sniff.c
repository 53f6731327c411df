/* check_sniff: first bytes of connections, in pieces of every size. */
#include <string.h>

#include "proto/sniff.h"
#include "unit.h"

static const struct {
	const char *bytes;
	enum sniffed whole; /* when all come at once */
} cases[] = {
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", SNIFF_H2 },
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4", SNIFF_H2 },
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n", SNIFF_MORE }, { "P", SNIFF_MORE },
	{ "GET / HTTP/1.1\r\n\r\n", SNIFF_H1 },
	{ "PUT /a/longer/path/than/the/preface HTTP/1.0\r\n", SNIFF_H1 },
	{ "INVALID CONNECTION PREFACE\r\n\r\n", SNIFF_H1 },
	{ "\x16\x03\x01\x02", SNIFF_H1 }, /* TLS */
};

START_TEST(whole)
{
	struct sniff s = { 0 };
	size_t n = strlen(cases[_i].bytes), taken;

	ck_assert_int_eq(
		sniff_take(&s, (const uint8_t *)cases[_i].bytes, n, &taken), cases[_i].whole);
	ck_assert_uint_eq(taken, n < SNIFF_BYTES ? n : SNIFF_BYTES);
	ck_assert_uint_eq(s.n, taken);
	ck_assert_mem_eq(s.bytes, cases[_i].bytes, taken);
}
END_TEST

/* The preface is told from other bytes at the first one that differs. */
START_TEST(byte_by_byte)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	const char *p = cases[_i].bytes;
	struct sniff s = { 0 };

	for (size_t i = 0; p[i] != '\0' && i < SNIFF_BYTES; i++) {
		size_t taken;
		enum sniffed is = sniff_take(&s, (const uint8_t *)p + i, 1, &taken);

		ck_assert_uint_eq(taken, 1);
		if (p[i] == preface[i]) {
			ck_assert_int_eq(is, i == SNIFF_BYTES - 1 ? SNIFF_H2 : SNIFF_MORE);
		} else {
			ck_assert_int_eq(is, SNIFF_H1);
			break;
		}
	}
}
END_TEST

static TCase *tests(void)
{
	TCase *c = tcase_create("sniff");
	int n = (int)(sizeof(cases) / sizeof(cases[0]));

	tcase_add_loop_test(c, whole, 0, n);
	tcase_add_loop_test(c, byte_by_byte, 0, n);
	return c;
}

UNIT_MAIN_PURE("sniff")
