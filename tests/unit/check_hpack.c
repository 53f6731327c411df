/*
 * check_hpack: nghttp2's decoder makes of each block the fields that went in, whatever came before:
 * fields that repeat and that never do, tables of all sizes, blocks that were given up, malloc(3)
 * that fails (linked with --wrap).
 */
#include "proto/hpack.h"

#include <nghttp2/nghttp2.h>

#include "base/assert.h"
#include "unit_pure.h"

enum { FIELDS = 40, TEXT = 3000, BLOCK = FIELDS * (TEXT + 64) };

static struct hpack hpack;
static nghttp2_hd_inflater *inflater;
static uint8_t block[BLOCK];
static uint64_t seed;

static bool no_memory;
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

void *__wrap_malloc(size_t n)
{
	return no_memory ? NULL : __real_malloc(n);
}

static unsigned draw(unsigned below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 11) % below;
}

static void begin(void)
{
	seed = 88172645463325252u;
	hpack_init(&hpack);
	ck_assert_int_eq(nghttp2_hd_inflate_new(&inflater), 0);
}

static void end(void)
{
	hpack_clear(&hpack);
	nghttp2_hd_inflate_del(inflater);
}

static bool is(nghttp2_nv nv, struct slice name, struct slice value)
{
	return slice_eq(slice_of(nv.name, nv.namelen), name) &&
	       slice_eq(slice_of(nv.value, nv.valuelen), value);
}

/* The decoder makes n fields of the block in front of its end, behind :status where one is given.
 */
static void decodes(const uint8_t *to, const char *status, const struct field *fields, unsigned n)
{
	const uint8_t *p = block;
	unsigned found = 0;
	bool in_front = status != NULL;

	for (int flags = 0; !(flags & NGHTTP2_HD_INFLATE_FINAL);) {
		nghttp2_nv nv;
		ssize_t taken =
			nghttp2_hd_inflate_hd2(inflater, &nv, &flags, p, (size_t)(to - p), 1);

		ck_assert_int_ge(taken, 0);
		p += taken;
		if (!(flags & NGHTTP2_HD_INFLATE_EMIT))
			continue;
		if (in_front) {
			ck_assert(is(nv, SLICE(":status"), slice_str(status)));
			in_front = false;
			continue;
		}
		ck_assert_uint_lt(found, n);
		ck_assert(is(nv, fields[found].name, fields[found].value));
		found++;
	}
	ck_assert_ptr_eq(p, to);
	ck_assert_uint_eq(found, n);
	nghttp2_hd_inflate_end_headers(inflater);
}

static size_t encode(const struct field *fields, unsigned n)
{
	uint8_t *to = hpack_fields(&hpack, fields, n, block, block + sizeof(block));

	ck_assert_ptr_nonnull(to);
	decodes(to, NULL, fields, n);
	return (size_t)(to - block);
}

static const struct field usual[] = {
	{ SLICE_LIT("content-type"), SLICE_LIT("text/html; charset=utf-8") },
	{ SLICE_LIT("etag"), SLICE_LIT("\"{ungWv48Bz-pB}\"") },
	{ SLICE_LIT("last-modified"), SLICE_LIT("Tue, 25 Nov 2025 10:11:12 GMT") },
	{ SLICE_LIT("accept-ranges"), SLICE_LIT("bytes") },
	{ SLICE_LIT("vary"), SLICE_LIT("accept-encoding") },
	{ SLICE_LIT("date"), SLICE_LIT("Tue, 25 Nov 2025 10:11:13 GMT") },
	{ SLICE_LIT("server"), SLICE_LIT("h2d/1.0") },
	{ SLICE_LIT("content-length"), SLICE_LIT("612") },
	{ SLICE_LIT("x-own"), SLICE_LIT("") },
};

/* What was said before takes a byte; a tag and a length are said each time. */
TEST(repeats)
{
	enum { N = sizeof(usual) / sizeof(usual[0]) };
	struct field other[N];

	begin();
	ck_assert_uint_gt(encode(usual, N), 100);
	ck_assert_uint_eq(encode(usual, N), 7 + (2 + 1 + 16) + (2 + 1 + 3));
	/* In another order, too. */
	for (unsigned i = 0; i < N; i++)
		other[i] = usual[N - 1 - i];
	ck_assert_uint_eq(encode(other, N), 7 + (2 + 1 + 16) + (2 + 1 + 3));
	end();
}

TEST(every_byte)
{
	char text[256] = "";
	struct field f = { SLICE("x"), slice_of(text, 1) };

	begin();
	for (unsigned i = 0; i < sizeof(text); i++) {
		text[0] = (char)i;
		encode(&f, 1);
	}
	for (unsigned n = 0; n <= sizeof(text); n++) {
		for (unsigned i = 0; i < n; i++)
			text[i] = (char)(n + i);
		f.value.n = n;
		encode(&f, 1);
		/* Short in Huffman's code. */
		memset(text, 'e', n);
		ck_assert_uint_le(encode(&f, 1), n * 5 / 8 + 12);
	}
	end();
}

TEST(statuses)
{
	char text[16];

	begin();
	for (int status = 100; status < 600; status++) {
		uint8_t *to = hpack_status(status, block);

		ck_assert_int_le(to - block, HPACK_STATUS_MAX);
		snprintf(text, sizeof(text), "%d", status);
		decodes(to, text, NULL, 0);
	}
	end();
}

static struct slice random_text(char *to, unsigned most)
{
	unsigned n = draw(4) == 0 ? draw(most) : draw(20), bytes = draw(3) == 0 ? 256 : 26;

	for (unsigned i = 0; i < n; i++)
		to[i] = (char)('a' + draw(bytes));
	return slice_of(to, n);
}

/* Fields of a few that come again and again, as they are or with a byte changed, and others. */
static unsigned random_fields(struct field *fields, char text[FIELDS][2][TEXT])
{
	unsigned n = draw(FIELDS);

	for (unsigned i = 0; i < n; i++) {
		fields[i] = usual[draw(sizeof(usual) / sizeof(usual[0]))];
		if (draw(3) == 0)
			fields[i].value = random_text(text[i][1], draw(8) == 0 ? TEXT : 100);
		if (draw(8) == 0)
			fields[i].name = random_text(text[i][0], draw(8) == 0 ? TEXT : 50);
		if (draw(6) == 0 && fields[i].value.n < TEXT && fields[i].value.n > 0) {
			memmove(text[i][1], fields[i].value.p, fields[i].value.n);
			text[i][1][draw((unsigned)fields[i].value.n)] = (char)('0' + draw(2));
			fields[i].value.p = text[i][1];
		}
	}
	return n;
}

/* A change of the table's size as nghttp2 says it, with no field behind it. */
static size_t resize(nghttp2_hd_deflater *deflater)
{
	static const unsigned sizes[] = { 0, 31, 33, 64, 200, 1000, 4095, 4096, 65536 };
	unsigned times = 1 + draw(3);
	ssize_t n;

	for (unsigned i = 0; i < times; i++) {
		unsigned size = sizes[draw(sizeof(sizes) / sizeof(sizes[0]))];

		nghttp2_hd_inflate_change_table_size(inflater, size);
		ck_assert_int_eq(nghttp2_hd_deflate_change_table_size(deflater, size), 0);
	}
	n = nghttp2_hd_deflate_hd(deflater, block, sizeof(block), NULL, 0);
	ck_assert_int_gt(n, 0);
	hpack_resize(&hpack, nghttp2_hd_deflate_get_max_dynamic_table_size(deflater));
	return (size_t)n;
}

TEST(anything)
{
	static char text[FIELDS][2][TEXT];
	struct field fields[FIELDS];
	nghttp2_hd_deflater *deflater;

	begin();
	ck_assert_int_eq(nghttp2_hd_deflate_new(&deflater, HPACK_TABLE), 0);
	for (unsigned i = 0; i < 3000; i++) {
		unsigned n = random_fields(fields, text);
		size_t at = draw(20) == 0 ? resize(deflater) : 0;
		uint8_t *to;

		/* Given up in the middle; nothing of it is sent but the change of the size. */
		if (draw(10) == 0 && n > 0)
			ck_assert_ptr_null(hpack_fields(&hpack, fields, n, block + at,
				block + at + draw((unsigned)fields[0].name.n + 16)));
		no_memory = draw(10) == 0;
		to = hpack_fields(&hpack, fields, n, block + at, block + sizeof(block));
		no_memory = false;
		ck_assert_ptr_nonnull(to);
		decodes(to, NULL, fields, n);
		ck_assert_uint_le(hpack.size, nghttp2_hd_inflate_get_dynamic_table_size(inflater));
	}
	nghttp2_hd_deflate_del(deflater);
	end();
}
