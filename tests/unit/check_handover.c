/* check_handover: what is written down for the program that replaces this one is read back, whole
 * or not at all. */
#include "master/handover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static const char whole[] =
	"h2d-upgrade 2\n"
	"process 12\n"
	"generation 7\n"
	"request 3\n"
	"ticket-keys "
	"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff00112233445566778899aabb"
	"ccddeeff00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n"
	"ticket-keys-before "
	"ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff00112233445566778899aabb"
	"ccddeeff00112233445566778899aabbccddeeff00112233445566778899aabbccddee00\n"
	"ticket-age 4000\n"
	"may reign 2 17 18\n"
	"drained 1\n"
	"pid-file 3 /run/h2d/a pid\n"
	"doubts 4 5\n"
	"keeper 6\n"
	"listener 1 own 2 11 12 127.0.0.1:0\n"
	"listener 2 passed 1 13 [::1]:443\n"
	"listener 3 own 1 14 unix:/run/h2d/a sock\n"
	"end\n";

static const char *parse(struct handover *h, const char *text)
{
	char *copy = strdup(text);
	const char *wrong = handover_parse(h, copy);

	free(copy);
	return wrong;
}

static bool add(void *sum, int fd)
{
	*(int *)sum += fd;
	return true;
}

START_TEST(round_trip)
{
	struct strbuf out = { 0 };
	struct handover h;
	int sum = 0;

	ck_assert_ptr_null(parse(&h, whole));
	ck_assert_uint_eq(h.process, 12);
	ck_assert_uint_eq(h.tickets.n, 2);
	ck_assert_uint_eq(h.tickets.keys[0][79], 0xff);
	ck_assert_uint_eq(h.tickets.keys[1][0], 0xff);
	ck_assert_uint_eq(h.tickets.keys[1][79], 0);
	ck_assert_uint_eq(h.ticket_age, 4000);
	ck_assert_uint_eq(h.drained, 1);
	ck_assert_str_eq(h.pid_path, "/run/h2d/a pid");
	ck_assert(handover_each_fd(&h, add, &sum));
	ck_assert_int_eq(sum, 3 + 4 + 5 + 6 + 11 + 12 + 13 + 14 + 17 + 18);
	handover_format(&h, &out);
	ck_assert(!out.failed);
	ck_assert_uint_eq(out.n, sizeof(whole) - 1);
	ck_assert_int_eq(memcmp(out.p, whole, out.n), 0);
	strbuf_fini(&out);
	handover_fini(&h);
}
END_TEST

START_TEST(cut_short)
{
	char text[sizeof(whole)];
	struct handover h;

	for (size_t n = 0; n < sizeof(whole) - 1; n++) {
		memcpy(text, whole, n);
		text[n] = '\0';
		ck_assert_ptr_nonnull(parse(&h, text));
		handover_fini(&h);
	}
}
END_TEST

START_TEST(a_line_is_missing)
{
	struct handover h;

	ck_assert_str_eq(parse(&h, "h2d-upgrade 2\nprocess 1\nend\n"), "a line is missing");
	handover_fini(&h);
	ck_assert_ptr_nonnull(strstr(parse(&h, "h2d-upgrade 3\nend\n"), "another format"));
	handover_fini(&h);
}
END_TEST

static const char *const malformed[] = { "process x", "process -1", "process 4294967296",
	"process 1 2", "process ", "process", "ticket-keys 00", "ticket-keys-before 00",
	"ticket-age x", "drained 0", "drained x", "may", "may ", "may reign 1 3", "may reign 2 3",
	"may reign 2 3 4 5", "may sing", "may sing 1", "may sing x 3", "may sing 1 2 a",
	"may sing 65 3", "pid-file 2 /x", "pid-file 3", "pid-file 3 ", "doubts 4", "keeper 0",
	"listener 1 own 0 127.0.0.1:1", "listener 1 own 1 3", "listener 1 lent 1 3 127.0.0.1:1",
	"listener 1 own 5000 3 127.0.0.1:1", "listener 1 own 2 3 127.0.0.1:1",
	"listener 1 own 1 3 nowhere", "unknown 1", "" };

START_TEST(refused)
{
	char text[sizeof(whole) + 64];
	struct handover h;

	snprintf(text, sizeof(text), "h2d-upgrade 2\n%s\nend\n", malformed[_i]);
	ck_assert_str_ne(parse(&h, text), "a line is missing");
	handover_fini(&h);
	/* And twice what may be there once. */
	snprintf(text, sizeof(text), "h2d-upgrade 2\nkeeper 3\nkeeper 4\nend\n");
	ck_assert_str_eq(parse(&h, text), "a line is there too often");
	handover_fini(&h);
}
END_TEST

/* Lines that a program to come may add, and that this one need not know. */
START_TEST(lines_to_come)
{
	static const char more[] = "may sing 0\nmay sing 2 40 41 a song, and more\nmay sing 1 42\n";
	char text[2 * sizeof(whole)];
	struct strbuf out = { 0 };
	struct handover h;
	int sum = 0;

	snprintf(text, sizeof(text), "%.*s%send\n", (int)(sizeof(whole) - sizeof("end\n")), whole,
		more);
	ck_assert_ptr_null(parse(&h, text));
	ck_assert_int_eq(h.nspare, 3);
	ck_assert(handover_each_fd(&h, add, &sum));
	ck_assert_int_eq(sum, 3 + 4 + 5 + 6 + 11 + 12 + 13 + 14 + 17 + 18 + 40 + 41 + 42);
	handover_format(&h, &out);
	ck_assert_uint_eq(out.n, sizeof(whole) - 1);
	ck_assert_int_eq(memcmp(out.p, whole, out.n), 0);
	strbuf_fini(&out);
	handover_fini(&h);
}
END_TEST

static TCase *tests(void)
{
	TCase *t = tcase_create("handover");

	tcase_add_test(t, round_trip);
	tcase_add_test(t, cut_short);
	tcase_add_test(t, a_line_is_missing);
	tcase_add_test(t, lines_to_come);
	tcase_add_loop_test(t, refused, 0, sizeof(malformed) / sizeof(malformed[0]));
	return t;
}

UNIT_MAIN_PURE("handover")
