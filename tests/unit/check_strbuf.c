/* check_strbuf: growth, escapes of every byte, UTF-8 and what is none, memory that is out. */
#include "base/strbuf.h"

#include "base/human.h"
#include "unit_pure.h"

static bool no_memory;

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
	return no_memory ? NULL : __real_realloc(p, n);
}

static void is(struct strbuf *t, const char *want)
{
	ck_assert(!t->failed);
	ck_assert_msg(slice_eq(slice_of(t->p, t->n), slice_str(want)), "%.*s is not %s", (int)t->n,
		t->p, want);
	strbuf_fini(t);
}

TEST(test_grow)
{
	struct strbuf t = { 0 };

	for (int i = 0; i < 100000; i++) {
		strbuf_add(&t, SLICE("ab"));
		strbuf_printf(&t, "%c", 'c');
		strbuf_add(&t, SLICE(""));
	}
	ck_assert_uint_eq(t.n, 300000);
	for (size_t i = 0; i < t.n; i++)
		ck_assert_int_eq(t.p[i], "abc"[i % 3]);
	strbuf_printf(&t, "%*d", 500000, 7);
	ck_assert_uint_eq(t.n, 800000);
	ck_assert_int_eq(t.p[t.n - 1], '7');
	strbuf_fini(&t);
	ck_assert_ptr_null(t.p);
}

TEST(test_no_memory)
{
	struct strbuf t = { 0 };

	strbuf_add(&t, SLICE("kept"));
	no_memory = true;
	for (int i = 0; i < 1024; i++)
		strbuf_add(&t, SLICE("x"));
	no_memory = false;
	ck_assert(t.failed);
	strbuf_add(&t, SLICE("y"));
	strbuf_printf(&t, "y");
	ck_assert_ptr_null(memchr(t.p, 'y', t.n));
	ck_assert_mem_eq(t.p, "kept", 4);
	strbuf_fini(&t);
	ck_assert(!t.failed);
}

TEST_EACH(test_lengths_that_wrap, 2)
{
	/* With 4 bytes fewer the allocator is asked, and a sanitizer's ends the process for it. */
	for (size_t less = 0; less < 4; less++) {
		struct strbuf t = { 0 };

		strbuf_add(&t, SLICE("kept"));
		if (_i == 0)
			strbuf_add(&t, slice_of("", SIZE_MAX - less));
		else
			strbuf_add(&t, slice_of("", PTRDIFF_MAX - less));
		ck_assert(t.failed);
		ck_assert_uint_eq(t.n, 4);
		strbuf_fini(&t);
	}
}

TEST(test_html)
{
	struct strbuf t = { 0 };

	strbuf_html(&t, SLICE("<a href=\"x\">'&amp;'</a>`="));
	is(&t, "&lt;a href=&quot;x&quot;&gt;&#39;&amp;amp;&#39;&lt;/a&gt;`=");
	strbuf_html(&t, SLICE("a\0b\nc\x1f\x7f"));
	is(&t, "a\u2400b\u240ac\u241f\u2421");
	strbuf_html(&t, SLICE("gr\u00fc\u00df \u65e5\u672c \U0001f4c1"));
	is(&t, "gr\u00fc\u00df \u65e5\u672c \U0001f4c1");
	/* What turns text around is named; what only says how it is written stays. */
	strbuf_html(&t, SLICE("\u202efdp.exe \u2067x\u2069 a\u2028b\xc2\x85"));
	is(&t, "[U+202E]fdp.exe [U+2067]x[U+2069] a[U+2028]b[U+0085]");
	strbuf_html(&t, SLICE("\u200e\u200f\u200d\u202f\u2065\u206a\u00a0"));
	is(&t, "\u200e\u200f\u200d\u202f\u2065\u206a\u00a0");
}

#define BAD "\ufffd"

static const struct {
	const char *in, *out;
} broken[] = {
	{ "\x80", BAD },
	{ "\xc0\xaf", BAD BAD },
	{ "\xc1\xbf", BAD BAD },
	{ "\xe0\x9f\xbf", BAD BAD BAD },
	{ "\xe0\xa0\x80", "\xe0\xa0\x80" },
	{ "\xed\x9f\xbf", "\xed\x9f\xbf" },
	{ "\xed\xa0\x80", BAD BAD BAD },
	{ "\xf0\x8f\xbf\xbf", BAD BAD BAD BAD },
	{ "\xf0\x90\x80\x80", "\xf0\x90\x80\x80" },
	{ "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
	{ "\xf4\x90\x80\x80", BAD BAD BAD BAD },
	{ "\xf5\x80\x80\x80", BAD BAD BAD BAD },
	{ "\xfe\xff", BAD BAD },
	{ "\xc3", BAD },
	{ "\xe6\x97", BAD BAD },
	{ "\xf0\x9f\x93", BAD BAD BAD },
	{ "\xc3<", BAD "&lt;" },
	{ "\xe6\x97<script>", BAD BAD "&lt;script&gt;" },
	{ "\xf0\x9f\"\x81", BAD BAD "&quot;" BAD },
	{ "caf\xe9.txt", "caf" BAD ".txt" },
};

/* In memory of just the size, for the sanitizer. */
TEST_ROWS(test_broken, broken)
{
	struct strbuf t = { 0 };
	size_t n = strlen(broken[_i].in);
	char *in = malloc(n);

	ck_assert_ptr_nonnull(in);
	memcpy(in, broken[_i].in, n);
	strbuf_html(&t, slice_of(in, n));
	is(&t, broken[_i].out);
	free(in);
}

TEST(test_url)
{
	struct strbuf t = { 0 };

	for (int c = 0; c < 256; c++) {
		char byte = (char)c, want[4];

		strbuf_url(&t, slice_of(&byte, 1));
		if (c != 0 &&
			strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~",
				c))
			snprintf(want, sizeof(want), "%c", c);
		else
			snprintf(want, sizeof(want), "%%%02X", c);
		is(&t, want);
	}
}

TEST(numbers)
{
	char b[HUMAN_SIZE];

	ck_assert_str_eq(human_bytes(b, 1023), "1023 B");
	ck_assert_str_eq(human_bytes(b, 1536), "1.5 KiB");
	ck_assert_str_eq(human_bytes(b, 1024 * 1024 - 1), "1.0 MiB");
	ck_assert_str_eq(human_bytes(b, UINT64_MAX), "16 EiB");
}
