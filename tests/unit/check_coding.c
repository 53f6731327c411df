/*
 * check_coding: accept-encoding fields in a table, all weights of four names in every order against
 * a second way to say the rules, and quality values.
 */
#include "http/coding.h"

#include "unit_pure.h"

enum {
	BR = 1 << CODING_BR,
	ZSTD = 1 << CODING_ZSTD,
	GZIP = 1 << CODING_GZIP,
	ALL = BR | ZSTD | GZIP
};

/* Several fields are lines; NULL is no field at all. */
static const struct {
	const char *fields;
	unsigned available;
	enum coding want;
} cases[] = {
	{ NULL, ALL, CODING_IDENTITY },
	{ "", ALL, CODING_IDENTITY },
	{ ",, ,", ALL, CODING_IDENTITY },

	/* what clients send */
	{ "gzip, deflate, br, zstd", ALL, CODING_BR },
	{ "gzip, deflate, br, zstd", ZSTD | GZIP, CODING_ZSTD },
	{ "gzip, deflate, br, zstd", GZIP, CODING_GZIP },
	{ "gzip, deflate, br, zstd", 0, CODING_IDENTITY },
	{ "gzip, deflate", ALL, CODING_GZIP },
	{ "gzip, deflate", BR | ZSTD, CODING_IDENTITY },
	{ "deflate, compress;q=0.9", ALL, CODING_IDENTITY },
	{ "gzip", ALL, CODING_GZIP },
	{ "GZip", ALL, CODING_GZIP },
	{ "x-gzip", ALL, CODING_GZIP },
	{ "X-GZIP;q=0.2", ALL, CODING_GZIP },
	{ "identity", ALL, CODING_IDENTITY },
	{ "*", ALL, CODING_BR },
	{ "*", 0, CODING_IDENTITY },

	/* weights */
	{ "br;q=0.5, gzip", ALL, CODING_GZIP },
	{ "br;q=0.999, gzip;q=1.000", ALL, CODING_GZIP },
	{ "br;q=0.001, gzip;q=0.002", ALL, CODING_GZIP },
	{ "gzip;q=0.8, zstd;q=0.8, br;q=0.8", ALL, CODING_BR },
	{ "br;q=0, gzip;q=0.001", ALL, CODING_GZIP },
	{ "br;q=0.000", ALL, CODING_IDENTITY },
	{ "gzip \t; \tq=0.5 , br;q=0.4", ALL, CODING_GZIP },
	{ "gzip;Q=0.5, br;q=0.4", ALL, CODING_GZIP },
	{ "gzip;q=0., br;q=1.", ALL, CODING_BR },

	/* identity */
	{ "gzip;q=0.5, identity", ALL, CODING_IDENTITY },
	{ "gzip, identity", ALL, CODING_GZIP },
	{ "gzip;q=0.5, identity;q=0.4", ALL, CODING_GZIP },
	{ "gzip;q=0.5", ALL, CODING_GZIP },
	{ "identity;q=0", ALL, CODING_NONE },
	{ "identity;q=0, gzip", ALL, CODING_GZIP },
	{ "identity;q=0, gzip", BR, CODING_NONE },
	{ "identity;q=0, gzip;q=0", ALL, CODING_NONE },
	{ "Identity;q=0.000", ALL, CODING_NONE },
	{ "identity;q=0, *", ALL, CODING_BR },
	{ "identity;q=0, *", 0, CODING_NONE },

	/* the asterisk */
	{ "*;q=0", ALL, CODING_NONE },
	{ "gzip, *;q=0", ALL, CODING_GZIP },
	{ "gzip, *;q=0", BR, CODING_NONE },
	{ "*;q=0, gzip", ALL, CODING_GZIP },
	{ "identity, *;q=0", ALL, CODING_IDENTITY },
	{ "identity;q=0.001, *;q=0", ALL, CODING_IDENTITY },
	{ "br;q=0, *", ALL, CODING_ZSTD },
	{ "gzip;q=0.5, *", GZIP, CODING_IDENTITY },
	{ "gzip;q=0.5, *;q=0.1", ALL, CODING_GZIP },
	{ "deflate, *;q=0.1", GZIP, CODING_GZIP },

	/* several fields are one list; the last of a name counts */
	{ "gzip;q=0.5\nbr;q=0.6", ALL, CODING_BR },
	{ "gzip\nidentity;q=0", BR, CODING_NONE },
	{ "\ngzip", ALL, CODING_GZIP },
	{ "gzip;q=0, gzip", ALL, CODING_GZIP },
	{ "gzip, x-gzip;q=0", ALL, CODING_IDENTITY },

	/* of other parameters none counts */
	{ "br;level=1;q=0.5, gzip;q=0.1", ALL, CODING_BR },

	/* malformed elements are skipped, the others count */
	{ "br;q=1.001, gzip;q=0.1", ALL, CODING_GZIP },
	{ "br;q=0.5000, gzip;q=0.1", ALL, CODING_GZIP },
	{ "br;q=2, gzip;q=0.1", ALL, CODING_GZIP },
	{ "br;q=-1, gzip;q=0.1", ALL, CODING_GZIP },
	{ "br;q=, gzip;q=0.1", ALL, CODING_GZIP },
	{ "br;q=.5, gzip;q=0.1", ALL, CODING_GZIP },
	{ "br;q=00.5, gzip;q=0.1", ALL, CODING_GZIP },
	{ "br;q=0,5, gzip;q=0.1", ALL, CODING_GZIP },
	{ "br;q= 0.5, gzip;q=0.1", ALL, CODING_GZIP },
	{ "br;q=0.5 x, gzip;q=0.1", ALL, CODING_GZIP },
	{ "br;q=\"1\", gzip;q=0.1", ALL, CODING_GZIP },
	{ "br gzip", ALL, CODING_IDENTITY },
	{ "brr, b, zst, gzip2, gz, identit, **", ALL, CODING_IDENTITY },
	{ ";q=1, =, \"br\", \"gzip", ALL, CODING_IDENTITY },
	{ "identity;q=0.0000", ALL, CODING_IDENTITY },
};

static unsigned split(const char *text, struct field *fields)
{
	unsigned n = 0;

	for (;;) {
		size_t len = strcspn(text, "\n");

		fields[n++] = (struct field){ SLICE_LIT("accept"), SLICE_LIT("gzip;q=0") };
		fields[n++] = (struct field){ SLICE_LIT("accept-encoding"), { text, len } };
		if (text[len] == '\0')
			return n;
		text += len + 1;
	}
}

TEST_ROWS(test_case, cases)
{
	struct field fields[8];
	unsigned n = cases[_i].fields != NULL ? split(cases[_i].fields, fields) : 0;

	ck_assert_msg(coding_choose(fields, n, cases[_i].available) == cases[_i].want, "%s",
		cases[_i].fields);
}

TEST(test_other_fields)
{
	const struct field fields[] = {
		{ SLICE_LIT("accept-encodinh"), SLICE_LIT("gzip") },
		{ SLICE_LIT("accept-encoding2"), SLICE_LIT("gzip") },
		{ SLICE_LIT("content-encoding"), SLICE_LIT("gzip") },
	};

	ck_assert_int_eq(coding_choose(fields, 3, ALL), CODING_IDENTITY);
}

/* The five names that the oracle sets, each with one of five weights, in all orders. */
static const char *const names[] = { "br", "zstd", "gzip", "identity", "*" };
static const struct {
	const char *text;
	int q;
} weights[] = { { NULL, -1 }, { ";q=0", 0 }, { ";q=0.25", 250 }, { ";q=0.3", 300 }, { "", 1000 } };

enum { NAMED = 5, WEIGHTS = 5, ALL_WEIGHTS = 3125 };

/*
 * RFC 9110, 12.5.3 said another way: of all that may be sent, identity first, each one that is
 * wanted at least as much as what was found before takes its place; identity nobody weighed is
 * wanted least.
 */
static enum coding oracle(const int *q, unsigned available)
{
	int any = q[4], id = q[3] >= 0 ? q[3] : any, found = -1;
	enum coding best = CODING_NONE;

	if (id != 0) {
		best = CODING_IDENTITY;
		found = id < 0 ? 0 : id;
	}
	for (int c = CODINGS - 1; c >= 0; c--) {
		int v = q[c] >= 0 ? q[c] : any;

		if ((available & 1u << c) && v > 0 && v >= found) {
			best = (enum coding)c;
			found = v;
		}
	}
	return best;
}

TEST(test_oracle)
{
	for (unsigned combination = 0; combination < ALL_WEIGHTS; combination++) {
		unsigned pick[NAMED], rest = combination;
		int q[NAMED];

		for (unsigned i = 0; i < NAMED; i++, rest /= WEIGHTS) {
			pick[i] = rest % WEIGHTS;
			q[i] = weights[pick[i]].q;
		}
		/* Ten of the orders: five beginnings, both ways round. */
		for (unsigned order = 0; order < 2 * NAMED; order++) {
			char text[128] = "";
			struct field f = { SLICE_LIT("accept-encoding"), { text, 0 } };

			for (unsigned i = 0; i < NAMED; i++) {
				unsigned at = (order % 2 ? i : NAMED - i) + order / 2;

				at %= NAMED;
				if (weights[pick[at]].text != NULL)
					sprintf(text + strlen(text), "%s%s%s",
						text[0] != '\0' ? ", " : "", names[at],
						weights[pick[at]].text);
			}
			f.value.n = strlen(text);
			for (unsigned available = 0; available <= ALL; available++)
				if (coding_choose(&f, 1, available) != oracle(q, available))
					ck_abort_msg("\"%s\" of %u", text, available);
		}
	}
}

/* All texts of up to five bytes out of those that matter: legal ones are those printf makes. */
TEST(test_values)
{
	static const char bytes[] = "0125.9 x";
	char text[16] = { 0 };

	for (int v = 0; v <= ACCEPT_MAX; v++) {
		snprintf(text, sizeof(text), "%d.%03d", v / 1000, v % 1000);
		for (size_t n = 5; n > 0; n--) {
			ck_assert_int_eq(accept_qvalue(slice_of(text, n)), v);
			if (n > 2 && text[n - 1] != '0')
				break;
		}
	}
	for (unsigned i = 0; i < 8 * 8 * 8 * 8 * 8 * 8; i++) {
		unsigned at = i;
		int got;

		for (unsigned k = 0; k < 6; k++, at /= 8)
			text[k] = bytes[at % 8];
		for (size_t n = 0; n <= 6; n++) {
			got = accept_qvalue(slice_of(text, n));
			if (got > ACCEPT_MAX ||
				(got >= 0 && (n == 0 || n > 5 || strspn(text, "0125.9") < n ||
						     (n > 1 && text[1] != '.'))))
				ck_abort_msg("%.*s", (int)n, text);
		}
	}
}

/* --- weights of media types ------------------------------------------------------------------- */

/* Several fields are lines; NULL is no field at all. */
static const struct {
	const char *fields;
	int html, json;
} accepts[] = {
	{ NULL, 1000, 1000 },
	{ "", 0, 0 },
	{ "*/*", 1000, 1000 },
	{ "text/html", 1000, 0 },
	{ "application/json", 0, 1000 },
	{ "Application/JSON", 0, 1000 },
	{ "application/json, */*;q=0.5", 500, 1000 },
	{ "*/*;q=0.5, application/json", 500, 1000 },
	{ "application/*", 0, 1000 },
	{ "application/*;q=0.3, application/json;q=0.2, */*;q=0.1", 100, 200 },
	{ "text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8", 1000, 800 },
	{ "application/json;q=0, */*", 1000, 0 },
	{ "application/json; charset=utf-8 ; q=0.4", 0, 400 },
	{ "application/json;q=0.4;ext=1", 0, 400 },
	{ "application/json;a=\"x;q=0.1,y\\\";q=0.2\";Q=0.7, text/html;q=0.6", 600, 700 },
	{ "text/html;q=0.1\napplication/json", 100, 1000 },
	{ "application/json;q=0.1, application/json;q=0.2", 0, 200 },

	{ "application/json;q=x, text/html;q=0.5", 500, 0 },
	{ "application/json;q=1.5", 0, 0 },
	{ "application/jso, pplication/json, application/json5, json, *, */json", 0, 0 },
	{ "application/, application, /, ;q=1, \"application/json\"", 0, 0 },
	{ "application/json;", 0, 1000 },
	{ "application/json;\"", 0, 1000 },
	{ "application/json;\"\\", 0, 1000 },
	{ "application/json;q", 0, 1000 },
};

TEST_ROWS(test_accept, accepts)
{
	const char *text = accepts[_i].fields;
	struct field fields[8];
	unsigned n = 0;

	while (text != NULL) {
		size_t len = strcspn(text, "\n");

		fields[n++] = (struct field){ SLICE_LIT("accept-language"), SLICE_LIT("*/*") };
		fields[n++] = (struct field){ SLICE_LIT("accept"), { text, len } };
		text = text[len] != '\0' ? text + len + 1 : NULL;
	}
	ck_assert_int_eq(accept_weight(fields, n, SLICE("text/html")), accepts[_i].html);
	ck_assert_int_eq(accept_weight(fields, n, SLICE("application/json")), accepts[_i].json);
}
