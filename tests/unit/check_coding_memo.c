/* check_coding_memo: it says what coding_choose() says, the first time and later, whatever came
 * between. */
#include "files/files.h"

#include "unit.h"

static struct coding_memo memo;

static void same(const struct field *fields, unsigned n)
{
	for (unsigned available = 0; available < 1u << CODINGS; available++)
		for (int times = 0; times < 2; times++)
			ck_assert_int_eq(coding_memo_choose(&memo, fields, n, available),
				coding_choose(fields, n, available));
}

static struct field ae(const char *value)
{
	return (struct field){ SLICE("accept-encoding"), slice_str(value) };
}

TEST(values)
{
	static const char *const list[] = { "", "gzip", "br", "zstd", "*", "*;q=0", "identity;q=0",
		"gzip, deflate, br, zstd", "gzip;q=0.5, br;q=0.4", "identity, gzip;q=0.5",
		"nothing",
		"gzip                                                 ,br", /* 55 bytes */
		"gzip                                                  ,br", "GZIP", "gziq",
		"gzio" };
	unsigned n = sizeof(list) / sizeof(list[0]);

	for (unsigned times = 0; times < 3; times++)
		for (unsigned i = 0; i < n; i++) {
			struct field f[] = { { SLICE("accept"), SLICE("br") }, ae(list[i]),
				{ SLICE("x"), SLICE("*") }, ae(list[(i + 1) % n]) };

			same(f, 1);
			same(f, 3);
			same(f, 4); /* several fields are one list */
			same(f + 1, 1);
		}
}

/* More than it has places for, many of them on the same one. */
TEST(many)
{
	char text[64] = "gzip;q=0.000, br;q=0.000, zstd;q=0.000";

	srand(1);
	for (int i = 0; i < 20000; i++) {
		struct field f = ae(text);

		/* The digits behind the points. */
		text[9 + rand() % 3] = (char)('0' + rand() % 10);
		text[21 + rand() % 3] = (char)('0' + rand() % 10);
		text[35 + rand() % 3] = (char)('0' + rand() % 10);
		same(&f, 1);
	}
}
