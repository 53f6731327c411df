/*
 * check_decoder: a file in a coding stands for one other content, byte for byte, and nothing is
 * read far behind the first difference; broken streams of all kinds are told, and none is a crash.
 */
#include "http/decoder.h"

#include <errno.h>

#include "coded_unit.h"
#include "unit.h"

enum { LARGE = 300000 };

static char plain[LARGE + 1];

static void setup(void)
{
	tree_init();
	for (int i = 0; i < LARGE; i++)
		plain[i] = (char)('a' + (i * 7 + i / 1000) % 26);
}

static struct decoder_bytes written(const char *name, const void *data, size_t n, size_t skip)
{
	struct decoder_bytes b = { .at = skip, .n = n - skip };

	tree_write(name, data, n);
	b.fd = open(tree_path(name), O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(b.fd, 0);
	return b;
}

/* Both lie behind three other bytes, as in a segment. */
static int compared(enum coding coding, const char *coded, size_t n, const char *text, size_t m)
{
	static char buf[2][2 * LARGE];
	struct decoder_bytes a, b;
	int rc;

	memcpy(buf[0] + 3, coded, n);
	memcpy(buf[1] + 3, text, m);
	a = written("coded", buf[0], n + 3, 3);
	b = written("plain", buf[1], m + 3, 3);
	rc = decoder_compare(coding, &a, &b);
	close(a.fd);
	close(b.fd);
	return rc;
}

START_TEST(verdicts)
{
	static const size_t sizes[] = { 0, 1, 65535, 65536, 65537, LARGE };
	static char coded[2 * LARGE];
	enum coding coding = (enum coding)_i;

	if (!compress_has(coding)) {
		ck_assert_int_eq(compared(coding, "x", 1, "x", 1), DECODER_NONE);
		return;
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t m = sizes[i];
		ssize_t wrote =
			compress_whole(coding, COMPRESS_BEST, plain, m, coded, sizeof(coded));
		size_t n = (size_t)wrote;

		ck_assert_int_gt(wrote, 0);
		ck_assert_int_eq(compared(coding, coded, n, plain, m), DECODER_SAME);
		ck_assert_int_eq(compared(coding, coded, n, plain, m + 1), DECODER_OTHER);
		if (m > 0)
			ck_assert_int_eq(compared(coding, coded, n, plain, m - 1), DECODER_OTHER);
		coded[n] = 'x';
		ck_assert_int_eq(compared(coding, coded, n + 1, plain, m), DECODER_LONG);
		ck_assert_int_eq(compared(coding, coded, n - 1, plain, m), DECODER_SHORT);
		ck_assert_int_eq(compared(coding, coded, 0, plain, m), DECODER_SHORT);
		if (m > 0) {
			plain[m - 1] ^= 1;
			ck_assert_int_eq(compared(coding, coded, n, plain, m), DECODER_OTHER);
			plain[m - 1] ^= 1;
		}
	}
}
END_TEST

/* One bit anywhere: never the same, and never worse than a verdict. */
START_TEST(bits_flipped)
{
	static char coded[2 * LARGE];
	ssize_t n;

	if (!compress_has((enum coding)_i))
		return;
	n = compress_whole((enum coding)_i, COMPRESS_BEST, plain, 3000, coded, sizeof(coded));
	ck_assert_int_gt(n, 0);
	for (ssize_t at = 0; at < n; at++) {
		int rc;

		coded[at] ^= (char)(1 << at % 8);
		rc = compared((enum coding)_i, coded, (size_t)n, plain, 3000);
		/* gzip has a time in its head, brotli hints: such a bit changes no content. */
		ck_assert_int_ge(rc, 0);
		ck_assert_int_lt(rc, DECODER_VERDICTS);
		ck_assert_str_ne(decoder_reason((enum decoder_verdict)rc), "");
		coded[at] ^= (char)(1 << at % 8);
	}
}
END_TEST

/* It became shorter than it was said to be. */
START_TEST(shorter_than_said)
{
	struct decoder_bytes a = written("coded", "", 0, 0), b = written("plain", "", 0, 0);

	a.n = 10;
	if (compress_has(CODING_GZIP))
		ck_assert_int_eq(decoder_compare(CODING_GZIP, &a, &b), -EAGAIN);
	close(a.fd);
	close(b.fd);
}
END_TEST

static int alone(enum coding coding, const char *coded, size_t n)
{
	struct decoder_bytes a = written("coded", coded, n, 0);
	int rc = decoder_check(coding, &a);

	close(a.fd);
	return rc;
}

/* Without a file to compare with: whole, and in that coding, as far as is looked. */
START_TEST(of_that_coding)
{
	enum coding coding = (enum coding)_i;
	size_t n, most = (size_t)DECODER_CHECKED + (1 << 20), room = 2 << 20;
	char *zeros = calloc(1, most), *coded = calloc(1, room);

	if (!compress_has(coding)) {
		ck_assert_int_eq(alone(coding, "x", 1), DECODER_NONE);
	} else {
		n = (size_t)compress_whole(coding, COMPRESS_SOON, plain, LARGE, coded, room);
		ck_assert_int_eq(alone(coding, coded, n), DECODER_SAME);
		ck_assert_int_eq(alone(coding, coded, n - 1), DECODER_SHORT);
		ck_assert_int_eq(alone(coding, coded, 0), DECODER_SHORT);
		ck_assert_int_eq(alone(coding, coded, n + 1), DECODER_LONG);
		ck_assert_int_eq(alone(coding, plain, LARGE), DECODER_BROKEN);
		n = (size_t)compress_whole(coding, COMPRESS_SOON, zeros, most, coded, room);
		ck_assert_int_eq(alone(coding, coded, n), DECODER_SAME);
		ck_assert_int_eq(alone(coding, coded, n - 1), DECODER_SAME);
	}
	free(zeros);
	free(coded);
}
END_TEST

static TCase *tests(void)
{
	TCase *tc = tcase_create("decoder");

	tcase_add_checked_fixture(tc, setup, tree_fini);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, verdicts, 0, CODINGS);
	tcase_add_loop_test(tc, bits_flipped, 0, CODINGS);
	tcase_add_test(tc, shorter_than_said);
	tcase_add_loop_test(tc, of_that_coding, 0, CODINGS);
	return tc;
}

UNIT_MAIN("decoder")
